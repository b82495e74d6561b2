"""The actors of a run of depth-limited external sampling with nets: who they are and how they start."""

from pathlib import Path
from typing import Any

from actors.belief_sampling import BeliefSampler
from actors.data_parallel import start_learner
from actors.pool import WorkerPool
from actors.remote import Handle
from actors.sharding import start_buffer
from dancfr.games.registry import make_game
from dancfr.methods.crew import Crew, Place
from dancfr.methods.depth_limited.agent import BeliefNetEvaluationServer
from dancfr.methods.depth_limited.config import DepthLimitedConfig
from learners.buffers import CircularBuffer, RecordBuffer, ReservoirBuffer
from learners.dream.advantage import AdvantageLearner
from learners.dream.average_policy import AveragePolicyLearner
from learners.geister_beliefs.value import ValueLearner
from learners.geister_beliefs.view import BeliefGeister
from learners.samples import advantage_dtype, infostate_value_dtype, policy_dtype

DEADLINE_S = 600.0


class DepthLimitedCrew(Crew):
    """Workers that play and search, three buffers with a learner each, and the evaluation.

    Args:
        config: The run's configuration.
        place: Where they live.
        on_event: Told of every worker that died, was late or raised, and of what was done about it.
    """

    def __init__(self, config: DepthLimitedConfig, place: Place, on_event: Any) -> None:
        super().__init__(place)
        self.config = config
        self.game: Any = make_game(config.game, **config.game_options)
        self.pool = WorkerPool(
            self.runtime,
            BeliefSampler,
            (self.game, config.network, config.value_network, config.search),
            on_event=on_event,
            **{"deadline_s": DEADLINE_S, **place.worker_options},
        )
        self.learners = self._start_learners()  # before the buffers: where they are, the buffers shall be
        self.buffers = self._start_buffers()
        started = [*self.buffers.values(), *self.learners.values()]
        if config.evaluation.every:
            self.evaluation = self._start_evaluation()
            started.append(self.evaluation)
        self.runtime.get([handle.ready() for handle in started])

    def _start_buffers(self) -> dict[str, Handle]:
        config, spec = self.config, BeliefGeister.of(self.game).spec
        kinds: dict[str, tuple[type[RecordBuffer], int, Any]] = {
            "advantages": (ReservoirBuffer, config.reservoir, advantage_dtype(spec)),
            "policies": (ReservoirBuffer, config.policies, policy_dtype(spec)),
            "values": (CircularBuffer, config.circular, infostate_value_dtype(spec)),
        }
        return {
            part: start_buffer(self.runtime, kind, rows, dtype, part, name=part, **self.place.buffer_options)
            for part, (kind, rows, dtype) in kinds.items()
        }

    def _start_learners(self) -> dict[str, Handle]:
        """One net of each kind, which serves both players: they see the board alike."""
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
                {0: {"game": view, **arguments, "seed": 4 * config.seed + place}},
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
            BeliefNetEvaluationServer,
            self.game,
            make_game(config.game, **(config.game_options | longer)),
            config.network,
            config.search,
            config.average_threshold,
            config.evaluation.opponents,
            config.evaluation.last,
            cpus=0,
            home=True,
            name="evaluation",
        )

    def enter(self, game: Any) -> None:
        raise NotImplementedError("this method has no curriculum")

    def players(self) -> WorkerPool:
        return self.pool

    def learners_at_work(self) -> list[Handle]:
        return list(self.learners.values())

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        learners = [(handle, folder / f"learner-{part}.safetensors") for part, handle in self.learners.items()]
        return learners + [(handle, folder / f"buffer-{part}.safetensors") for part, handle in self.buffers.items()]
