"""Agents that play a table of probabilities, such as the strategy of a tabular solver."""

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named
from envs.game import Game, Identified, Packed, States
from envs.tree import Tree


class UnknownInfostate(LookupError):
    """The table of an agent has no row for an infostate."""


class TabularAgent(Named):
    """Plays a policy given by infostate. Satisfies `envs.agent.Agent`.

    Args:
        observed: Packed infostates, all different, `uint8[I, P]`.
        table: Probability of each action, `float64[I, A]`.
        name: Name of the agent in error messages.
        identified: Whether `observed` has digests of infostates instead, see `envs.game.Identified`.

    Raises:
        ValueError: an infostate is listed twice, or the shapes do not fit.
    """

    def __init__(
        self, observed: Packed, table: NDArray[np.float64], name: str = "tabular", *, identified: bool = False
    ) -> None:
        if observed.ndim != 2 or table.ndim != 2 or len(observed) != len(table):
            raise ValueError(f"{name}: infostates {list(observed.shape)} do not fit a table {list(table.shape)}")
        keys = _keys(observed)
        order = np.argsort(keys, kind="stable")
        self.name, self.identified = name, identified
        self._keys = keys[order]
        self._bounds = np.cumsum(table[order], axis=1)
        self._table = table[order]
        if len(keys) > 1 and (self._keys[1:] == self._keys[:-1]).any():
            raise ValueError(f"{name}: an infostate is listed twice")

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        mover = self._game.to_move(states)
        rows = self._find(states, mover)
        bounds = self._bounds[rows]
        draws = rng.random(len(states)) * bounds[:, -1]
        return np.asarray((bounds <= draws[:, None]).sum(axis=1))

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `envs.agent.StatesPolicy`.

        Raises:
            UnknownInfostate: the table has no row for one of the infostates.
        """
        policy = self._table[self._find(states, self._game.to_move(states))]
        return np.asarray(policy / policy.sum(axis=1, keepdims=True))

    def _find(self, states: States, movers: NDArray[np.int8]) -> NDArray[np.int64]:
        game = self._game
        if not self.identified:
            return self.find(game.observe(states, movers))
        assert isinstance(game, Identified)
        return self.find(game.identify(states, movers))

    def find(self, observed: Packed) -> NDArray[np.int64]:
        """Rows of infostates, `uint8[B, P]`, in the sorted table: `int64[B]`.

        Raises:
            UnknownInfostate: the table has no row for one of them.
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
            UnknownInfostate: the table has no row for an infostate of the tree.
        """
        keys = tree.identity if self.identified else tree.observed
        if keys is None:
            raise UnknownInfostate(f"{self.name} is a strategy by digests of infostates, which {tree.name} lacks")
        return tree.to_slots(self._table[self.find(keys)])


def _keys(observed: Packed) -> NDArray[np.bytes_]:
    """Each row as one sortable byte string, with a 1 appended because NumPy drops zeros at the end."""
    rows = np.ones((observed.shape[0], observed.shape[1] + 1), np.uint8)
    rows[:, :-1] = observed
    return rows.view(f"S{rows.shape[1]}").ravel()


__all__ = ["TabularAgent", "UnknownInfostate"]
