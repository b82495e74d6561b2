"""Beliefs of full Geister: the probability of each arrangement of the opponent's colours (paper 002, IV-A).

There are only K = 70 arrangements (2 in Mini Geister), so a belief holds all of them: the `K` parameters of a
Dirichlet distribution, whose mean is the probability of each arrangement. The beliefs of both players follow from the
moves, which are public, and from the colours of captured ghosts.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States
from envs.geister.arrangements import contradicts
from envs.geister.rules import layouts
from learners.geister_beliefs.belief import UPDATES, Update

Beliefs = NDArray[np.float32]
"""`float32[B, 2, K]`: for each game and player, the belief about the other player's colours."""


class Arrangements:
    """All arrangements of colours on a board, and the beliefs about them.

    Args:
        size: Width of the board, 6 or 4.
        update: How a belief follows from a posterior, see `learners.geister_beliefs.belief`.

    Attributes:
        red: The red ghosts of each arrangement as bits, `uint8[K]`.
    """

    def __init__(self, size: int, update: Update = "exact") -> None:
        self.red = layouts(size)
        self.update = update

    def even(self, games: int) -> Beliefs:
        """Beliefs at the start of `games` games: equal parameters that add up to 1, `float32[games, 2, K]`."""
        return np.full((games, 2, len(self.red)), 1 / len(self.red), np.float32)

    def red_probabilities(
        self, states: States, players: NDArray[np.int8], beliefs: Beliefs, of: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Probability that each ghost of the other player is red, `float32[B, 8]`.

        Args:
            states: B states.
            players: The player whose belief counts in each state, `int8[B]`.
            beliefs: Beliefs of some games. Arrangements that contradict the captured ghosts of a state are ignored.
            of: Index of the game that each state belongs to, `int64[B]`; by default the states' own indices.
        """
        found = np.empty((len(states), 8), np.float32)
        _red_probabilities(states, players, beliefs, _indices(states, of), self.red, found)
        return found

    def believe(
        self, beliefs: Beliefs, observers: NDArray[np.int8], likelihood: NDArray[np.float32], states: States
    ) -> None:
        """Updates the beliefs of B games by a move in each, in place.

        Args:
            beliefs: `float32[B, 2, K]`.
            observers: The player who has observed the other player's move, `int8[B]`.
            likelihood: Probability of the move under each arrangement of the mover, `float32[B, K]`. If it is 0 under
                all arrangements with positive belief, the move does not change the mean.
            states: States after the move. Arrangements that contradict captured ghosts get belief 0.
        """
        _believe(beliefs, observers, likelihood, states, self.red, UPDATES[self.update])

    def regenerate(
        self, states: States, beliefs: Beliefs, which: NDArray[np.int64], spread: float, rng: np.random.Generator
    ) -> None:
        """Draws new beliefs in some games, and colours from them, in place (paper 002, V-A).

        The paper draws the mean of a belief about two arrangements uniformly. Here the odds of each ghost being red are
        multiplied by an independent log-normal factor.

        Args:
            states: B states.
            beliefs: Their beliefs, `float32[B, 2, K]`.
            which: Indices of the states to change, `int64[n]`.
            spread: Standard deviation of the logarithm of the factors.
            rng: Generator.
        """
        for player in (0, 1):
            before = beliefs[which, player]
            factor = rng.normal(0.0, spread, (len(which), 8)).astype(np.float32)
            bits = (self.red[:, None] >> np.arange(8, dtype=np.uint8)) & 1
            shift = factor @ bits.T.astype(np.float32)
            shift -= np.where(before > 0, shift, -np.inf).max(axis=1, keepdims=True)  # the largest factor is then 1
            new = before * np.exp(np.minimum(shift, 0))
            new = np.asarray(new * before.sum(1, keepdims=True) / new.sum(1, keepdims=True), np.float32)
            beliefs[which, player] = new
            limits = np.cumsum(new, axis=1, dtype=np.float64)
            drawn = (limits < rng.random((len(which), 1)) * limits[:, -1:]).sum(axis=1)
            states["red"][which, 1 - player] = self.red[np.minimum(drawn, len(self.red) - 1)]


def _indices(states: States, of: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return np.arange(len(states)) if of is None else of


@kernel
def _red_probabilities(states, players, beliefs, of, red, found):
    for b in range(states.shape[0]):
        state = states[b]
        other = 1 - players[b]
        belief = beliefs[of[b], players[b]]
        total = np.float32(0)
        found[b] = 0
        for attempt in range(2):  # if every believed arrangement is contradicted, the others count equally
            for k in range(len(red)):
                weight = belief[k] if attempt == 0 else np.float32(1)
                if weight > 0 and not contradicts(red[k], state, other):
                    total += weight
                    for ghost in range(8):
                        found[b, ghost] += weight * ((red[k] >> ghost) & 1)
            if total > 0:
                break
        for ghost in range(8):
            found[b, ghost] /= total


@kernel
def _believe(beliefs, observers, likelihood, states, red, update):
    for b in range(beliefs.shape[0]):
        belief = beliefs[b, observers[b]]
        total, joint = 0.0, 0.0
        for k in range(len(red)):
            total += belief[k]
            joint += belief[k] * likelihood[b, k]
        if update != 0:
            for k in range(len(red)):
                posterior = belief[k] * likelihood[b, k] / joint if joint > 0 else belief[k] / total
                belief[k] = belief[k] + posterior if update == 1 else (total + 1) * posterior
            total += 1
        for player in range(2):  # the mover may have captured a ghost
            own = beliefs[b, player]
            before = 0.0
            left = 0.0
            count = 0
            for k in range(len(red)):
                before += own[k]
                if contradicts(red[k], states[b], 1 - player):
                    own[k] = 0
                else:
                    left += own[k]
                    count += 1
            for k in range(len(red)):
                if left > 0:
                    own[k] *= before / left
                elif not contradicts(red[k], states[b], 1 - player):
                    own[k] = before / count
