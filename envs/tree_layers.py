"""The layers of a game tree while it is built: the states of one depth, and those that follow them.

Equal histories are told by numbers: a player's history after a choice is numbered by the history before it, the own
action, and what is seen of it, which takes the same memory at every depth.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER, ExtensiveGame
from envs.game import States


class TreeTooLarge(ValueError):
    """The tree has more nodes than allowed."""


class Layer:
    """The nodes of one depth, with their states.

    Args:
        game: Game of two players.
        states: State of each node.
        parent: Number in the tree of the node before it; -1 for the root.
        action: Action or outcome of chance that led to it.
        probability: Probability of that outcome; 1 after a player's action.
        public: Public state, numbered within the layer.
        history: Action-observation history of each player, `int64[n, 2]`, numbered within the layer.

    Raises:
        ValueError: the game is not zero-sum.
    """

    FIELDS = ("mover", "parent", "action", "probability", "utility")

    def __init__(
        self,
        game: ExtensiveGame,
        states: States,
        parent: NDArray[np.int64],
        action: NDArray[np.integer],
        probability: NDArray[np.float64],
        public: NDArray[np.int64],
        history: NDArray[np.int64],
    ) -> None:
        self.states, self.parent, self.action, self.probability = states, parent, action, probability
        self.public, self.history = public, history
        self.mover = game.mover(states)
        returns = game.utilities(states)
        excess = np.abs(returns.sum(axis=1))
        if not excess.max() <= 1e-9:  # or not a number
            found = returns[excess.argmax()].tolist()
            raise ValueError(f"trees need a zero-sum game; {game.spec.name} has returns {found}")
        self.utility = np.where(self.mover == OVER, returns[:, 0], 0.0)
        self.observed = np.zeros((len(states), game.spec.packed_size), np.uint8)
        if len(at := np.flatnonzero(self.mover >= 0)):
            self.observed[at] = game.observe(states[at], self.mover[at])

    @classmethod
    def root(cls, game: ExtensiveGame) -> "Layer":
        """Returns the layer of the start."""
        nothing = np.zeros(1, np.int64)
        return cls(game, game.initial(1), nothing - 1, nothing - 1, np.ones(1), nothing, np.zeros((1, 2), np.int64))

    @property
    def running(self) -> bool:
        """Whether a node has children."""
        return bool((self.mover != OVER).any())

    def expand(self, game: ExtensiveGame, limit: int, offset: int) -> "Layer":
        """Builds the next layer of at most `limit` nodes; `offset` is the number of this layer's first node.

        Raises:
            TreeTooLarge: the layer would have more nodes.
            ValueError: a state that has not ended has no choices.
        """
        rows, choices, probability = self._moves(game)
        if len(rows) > limit:
            raise TreeTooLarge(
                f"{game.spec.name} has more nodes than the {limit + offset + len(self.mover):,} allowed: "
                "choose smaller options of the game, or allow more"
            )
        states = self.states[rows]
        self.states = self.states[:0].copy()  # frees the memory of these states
        game.apply(states, choices)
        seen = game.public(states)
        history = np.empty((len(rows), 2), np.int64)
        for player in (0, 1):
            own = np.where(self.mover[rows] == player, choices + 1, 0)
            history[:, player] = _number(self.history[rows, player], own, seen, game.private(states, player))
        public = _number(self.public[rows], seen)
        return Layer(game, states, rows + offset, choices, probability, public, history)

    def _moves(self, game: ExtensiveGame) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Lists node, choice and probability of every child, ordered by node."""
        legal, by_chance = game.legal(self.states), np.flatnonzero(self.mover == CHANCE)
        weight = np.zeros((len(self.mover), legal.shape[1]))
        weight[legal & (self.mover >= 0)[:, None]] = 1.0
        if len(by_chance):
            chances = game.chance(self.states[by_chance])
            weight = np.pad(weight, ((0, 0), (0, max(0, chances.shape[1] - weight.shape[1]))))
            weight[by_chance, : chances.shape[1]] = chances
        if ((self.mover != OVER) & ~weight.any(axis=1)).any():
            raise ValueError(f"{game.spec.name}: a state that has not ended has no legal action")
        rows, choices = np.nonzero(weight)
        return rows, choices, weight[rows, choices]


def join(layers: Sequence[Layer], name: str) -> NDArray:
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
        for player in (0, 1):
            layer.history[:, player] += histories
            histories = int(layer.history[:, player].max()) + 1
        layer.public += publics
        publics = int(layer.public.max()) + 1


__all__ = ["Layer", "TreeTooLarge", "join", "number_histories"]
