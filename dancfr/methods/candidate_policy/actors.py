"""The actors of a run that trains a policy over candidates."""

from collections.abc import Callable

import numpy as np

from actors.candidate_policy import CandidatePolicyPlayer
from actors.learning import Learner
from actors.listed_play import ListedPlayer
from actors.pool import WorkerPool
from dancfr.methods.candidate_policy.config import CandidatePolicyConfig
from dancfr.methods.listed_actors import SELF_PLAY_DEADLINE_S, ListedActors
from envs.game import ListedGame
from learners.candidate_policy.learner import CandidatePolicyLearner
from learners.listed.decisions import DecisionEncoder
from learners.samples import choice_dtype


class CandidatePolicyActors(ListedActors):
    """Actors of a run with listed actions, whose workers draw from a policy."""

    config: CandidatePolicyConfig

    @property
    def learner_kind(self) -> Callable[..., Learner]:
        return CandidatePolicyLearner

    def record(self, game: ListedGame, hidden: int) -> np.dtype:
        notes = DecisionEncoder(game, self.config.network.encoding_of(game.spec)).notes
        return choice_dtype(game.spec, game.action_dtype, self.config.training.proposals, hidden, notes)

    def start_workers(self, game: ListedGame) -> WorkerPool[ListedPlayer]:
        config = self.config
        return self.start_pool(
            SELF_PLAY_DEADLINE_S,
            CandidatePolicyPlayer,
            game,
            config.network,
            proposals=config.training.proposals,
            trace=config.trace,
            **self.player_options(game),
        )
