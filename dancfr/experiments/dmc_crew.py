"""The actors of a Deep Monte-Carlo run: who they are and how they start."""

from pathlib import Path
from typing import Any

from actors.buffer import BufferServer
from actors.learning import LearnerServer
from actors.pool import WorkerPool
from actors.remote import Handle
from actors.self_play import SelfPlayer
from dancfr.evaluation.worker import QEvaluationServer
from dancfr.experiments.crew import Crew
from dancfr.experiments.dmc_config import DmcConfig
from dancfr.options import TrainOptions
from dancfr.registry import make_game
from learners.buffers import CircularBuffer
from learners.dmc.learner import QLearner
from learners.samples import value_dtype

SELF_PLAY_DEADLINE_S = 1800.0


class DmcCrew(Crew):
    """Self-play workers, the sample pool, the learner, and the evaluation.

    Args:
        config: The run's configuration.
        options: Where and with how many workers. Inline, `device` is also where self-play runs its net.
        on_event: Told of every worker that died and every chunk replayed.
    """

    def __init__(self, config: DmcConfig, options: TrainOptions, on_event: Any) -> None:
        super().__init__(options)
        try:
            self._start(config, options, on_event)
        except BaseException:
            self.runtime.shutdown()
            raise

    def _start(self, config: DmcConfig, options: TrainOptions, on_event: Any) -> None:
        game: Any = make_game(config.game, **config.game_options)
        learnt = config.tribute == "learnt"
        self._make_pool = lambda game: WorkerPool(
            self.runtime,
            SelfPlayer,
            (game, config.network, config.epsilon, learnt, options.device if options.inline else "cpu"),
            size=self.runtime.workers,
            deadline_s=SELF_PLAY_DEADLINE_S,
            on_event=on_event,
        )
        self.pool = self._make_pool(make_game(config.game, **config.options_at(1)))
        dtype = value_dtype(game.spec, game.action_dtype)
        self.buffer = self.runtime.start(
            BufferServer, CircularBuffer, config.pool, dtype, "values", cpus=0, name="pool"
        )
        self.learner = self.runtime.start(
            LearnerServer,
            QLearner,
            {0: {"game": game, "network": config.network, "training": config.training, "seed": config.seed}},
            options.device,
            cpus=0,
            gpus=1.0 if options.device == "cuda" and not options.inline else 0.0,
            name="learner",
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
                name="evaluation",
            )
            started.append(self.evaluation)
        self.runtime.get([handle.ready() for handle in started])

    def enter(self, game: Any) -> None:
        self.pool.stop()
        self.pool = self._make_pool(game)

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        return [(self.learner, folder / "learner.safetensors"), (self.buffer, folder / "pool.safetensors")]
