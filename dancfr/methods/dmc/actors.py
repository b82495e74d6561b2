"""The actors of a Deep Monte-Carlo run."""

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from actors.dmc import DmcPlayer
from actors.learning import Learner
from actors.listed_play import ListedPlayer
from actors.pool import WorkerPool
from dancfr.methods.dmc.config import DmcConfig
from dancfr.methods.listed_actors import SELF_PLAY_DEADLINE_S, ListedActors
from envs.game import ListedGame
from learners.dmc.learner import QLearner
from learners.samples import value_dtype


class DmcActors(ListedActors):
    """Actors of a run with listed actions, whose workers play epsilon-greedily or as a teacher does."""

    config: DmcConfig
    played_on: ClassVar[Literal["cpu", "learners"]] = "learners"  # its net judges hundreds of legal actions

    @property
    def learner_kind(self) -> Callable[..., Learner]:
        return QLearner

    def record(self, game: ListedGame, hidden: int) -> np.dtype:
        return value_dtype(game.spec, game.action_dtype, hidden)

    def start_workers(self, game: ListedGame) -> WorkerPool[ListedPlayer]:
        config = self.config
        return self.start_pool(
            SELF_PLAY_DEADLINE_S,
            DmcPlayer,
            game,
            config.network,
            epsilon=config.epsilon,
            trace=config.trace,
            teacher=None if config.teacher is None else self.placement.options.make_agent(config.teacher, game),
            **self.player_options(game),
        )
