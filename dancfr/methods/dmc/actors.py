"""The actors of a Deep Monte-Carlo run: who they are and how they start."""

from pathlib import Path
from typing import Any

from actors.data_parallel import start_learner
from actors.pool import WorkerPool
from actors.remote import Handle
from actors.self_play import SelfPlayer
from actors.sharding import start_buffer
from dancfr.evaluation.server import QEvaluationServer
from dancfr.games.registry import make_game
from dancfr.methods.crew import Crew, Place
from dancfr.methods.dmc.config import DmcConfig
from learners.buffers import CircularBuffer
from learners.dmc.learner import QLearner
from learners.samples import value_dtype

SELF_PLAY_DEADLINE_S = 1800.0


class DmcCrew(Crew):
    """Self-play workers, the sample pool, the learner, and the evaluation.

    Args:
        config: The run's configuration.
        place: Where they live. Inline, the device of the learner is also where self-play runs its net.
        on_event: Told of every worker that died, was late or raised, and of what was done about it.
    """

    def __init__(self, config: DmcConfig, place: Place, on_event: Any) -> None:
        super().__init__(place)
        self._start(config, on_event)

    def _start(self, config: DmcConfig, on_event: Any) -> None:
        options = self.place.options
        game: Any = make_game(config.game, **config.game_options)
        learnt = config.tribute == "learnt"
        self._make_pool = lambda game: WorkerPool(
            self.runtime,
            SelfPlayer,
            (game, config.network, config.epsilon, learnt, options.device if options.inline else "cpu"),
            on_event=on_event,
            **{"deadline_s": SELF_PLAY_DEADLINE_S, **self.place.worker_options},
        )
        self.pool = self._make_pool(make_game(config.game, **config.options_at(1)))
        self.learner = start_learner(
            self.runtime,
            QLearner,
            {0: {"game": game, "network": config.network, "training": config.training, "seed": config.seed}},
            options.device,
            name="learner",
            **self.place.learner_options(1),
        )
        dtype = value_dtype(game.spec, game.action_dtype)
        self.buffer = start_buffer(
            self.runtime, CircularBuffer, config.pool, dtype, "values", name="pool", **self.place.buffer_options
        )
        started = [self.buffer, self.learner]
        if config.evaluation.every:
            self.evaluation = self.runtime.start(
                QEvaluationServer,
                game,
                config.network,
                config.evaluation.opponents,
                learnt,
                cpus=0,
                home=True,
                name="evaluation",
            )
            started.append(self.evaluation)
        self.runtime.get([handle.ready() for handle in started])

    def enter(self, game: Any) -> None:
        self.pool.stop()
        self.pool = self._make_pool(game)

    def players(self) -> WorkerPool:
        return self.pool

    def learners_at_work(self) -> list[Handle]:
        return [self.learner]

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        return [(self.learner, folder / "learner.safetensors"), (self.buffer, folder / "pool.safetensors")]
