"""The actors of a run that trains a value function: who they are and how they start."""

from pathlib import Path
from typing import Any

from actors.data_parallel import start_learner
from actors.pool import WorkerPool
from actors.remote import Handle
from actors.sharding import start_buffer
from actors.value_solving import ValueSolver
from dancfr.games.registry import make_game
from dancfr.methods.crew import Crew, Place
from dancfr.methods.value_net.agent import ValueEvaluationServer
from dancfr.methods.value_net.config import ValueNetConfig
from learners.buffers import CircularBuffer
from learners.samples import range_value_dtype
from learners.value_function.learner import RangeValueLearner
from learners.value_function.parts import split_game

DEADLINE_S = 1800.0


class ValueNetCrew(Crew):
    """Workers that solve, a buffer, a learner, and the evaluation.

    Args:
        config: The run's configuration.
        place: Where they live.
        on_event: Told of every worker that died, was late or raised, and of what was done about it.
    """

    def __init__(self, config: ValueNetConfig, place: Place, on_event: Any) -> None:
        super().__init__(place)
        self.config = config
        self.game: Any = make_game(config.game, **config.game_options)
        self.width = split_game(self.game, config.cut).encoding.width
        self.pool = WorkerPool(
            self.runtime,
            ValueSolver,
            (self.game, config.cut, config.network, config.solving),
            on_event=on_event,
            **{"deadline_s": DEADLINE_S, **place.worker_options},
        )
        self.learner = start_learner(
            self.runtime,
            RangeValueLearner,
            {
                0: {
                    "game": self.game,
                    "limit": config.cut,
                    "network": config.network,
                    "training": config.training,
                    "loss": config.loss,
                    "seed": config.seed,
                }
            },
            place.options.device,
            name="values-learner",
            **place.learner_options(1),
        )
        self.buffer = start_buffer(
            self.runtime,
            CircularBuffer,
            config.capacity,
            range_value_dtype(self.width),
            None,
            name="values",
            **place.buffer_options,
        )
        started = [self.buffer, self.learner]
        if config.evaluation.every:
            self.evaluation = self.runtime.start(
                ValueEvaluationServer,
                self.game,
                config.cut,
                config.network,
                config.evaluation.iterations,
                cpus=0,
                home=True,
                name="evaluation",
            )
            started.append(self.evaluation)
        self.runtime.get([handle.ready() for handle in started])

    def enter(self, game: Any) -> None:
        raise NotImplementedError("this method has no curriculum")

    def players(self) -> WorkerPool:
        return self.pool

    def learners_at_work(self) -> list[Handle]:
        return [self.learner]

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        held = [(self.evaluation, folder / "held-out.safetensors")] if self.evaluation else []
        return [
            (self.learner, folder / "learner-values.safetensors"),
            (self.buffer, folder / "buffer-values.safetensors"),
            *held,
        ]
