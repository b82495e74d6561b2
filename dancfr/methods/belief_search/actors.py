"""The actors of a run of depth-limited external sampling with nets."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from actors.belief_search import BeliefSampler
from actors.buffer import BufferServer
from actors.data_parallel import start_learner
from actors.learning import LearnerServer
from actors.remote import Handle
from actors.runtime import Saved
from actors.sharding import start_buffer
from dancfr.games.registry import make_game, make_game_as
from dancfr.methods.belief_search.agent import BeliefSearchPolicies
from dancfr.methods.belief_search.config import BeliefSearchConfig
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.streams import net_seed
from envs.game import GameBase
from envs.geister import Geister
from learners.belief_search.value import ValueLearner
from learners.belief_search.view import BeliefGeister
from learners.buffers import CircularBuffer, RecordBuffer, ReservoirBuffer
from learners.deep_cfr.advantage import AdvantageLearner
from learners.deep_cfr.average_policy import AveragePolicyLearner
from learners.samples import advantage_dtype, infostate_value_dtype, policy_dtype

DEADLINE_S = 600.0


class BeliefSearchActors(RunActors):
    """Workers that play and search, three buffers with a learner each, and the evaluation actor.

    Args:
        config: Configuration of the run.
        placement: Where the actors run.
        say: Function that reports a worker that died, hung or raised.
    """

    def __init__(self, config: BeliefSearchConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.config = config
        self.game = make_game_as(Geister, config.game, **config.game_options)
        self.enter(make_game(config.game, **config.options_at(1)))
        self.learners = self._start_learners()  # before the buffers, which are placed beside them
        self.buffers = self._start_buffers()
        if config.evaluation.every:
            evaluated = make_game(config.game, **config.evaluation.options(config.game_options))
            self.start_evaluation(BeliefSearchPolicies(self.game, config), evaluated, config.evaluation.opponents)
        self.wait_until_ready([*self.buffers.values(), *self.learners.values()])

    def enter(self, game: GameBase) -> None:
        config = self.config
        assert isinstance(game, Geister)
        arguments = (game, config.network, config.value_network, config.search, self.placement.playing_device())
        self.workers = self.start_pool(DEADLINE_S, BeliefSampler, *arguments)

    def _start_buffers(self) -> dict[str, Handle[BufferServer]]:
        config, spec = self.config, BeliefGeister.of(self.game).spec
        kinds: dict[str, tuple[type[RecordBuffer], int, Any]] = {
            "advantages": (ReservoirBuffer, config.reservoir, advantage_dtype(spec)),
            "policies": (ReservoirBuffer, config.policies, policy_dtype(spec)),
            "values": (CircularBuffer, config.circular, infostate_value_dtype(spec)),
        }
        return {
            part: start_buffer(self.runtime, kind, rows, dtype, part, name=part, **self.placement.buffer_options)
            for part, (kind, rows, dtype) in kinds.items()
        }

    def _start_learners(self) -> dict[str, Handle[LearnerServer]]:
        """Starts a learner for each kind of net. Both players share the net, since observations are relative to the
        observer."""
        config = self.config
        kinds: dict[str, tuple[Any, dict[str, Any]]] = {
            "advantages": (
                AdvantageLearner,
                {
                    "network": config.network,
                    "training": config.advantage_training,
                    "iteration_power": config.iteration_power,
                },
            ),
            "policies": (
                AveragePolicyLearner,
                {
                    "network": config.network,
                    "training": config.policy_training,
                    "iteration_power": config.average_power,
                },
            ),
            "values": (ValueLearner, {"network": config.value_network, "training": config.value_training}),
        }
        view = BeliefGeister.of(self.game)
        return {
            part: start_learner(
                self.runtime,
                kind,
                {0: {"game": view, **arguments, "seed": net_seed(config.seed, 0, number)}},
                self.placement.device,
                name=f"{part}-learner",
                **self.placement.learner_options(len(kinds)),
            )
            for number, (part, (kind, arguments)) in enumerate(kinds.items())
        }

    def files(self, folder: Path) -> Sequence[tuple[Handle[Saved], Path]]:
        learners = [(handle, folder / f"learner-{part}.safetensors") for part, handle in self.learners.items()]
        return learners + [(handle, folder / f"buffer-{part}.safetensors") for part, handle in self.buffers.items()]
