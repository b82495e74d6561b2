"""The layers of a game tree while it is built: the states of one depth, and those that follow them.

Histories are compared by integer ids: a player's history after a choice is numbered by the history before it, their
action, and what is seen of it, which takes the same memory at every depth.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER, ExtensiveGame
from envs.faults import endless_fault
from envs.game import States, beyond_zero_sum
from envs.tree_answers import chances, codes, legal_actions, require_shape


class TreeTooLarge(ValueError):
    """The tree has more nodes than allowed."""


class NoConstantSum(ValueError):
    """A game is not one of two players whose returns have a constant sum."""

    @classmethod
    def of(cls, name: str, players: int) -> "NoConstantSum":
        """Returns the error for a game of which this is known before its tree is made."""
        return cls.because(name, beyond_zero_sum(players))

    @classmethod
    def because(cls, name: str, found: str) -> "NoConstantSum":
        """Returns the error for a game that has something else, such as ``3 players``."""
        return cls(f"solvers need two players and returns with a constant sum, and {name} has {found}: {CURE}")


CURE = "train it by policy gradients; dancfr evaluate --exploitability computes the exact NashConv of any agent"
"""Ends the errors of games for which there is no solver."""

SUM_ERROR = 1e-6
"""How much the sum of the returns may differ, as a share of the largest return: they may be float32."""


class Returns:
    """Reads the returns of a game, which have to sum to the same number at all ends unless it is read as a general one.

    Args:
        game: The game.
        general: Whether any returns will do.

    Attributes:
        total: That number; None before the first end, and for general games.
    """

    def __init__(self, game: ExtensiveGame, general: bool = False) -> None:
        self._game = game
        self.general = general
        self.total: float | None = None
        self._largest = 0.0

    def __call__(self, states: States, over: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Returns the return of each player, `float64[n, P]`; 0 where a game runs.

        Raises:
            NoConstantSum: the sum is another one.
            ValueError: a return is not finite, or not zero while the game runs, or there are not `P` for each game.
        """
        name, returns = self._game.spec.name, self._game.utilities(states)
        require_shape(self._game, "utilities", returns, (len(states), self._game.spec.num_players))
        if returns[~over].any():
            raise ValueError(f"{name}: utilities returned {returns[~over].max():g} while the game runs, expected zeros")
        ended = returns[over]
        if not (finite := np.isfinite(ended).all(axis=1)).all():
            raise ValueError(f"{name} has returns that are not finite: {ended[finite.argmin()].tolist()}")
        if len(ended) and not self.general:
            self._largest = max(self._largest, float(np.abs(ended).max()))
            sums, slack = ended.sum(axis=1), SUM_ERROR * self._largest
            if self.total is None:
                self.total = float(sums[0]) if abs(sums[0]) > slack else 0.0
            off = np.abs(sums - self.total)
            if off.max() > slack:
                found = ended[off.argmax()].tolist()
                raise NoConstantSum.because(name, f"returns {found}, and others that sum to {self.total:g}")
        return np.where(over[:, None], returns, 0.0)


