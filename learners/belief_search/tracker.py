"""The belief tracker: updates both players' beliefs after each move, by the average policy of the mover."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from envs.game import Packed, States
from learners.belief_search.policies import BeliefPolicies
from learners.belief_search.view import BeliefGeister
from learners.geister_beliefs.arrangements import Arrangements, Beliefs


class BeliefTracker:
    """Tracks the beliefs of a batch of games that are played in lock step.

    Args:
        game: The rules.
        arrangements: Arrangements of the game's board.
        policies: The nets. The opponent is assumed to play by the same nets (paper 002, IV-A).
        doubt: Share of moves in which the opponent is assumed to play uniformly instead.
    """

    def __init__(
        self, game: BeliefGeister, arrangements: Arrangements, policies: BeliefPolicies, doubt: float = 0.0
    ) -> None:
        self.doubt = np.float32(doubt)
        self.game, self.arrangements, self.policies = game, arrangements, policies
        self._free = replace(game, forced_escape=False)

    def observe(
        self, states: States, players: NDArray[np.int8], beliefs: Beliefs, of: NDArray[np.int64] | None = None
    ) -> Packed:
        """Packed infostates of players with beliefs, `uint8[B, 28]`; for the arguments see `red_probabilities`."""
        red = self.arrangements.red_probabilities(states, players, beliefs, of)
        return self.game.observe_with(states, players, red)

    def likelihood(
        self, states: States, movers: NDArray[np.int8], beliefs: Beliefs, actions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Probability of each mover's action under each arrangement of its ghosts, `float32[B, K]`.

        It follows from the average policy and the share of uniform moves; it is 0 for arrangements whose belief is 0.
        """
        found = np.zeros((len(states), len(self.arrangements.red)), np.float32)
        if self.arrangements.update == "none":
            return found
        game, arrangement = np.nonzero(beliefs[np.arange(len(states)), 1 - movers] > 0)
        supposed = states[game]
        supposed["red"][np.arange(len(game)), movers[game]] = self.arrangements.red[arrangement]
        legal = self.game.legal(supposed)
        red = self.arrangements.red_probabilities(states, movers, beliefs)
        packed = self.game.observe_with(supposed, movers[game], red[game])
        policy = self.policies.average(packed, legal)
        at = np.arange(len(game)), actions[game]
        found[game, arrangement] = (1 - self.doubt) * policy[at] + self.doubt * legal[at] / legal.sum(axis=1)
        return found

    def play(self, states: States, beliefs: Beliefs, actions: NDArray[np.int64]) -> None:
        """Plays a move in each of B running games and updates both players' beliefs, in place.

        Only the public colours of the mover's ghosts need to be right in `states`. Forced escapes are therefore not
        checked, since they depend on the hidden colours.
        """
        movers = self.game.to_move(states)
        likelihood = self.likelihood(states, movers, beliefs, actions)
        self._free.step(states, actions)
        self.arrangements.believe(beliefs, (1 - movers).astype(np.int8), likelihood, states)
