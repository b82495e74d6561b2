"""Players by a table of probabilities: what tabular solvers find, as an agent."""

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, Packed, States
from envs.tree import Tree


class UnknownInfostate(LookupError):
    """A table was asked for an infostate that it does not have."""


class TabularAgent:
    """Plays a policy given by infostate. Satisfies `envs.agent.Agent`.

    Args:
        observed: Packed infostates, all different, `uint8[I, P]`.
        table: Probability of each action, `float64[I, A]`.
        name: For messages.

    Raises:
        ValueError: an infostate comes twice, or the shapes do not fit.
    """

    def __init__(self, observed: Packed, table: NDArray[np.float64], name: str = "tabular") -> None:
        if observed.ndim != 2 or table.ndim != 2 or len(observed) != len(table):
            raise ValueError(f"{name}: {list(observed.shape)} infostates do not fit a table of {list(table.shape)}")
        keys = _keys(observed)
        order = np.argsort(keys, kind="stable")
        self.name = name
        self._keys = keys[order]
        self._bounds = np.cumsum(table[order], axis=1)
        self._table = table[order]
        if len(keys) > 1 and (self._keys[1:] == self._keys[:-1]).any():
            raise ValueError(f"{name}: an infostate is listed twice, so that its policy is not clear")

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        mover = self._game.to_move(states)
        rows = self.find(self._game.observe(states, mover))
        bounds = self._bounds[rows]
        draws = rng.random(len(states)) * bounds[:, -1]
        return (bounds <= draws[:, None]).sum(axis=1)

    def find(self, observed: Packed) -> NDArray[np.int64]:
        """Rows of infostates, `uint8[B, P]`, in the sorted table.

        Raises:
            UnknownInfostate: one of them is not in it.
        """
        keys = _keys(observed)
        rows = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        unknown = np.flatnonzero(self._keys[rows] != keys)
        if len(unknown):
            raise UnknownInfostate(f"{self.name} has no policy for infostate {observed[unknown[0]].tobytes().hex()}")
        return rows

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The policy on a tree, `float64[S]`.

        Raises:
            UnknownInfostate: the tree has an infostate that the table does not have.
        """
        return tree.to_slots(self._table[self.find(tree.observed)])


def _keys(observed: Packed) -> NDArray[np.bytes_]:
    """Each row as one sortable value: a text of bytes, ended by one that is not 0, since NumPy drops zeros there."""
    rows = np.ones((observed.shape[0], observed.shape[1] + 1), np.uint8)
    rows[:, :-1] = observed
    return rows.view(f"S{rows.shape[1]}").ravel()


__all__ = ["TabularAgent", "UnknownInfostate"]