class Layer:
    """The nodes of one depth, with their states.

    Args:
        game: The game.
        returns: Reads its returns.
        states: State of each node.
        parent: Number in the tree of the node before it; -1 for the root.
        action: Action or outcome of chance that led to it.
        probability: Probability of that outcome; 1 after a player's action.
        public: Public state, numbered within the layer.
        history: Action-observation history of each player, `int64[n, P]`, numbered within the layer.
        decisions: Decisions of players before each node, `int64[n]`.

    Raises:
        ValueError: see `Returns`; or a game runs on after `max_plies` decisions.
    """

    FIELDS = ("mover", "parent", "action", "probability", "utility")

    def __init__(
        self,
        game: ExtensiveGame,
        returns: Returns,
        states: States,
        parent: NDArray[np.int64],
        action: NDArray[np.integer],
        probability: NDArray[np.float64],
        public: NDArray[np.int64],
        history: NDArray[np.int64],
        decisions: NDArray[np.int64],
    ) -> None:
        self.states, self.parent, self.action, self.probability = states, parent, action, probability
        self.public, self.history = public, history
        self.mover = game.mover(states)
        if (decisions[self.mover >= 0] >= game.spec.max_plies).any():
            raise ValueError(f"{game.spec.name}: {endless_fault(game.spec.max_plies)}")
        self.decisions = decisions + (self.mover >= 0)
        payoffs = returns(states, self.mover == OVER)
        self.utility = payoffs[:, 0].copy()
        self.payoffs = payoffs if returns.general else payoffs[:0].copy()
        self.observed = np.zeros((len(states), game.spec.packed_size), np.uint8)
        if len(at := np.flatnonzero(self.mover >= 0)):
            self.observed[at] = game.observe(states[at], self.mover[at])

    @classmethod
    def root(cls, game: ExtensiveGame, returns: Returns) -> "Layer":
        """Returns the layer of the start."""
        nothing = np.zeros(1, np.int64)
        start = game.initial(1)
        history = np.zeros((1, game.spec.num_players), np.int64)
        return cls(game, returns, start, nothing - 1, nothing - 1, np.ones(1), nothing, history, nothing)

    @property
    def running(self) -> bool:
        """Whether a node has children."""
        return bool((self.mover != OVER).any())

    def expand(self, game: ExtensiveGame, returns: Returns, limit: int, offset: int) -> "Layer":
        """Builds the next layer of at most `limit` nodes; `offset` is the number of this layer's first node.

        Raises:
            TreeTooLarge: the layer would have more nodes.
            ValueError: a state that has not ended has no choices.
        """
        rows, choices, probability = self._moves(game)
        if len(rows) > limit:
            raise TreeTooLarge(
                f"{game.spec.name} has more nodes than the {limit + offset + len(self.mover):,} allowed: "
                "choose smaller options of the game"
            )
        states = self.states[rows]
        self.states = self.states[:0].copy()  # frees the memory of these states
        game.apply(states, choices)
        seen = codes(game, states)
        history = np.empty((len(rows), self.history.shape[1]), np.int64)
        for player in range(history.shape[1]):
            own = np.where(self.mover[rows] == player, choices + 1, 0)
            history[:, player] = _number(self.history[rows, player], own, seen, codes(game, states, player))
        public = _number(self.public[rows], seen)
        decisions, self.decisions = self.decisions[rows], self.decisions[:0].copy()
        return Layer(game, returns, states, rows + offset, choices, probability, public, history, decisions)

    def _moves(self, game: ExtensiveGame) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Lists node, choice and probability of every child, ordered by node."""
        rows, choices = np.nonzero(legal_actions(game, self.states) & (self.mover >= 0)[:, None])
        probability = np.ones(len(rows))
        if len(by_chance := np.flatnonzero(self.mover == CHANCE)):
            probabilities = chances(game, self.states[by_chance])
            at, outcomes = np.nonzero(probabilities)
            rows, choices = np.concatenate([rows, by_chance[at]]), np.concatenate([choices, outcomes])
            order = np.argsort(rows, kind="stable")
            rows, choices = rows[order], choices[order]
            probability = np.concatenate([probability, probabilities[at, outcomes]])[order]
        if (np.bincount(rows, minlength=len(self.mover)) == 0)[self.mover != OVER].any():
            raise ValueError(f"{game.spec.name}: a state that has not ended has no legal action")
        return rows, choices, probability


def join(layers: Sequence[Layer], name: str) -> NDArray[Any]:
    """Joins an array of all layers and deletes it from them: large trees would not fit in memory twice."""
    whole = np.concatenate([getattr(layer, name) for layer in layers])
    for layer in layers:
        delattr(layer, name)
    return whole


def _number(*columns: NDArray[np.integer]) -> NDArray[np.int64]:
    """Numbers the rows of `columns` from 0 so that equal rows have equal numbers."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if column.max(initial=0) > len(column):  # otherwise the product below might overflow
            column = np.unique(column, return_inverse=True)[1]
        _, number = np.unique(number * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    return number


def number_histories(layers: Sequence[Layer]) -> None:
    """Renumbers histories and public states in place, from numbers within a layer to numbers within the tree."""
    histories = publics = 0
    for layer in layers:
        for player in range(layer.history.shape[1]):
            layer.history[:, player] += histories
            histories = int(layer.history[:, player].max()) + 1
        layer.public += publics
        publics = int(layer.public.max()) + 1


__all__ = ["Layer", "NoConstantSum", "Returns", "TreeTooLarge", "join", "number_histories"]
