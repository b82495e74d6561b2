"""Beliefs of full Geister: how probable each arrangement of the opponent's colours is (paper 002, IV-A).

There are `K` arrangements, 70 of them (2 in Mini Geister), so that all are kept: a belief is a vector of `K` parameters
of a Dirichlet distribution, whose mean is the probability of each. Both players' beliefs follow from the moves, which
are public, and from the colours of the ghosts that were taken.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States
from envs.geister.rules import layouts
from learners.geister_beliefs.belief import UPDATES, Update

Beliefs = NDArray[np.float32]
"""`float32[B, 2, K]`: of each game, what each player believes of the other's colours."""


class Arrangements:
    """The arrangements of a board.

    Args:
        size: Width of the board, 6 or 4.
        update: How a posterior becomes a belief again, see `learners.geister_beliefs.belief`.

    Attributes:
        red: Red ghosts of each arrangement as bits, `uint8[K]`.
    """

    def __init__(self, size: int, update: Update = "exact") -> None:
        self.red = layouts(size)
        self.update = update

    def even(self, games: int) -> Beliefs:
        """Beliefs at the start of so many games: all arrangements alike, parameters adding up to 1."""
        return np.full((games, 2, len(self.red)), 1 / len(self.red), np.float32)

    def red_probabilities(
        self, states: States, players: NDArray[np.int8], beliefs: Beliefs, of: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """How probable it is for each ghost of the other player to be red, `float32[B, 8]`.

        Args:
            states: B of them.
            players: Who believes, in each.
            beliefs: Of some games; what contradicts the colours of ghosts taken in a state counts for nothing there.
            of: Which of those games each state belongs to; None: the one with the same index.
        """
        found = np.empty((len(states), 8), np.float32)
        _red_probabilities(states, players, beliefs, _indices(states, of), self.red, found)
        return found

    def believe(
        self, beliefs: Beliefs, observers: NDArray[np.int8], likelihood: NDArray[np.float32], states: States
    ) -> None:
        """Changes the beliefs of B games, in place, by a move.

        Args:
            beliefs: `float32[B, 2, K]`.
            observers: Who has seen the move of the other.
            likelihood: Of that move under each arrangement of the mover, `float32[B, K]`. Where it is 0 under all that
                are believed in, the move says nothing.
            states: After the move. What contradicts the colours of ghosts taken there is not believed any more.
        """
        _believe(beliefs, observers, likelihood, states, self.red, UPDATES[self.update])

    def regenerate(
        self, states: States, beliefs: Beliefs, which: NDArray[np.int64], spread: float, rng: np.random.Generator
    ) -> None:
        """Other beliefs in some games, and colours drawn from them, in place (paper 002, V-A).

        The paper draws the mean of a belief of two arrangements uniformly. Here the odds of each ghost to be red are
        multiplied by a log-normal factor of its own.

        Args:
            spread: Standard deviation of the logarithm of that factor.
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
def contradicts(arrangement, state, player):
    """Whether a ghost of the player that was taken had another colour."""
    for ghost in range(8):
        if state.square[player, ghost] == -1 and ((arrangement ^ state.red[player]) >> ghost) & 1:
            return True
    return False


@kernel
def _red_probabilities(states, players, beliefs, of, red, found):
    for b in range(states.shape[0]):
        state = states[b]
        other = 1 - players[b]
        belief = beliefs[of[b], players[b]]
        total = np.float32(0)
        found[b] = 0
        for attempt in range(2):  # where all that is believed in is contradicted, all that is not counts alike
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
        for player in range(2):  # the mover may have taken a ghost
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
