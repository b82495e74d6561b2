"""Following games move by move: what both players believe after each, as the average policy of the mover says."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from envs.game import Packed, States
from learners.geister_beliefs.arrangements import Arrangements, Beliefs
from learners.geister_beliefs.policies import BeliefPolicies
from learners.geister_beliefs.view import BeliefGeister


class BeliefTracker:
    """Beliefs of games in lock step.

    Args:
        game: The rules.
        arrangements: Of its board.
        policies: The nets; the opponent is taken to play by the same ones (paper 002, IV-A).
        doubt: Share of its moves in which it is taken to play uniformly instead.
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
        """Packed infostates of players with beliefs, `uint8[B, 28]`; arguments as of `red_probabilities`."""
        red = self.arrangements.red_probabilities(states, players, beliefs, of)
        return self.game.observe_with(states, players, red)

    def likelihood(
        self, states: States, movers: NDArray[np.int8], beliefs: Beliefs, actions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """How probable a move is under each arrangement of the mover's ghosts, `float32[B, K]`,
        by the average policy and the share of uniform moves; 0 where the arrangement is not believed in."""
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
        """Plays a move in each of B running games, in place, and changes both players' beliefs by it.

        Of the mover's colours only those that are public need to be right in `states`, which is why an escape that
        another arrangement would force is not asked for.
        """
        movers = self.game.to_move(states)
        likelihood = self.likelihood(states, movers, beliefs, actions)
        self._free.step(states, actions)
        self.arrangements.believe(beliefs, (1 - movers).astype(np.int8), likelihood, states)
