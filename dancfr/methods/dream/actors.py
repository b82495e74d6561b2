"""The actors of a DREAM run: who they are and how they start."""

from pathlib import Path
from typing import Any

import psutil

from actors.data_parallel import start_learner
from actors.external_sampling import ExternalTraverser
from actors.pool import WorkerPool
from actors.remote import Handle
from actors.sharding import start_buffer
from actors.traversal import DreamTraverser
from dancfr.errors import UsageError
from dancfr.evaluation.server import EvaluationServer
from dancfr.games.registry import make_game
from dancfr.methods.crew import Crew, Place
from dancfr.methods.dream.config import DreamConfig
from envs.game import Game
from learners.buffers import CircularBuffer, RecordBuffer, ReservoirBuffer
from learners.dream.advantage import AdvantageLearner
from learners.dream.average_policy import AveragePolicyLearner
from learners.dream.baseline import BaselineLearner
from learners.samples import advantage_dtype, policy_dtype, transition_dtype

TRAVERSAL_DEADLINE_S = 600.0


class DreamCrew(Crew):
    """Traversal workers, two buffers a player, the advantage and the baseline learners, and the evaluation.

    Args:
        config: The run's configuration.
        place: Where they live.
        on_event: Told of every worker that died, was late or raised, and of what was done about it.
    """

    def __init__(self, config: DreamConfig, place: Place, on_event: Any) -> None:
        self.config = config
        self.game: Game = make_game(config.game, **config.game_options)
        if place.options.address is None:
            _check_memory(config, self.game)
        config.network.check(self.game.spec)
        config.baseline_network.check(self.game.spec)
        super().__init__(place)
        self._start(on_event)

    def _start(self, on_event: Any) -> None:
        config = self.config
        baseline_network = config.baseline_network if config.baseline else None
        external = config.sampling.method == "external"
        outcome = (config.network, baseline_network, config.sampling, config.chunk)
        self._make_pool = lambda game: WorkerPool(
            self.runtime,
            ExternalTraverser if external else DreamTraverser,
            (game, config.network) if external else (game, *outcome),
            on_event=on_event,
            **{"deadline_s": TRAVERSAL_DEADLINE_S, **self.place.worker_options},
        )
        self.pool = self._make_pool(make_game(config.game, **config.options_at(1)))
        self.learners = self._start_learners()  # before the buffers: where they are, the buffers shall be
        self.buffers = self._start_buffers()
        if config.evaluation.every:
            self.evaluation = self._start_evaluation()
        started = [*self.buffers.values(), *self.learners.values()]
        started += [self.evaluation] if self.evaluation else []
        self.runtime.get([handle.ready() for handle in started])

    def _start_buffers(self) -> dict[tuple[str, int], Handle]:
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
                self.runtime, kind, capacity, dtype, part, name=f"{part}-{player}", **self.place.buffer_options
            )
            for part, (kind, capacity, dtype) in kinds.items()
            for player in range(spec.num_players)
        }

    def _start_learners(self) -> dict[str, Handle]:
        config = self.config
        kinds: dict[str, tuple[Any, dict[str, Any]]] = {
            "advantages": (
                AdvantageLearner,
                {
                    "game": self.game,
                    "network": config.network,
                    "training": config.advantage_training,
                    "importance": config.importance,
                    "importance_clip": config.importance_clip,
                    "iteration_power": config.iteration_power,
                    "merge": config.merge,
                },
            )
        }
        if config.baseline:
            kinds["transitions"] = (
                BaselineLearner,
                {
                    "game": self.game,
                    "network": config.baseline_network,
                    "training": config.baseline_training,
                },
            )
        if config.policy_net:
            kinds["policies"] = (
                AveragePolicyLearner,
                {
                    "game": self.game,
                    "network": config.network,
                    "training": config.policy_training,
                    "iteration_power": config.average_power,
                },
            )
        return {
            part: start_learner(
                self.runtime,
                kind,
                {
                    player: arguments | {"seed": _net_seed(config.seed, player, place)}
                    for player in range(self.game.spec.num_players)
                },
                self.place.options.device,
                name=f"{part}-learner",
                **self.place.learner_options(len(kinds)),
            )
            for place, (part, (kind, arguments)) in enumerate(kinds.items())
        }

    def _start_evaluation(self) -> Handle:
        config = self.config
        limit = config.evaluation.ply_limit
        longer = {} if limit is None else {"ply_limit": limit}
        return self.runtime.start(
            EvaluationServer,
            self.game,
            make_game(config.game, **(config.game_options | longer)),
            config.network,
            config.evaluation.opponents,
            config.evaluation.average,
            config.average_power,
            config.average_threshold,
            config.evaluation.last,
            config.evaluation.exploitability,
            cpus=0,
            home=True,
            name="evaluation",
        )

    def enter(self, game: Any) -> None:
        self.pool.stop()
        self.pool = self._make_pool(game)

    def players(self) -> WorkerPool:
        return self.pool

    def learners_at_work(self) -> list[Handle]:
        """Not those of the average: their fits belong to evaluations, and end."""
        return [handle for part, handle in self.learners.items() if part != "policies"]

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        learners = [(handle, folder / f"learner-{field}.safetensors") for field, handle in self.learners.items()]
        buffers = [
            (handle, folder / f"buffer-{field}-{player}.safetensors")
            for (field, player), handle in self.buffers.items()
        ]
        return learners + buffers


def _check_memory(config: DreamConfig, game: Game) -> None:
    """Raises UsageError if the buffers cannot become full on this machine."""
    rows = config.reservoir * advantage_dtype(game.spec).itemsize
    rows += config.circular * transition_dtype(game.spec).itemsize * config.baseline
    rows += config.policies * policy_dtype(game.spec).itemsize * config.policy_net
    needed, there = game.spec.num_players * rows, psutil.virtual_memory().total
    if needed > there:
        raise UsageError(
            f"the buffers would take {needed / 2**30:,.1f} GiB when full, this machine has {there / 2**30:,.1f} GiB: "
            "lower reservoir or circular, or join a cluster with --address"
        )


def _net_seed(seed: int, player: int, kind: int) -> int:
    return 4 * seed + 2 * player + kind
