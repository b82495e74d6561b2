"""The actors of a DREAM run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from actors.buffer import BufferServer
from actors.data_parallel import start_learner
from actors.dream.external_sampling import ExternalTraverser
from actors.dream.traversal import DreamTraverser, Traverser
from actors.learning import LearnerServer
from actors.pool import WorkerPool
from actors.remote import Handle
from actors.runtime import Saved
from actors.sharding import start_buffer
from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from dancfr.methods.dream.agent import DreamPolicies
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.options import joins_cluster
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.streams import net_seed
from envs.game import Game, GameBase, numbered
from learners.buffers import CircularBuffer, RecordBuffer, ReservoirBuffer
from learners.deep_cfr.advantage import AdvantageLearner
from learners.deep_cfr.average_policy import AveragePolicyLearner
from learners.deep_cfr.bootstrapped import BootstrappedAdvantageLearner
from learners.dream.baseline import BaselineLearner
from learners.networks.settings import Weights
from learners.samples import advantage_dtype, policy_dtype, transition_dtype

TRAVERSAL_DEADLINE_S = 600.0


class DreamActors(RunActors):
    """Traversal workers, buffers of each player, learners of each kind of net, and the evaluation actor.

    Args:
        config: Configuration of the run.
        placement: Where the actors run.
        say: Function that reports a worker that died, hung or raised.

    Attributes:
        buffers: Buffers by part (``advantages``, ``transitions``, ``policies``) and player.
        learners: Learners by part.
    """

    def __init__(self, config: DreamConfig, placement: Placement, say: Callable[[object], None]) -> None:
        self.config = config
        self.game = numbered(make_game(config.game, **config.game_options))
        if not joins_cluster(placement.options):
            _check_memory(config, self.game)
        config.network.check(self.game.spec)
        config.baseline_network.check(self.game.spec)
        super().__init__(placement, say)
        self.enter(make_game(config.game, **config.options_at(1)))
        self.learners = self._start_learners()  # before the buffers, which are placed beside them
        self.buffers = self._start_buffers()
        if config.evaluation.every:
            self._start_evaluation()
        self.wait_until_ready([*self.buffers.values(), *self.learners.values()])

    def enter(self, game: GameBase) -> None:
        rules, config, device = numbered(game), self.config, self.placement.playing_device()
        self.workers: WorkerPool[Traverser]
        baseline = config.baseline_network if config.baseline else None
        if config.sampling.method == "external":
            self.workers = self.start_pool(TRAVERSAL_DEADLINE_S, ExternalTraverser, rules, config.network, device)
        else:
            arguments = (rules, config.network, baseline, config.sampling, config.chunk, device, config.policy_net)
            self.workers = self.start_pool(TRAVERSAL_DEADLINE_S, DreamTraverser, *arguments)

    def _start_buffers(self) -> dict[tuple[str, int], Handle[BufferServer]]:
        config, spec = self.config, self.game.spec
        kinds: dict[str, tuple[type[RecordBuffer], int, Any]] = {
            "advantages": (ReservoirBuffer, config.reservoir, advantage_dtype(spec))
        }
        if config.baseline:
            kinds["transitions"] = (CircularBuffer, config.circular, transition_dtype(spec))
        if config.policy_net:
            kinds["policies"] = (ReservoirBuffer, config.policies, policy_dtype(spec))
        return {
            (part, player): start_buffer(
                self.runtime, kind, capacity, dtype, part, name=f"{part}-{player}", **self.placement.buffer_options
            )
            for part, (kind, capacity, dtype) in kinds.items()
            for player in range(spec.num_players)
        }

    def _start_learners(self) -> dict[str, Handle[LearnerServer]]:
        config = self.config
        kinds: dict[str, tuple[Any, dict[str, Any]]] = {"advantages": self._advantage_learner()}
        if config.baseline:
            kinds["transitions"] = (
                BaselineLearner,
                {
                    "network": config.baseline_network,
                    "training": config.baseline_training,
                    "clip": config.sampling.clip_baseline,
                },
            )
        if config.policy_net:
            kinds["policies"] = (
                AveragePolicyLearner,
                {
                    "network": config.network,
                    "training": config.policy_training,
                    "iteration_power": config.average_power,
                },
            )
        players = range(self.game.spec.num_players)
        return {
            part: start_learner(
                self.runtime,
                kind,
                {p: {"game": self.game, **arguments, "seed": net_seed(config.seed, p, number)} for p in players},
                self.placement.device,
                name=f"{part}-learner",
                apart=part == "transitions",  # a player's fit runs until its next traversal, beside that of the others
                **self.placement.learner_options(len(kinds)),
            )
            for number, (part, (kind, arguments)) in enumerate(kinds.items())
        }

    def _advantage_learner(self) -> tuple[Any, dict[str, Any]]:
        """Returns class and arguments of the learners of the advantage nets."""
        config = self.config
        arguments = {
            "network": config.network,
            "training": config.advantage_training,
            "importance": config.importance,
            "importance_clip": config.importance_clip,
            "huber_delta": config.huber_delta,
            "merge": config.merge,
        }
        if config.bootstrap == "none":
            return AdvantageLearner, arguments | {"iteration_power": config.iteration_power}
        more = {"predictive": config.bootstrap == "pdcfr+", "discount_power": config.discount_power}
        return BootstrappedAdvantageLearner, arguments | more

    def _start_evaluation(self) -> None:
        config = self.config
        self.start_evaluation(
            DreamPolicies(self.game, config),
            make_game(config.game, **config.evaluation.options(config.game_options)),
            config.evaluation.opponents,
            config.evaluation.exploitability,
            self.game,
            config.evaluation.readable,
        )

    def learner_weights(self, part: str) -> list[Weights]:
        """Returns the current weights of a learner's nets, by player."""
        learner = self.learners[part]
        nets: list[Weights] = self.runtime.get(
            [learner.call(LearnerServer.weights, p) for p in range(self.game.spec.num_players)]
        )
        return nets

    def files(self, folder: Path) -> Sequence[tuple[Handle[Saved], Path]]:
        learners = [(handle, folder / f"learner-{part}.safetensors") for part, handle in self.learners.items()]
        buffers = [
            (handle, folder / f"buffer-{part}-{player}.safetensors") for (part, player), handle in self.buffers.items()
        ]
        return learners + buffers


def _check_memory(config: DreamConfig, game: Game) -> None:
    """Raises UsageError if the full buffers would not fit into this machine's memory."""
    rows = config.reservoir * advantage_dtype(game.spec).itemsize
    rows += config.circular * transition_dtype(game.spec).itemsize * config.baseline
    rows += config.policies * policy_dtype(game.spec).itemsize * config.policy_net
    needed, there = game.spec.num_players * rows, psutil.virtual_memory().total
    if needed > there:
        sizes = ", ".join(["reservoir", *["circular"] * config.baseline, *["policies"] * config.policy_net])
        raise UsageError(
            f"the buffers would take {needed / 2**30:,.1f} GiB when full, this machine has {there / 2**30:,.1f} GiB: "
            f"lower {sizes}, or join a cluster with --address"
        )
