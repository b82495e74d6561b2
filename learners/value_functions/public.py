"""Encoding of public states and ranges for a net, derived from the game's rules alone (paper 003, Encoding of Inputs
and Outputs).

A public state is encoded as its sequence of public observations, one-hot and padded with zeros. A range has a place for
each sequence of private actions and observations that occurs anywhere at the limit. Observations without information
are left out: public ones that were the only possible ones wherever they occur, private ones that follow from what the
player knew, and a player's own actions where all players see them. `S` public states at the limit, `F` features, `W`
places of a player's range, `H` histories of a player at the limit, `N` nodes of the tree, `B` of them at the limit.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from envs.chanceless import extensive
from envs.extensive import ExtensiveGame
from envs.game import GameBase
from envs.tree import Tree
from learners.cfr.sequence_form import levels

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Public states and ranges as vectors.

    Attributes:
        features: One-hot public observations of each public state, `float32[S, F]`.
        places: Place of each history of each player in that player's range, `int32[H]` each.
        widths: `W` of each player.
        public: Public state of each history, `int32[H]` each.
    """

    features: Floats
    places: tuple[Ints, Ints]
    widths: tuple[int, int]
    public: tuple[Ints, Ints]

    @property
    def num_public(self) -> int:
        return len(self.features)

    @property
    def width(self) -> int:
        """Places of both players' ranges together."""
        return sum(self.widths)

    @property
    def inputs(self) -> int:
        """Length of a net's input."""
        return int(self.features.shape[1] + self.width)

    @cached_property
    def groups(self) -> tuple[csr_array, csr_array]:
        """Matrix of the histories of each player in each public state, `[S, H]`, sparse."""
        first, second = (
            csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(self.num_public, len(own)))
            for own in self.public
        )
        return first, second

    def columns(self, player: int) -> slice:
        """Columns of a player's places in a vector of both."""
        return slice(0, self.widths[0]) if player == 0 else slice(self.widths[0], self.width)

    def mask(self) -> NDArray[np.bool_]:
        """Places that belong to a history of the public state, `bool[S, W0 + W1]`."""
        mask = np.zeros((self.num_public, self.width), np.bool_)
        for player in (0, 1):
            mask[:, self.columns(player)][self.public[player], self.places[player]] = True
        return mask

    def spread(self, player: int, values: NDArray[Any]) -> NDArray[Any]:
        """Arranges values by history, `[H, ...]`, by public state and place, `[S, W, ...]`, with 0 in unused places."""
        out = np.zeros((self.num_public, self.widths[player], *values.shape[1:]), values.dtype)
        out[self.public[player], self.places[player]] = values
        return out

    def gather(self, player: int, values: NDArray[Any]) -> NDArray[Any]:
        """Reverse of `spread`, `[S, W, ...]` to `[H, ...]`."""
        return values[self.public[player], self.places[player]]


def encode(game: GameBase, tree: Tree, nodes: Ints, histories: tuple[Ints, Ints], public: Ints) -> Encoding:
    """Makes the encoding of a depth limit.

    Args:
        game: The game, whose rules define the observations.
        tree: The game's tree.
        nodes: Nodes at the limit, `int32[B]`.
        histories: Each player's history at these nodes, numbered from 0 to `H` - 1, `int32[B]` of each player.
        public: Public state of these nodes, numbered from 0 to `S` - 1, `int32[B]`.

    Raises:
        TypeError: the game does not define its observations.
    """
    seen = _observe(extensive(game), tree, nodes)
    features = _features(seen, nodes, public)
    found = [_places(tree, seen, nodes, p, histories[p], public) for p in (0, 1)]
    (first, first_public), (second, second_public) = found
    widths = (int(first.max()) + 1, int(second.max()) + 1)
    return Encoding(features, (first, second), widths, (first_public, second_public))


@dataclass(frozen=True)
class _Seen:
    """The observations on the paths to the limit.

    Attributes:
        tree: The tree.
        nodes: Nodes on these paths without the root, parents first, `int32[M]`.
        public: Public observation on entering each node of the tree, `int64[N]`.
        private: Private observation of each player on entering it, `int64[N]` of each player.
    """

    tree: Tree
    nodes: Ints
    public: NDArray[np.int64]
    private: tuple[NDArray[np.int64], NDArray[np.int64]]

    def keep(self, player: int) -> tuple[bool, set[int]]:
        """Whether the player's own actions are private, and the private observations that carry information."""
        tree, nodes = self.tree, self.nodes
        assert tree.history is not None
        assert tree.public is not None
        parent = tree.parent[nodes]
        moves = tree.mover[parent] == player
        before = tree.history[parent, player].astype(np.int64)
        group = _ids(before, tree.public[nodes])
        own = _varies(group[moves], tree.action[nodes[moves]])
        group = _ids(group, np.where(moves, tree.action[nodes], -1))
        news = _varies(group, self.private[player][nodes])
        return bool(own.any()), set(self.private[player][nodes][news].tolist())

    def news(self) -> set[int]:
        """Public observations that carry information: somewhere they were not the only possible ones."""
        assert self.tree.public is not None
        code = self.public[self.nodes]
        varied = _varies(self.tree.public[self.tree.parent[self.nodes]], code)
        return set(code[varied].tolist())


def _ids(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers rows so that equal rows, and only those, have equal numbers."""
    _, number = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return number.reshape(-1)


def _varies(group: NDArray[Any], code: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether the group of each row has several codes."""
    if not len(group):
        return np.zeros(0, np.bool_)
    pairs = np.unique(np.stack([group, code], axis=1), axis=0)
    groups, counts = np.unique(pairs[:, 0], return_counts=True)
    varied: NDArray[np.bool_] = np.isin(group, groups[counts > 1])
    return varied


def _observe(game: ExtensiveGame, tree: Tree, nodes: Ints) -> _Seen:
    """Replays the game along the paths to the limit and records the observations."""
    on_path = np.zeros(tree.num_nodes, np.bool_)
    at = nodes
    while len(at):
        on_path[at] = True
        at = np.unique(tree.parent[at[at > 0]])
    public = np.zeros(tree.num_nodes, np.int64)
    private = (np.zeros(tree.num_nodes, np.int64), np.zeros(tree.num_nodes, np.int64))
    index = np.zeros(tree.num_nodes, np.int64)  # of a node among the states of its level
    states, kept = game.initial(1), []
    for level in levels(tree):
        children = np.flatnonzero(on_path[level]) + level.start
        if not len(children):
            break
        states = states[index[tree.parent[children]]]
        game.apply(states, tree.action[children])
        public[children] = game.public(states)
        for player in (0, 1):
            private[player][children] = game.private(states, player)
        index[children] = np.arange(len(children))
        kept.append(children.astype(np.int32))
    return _Seen(tree, np.concatenate(kept), public, private)


def _features(seen: _Seen, nodes: Ints, public: Ints) -> Floats:
    """One-hot sequences of the public observations of each public state, `float32[S, F]`."""
    news = seen.news()
    _, first = np.unique(public, return_index=True)
    sequences = []
    for node in nodes[first].tolist():
        codes = []
        while node > 0:
            if int(seen.public[node]) in news:
                codes.append(int(seen.public[node]))
            node = int(seen.tree.parent[node])
        sequences.append(codes[::-1])
    alphabet = {code: i for i, code in enumerate(sorted({code for codes in sequences for code in codes}))}
    features = np.zeros((len(sequences), max(map(len, sequences)), len(alphabet)), np.float32)
    for state, codes in enumerate(sequences):
        for place, code in enumerate(codes):
            features[state, place, alphabet[code]] = 1.0
    return features.reshape(len(sequences), -1)


def _places(tree: Tree, seen: _Seen, nodes: Ints, player: int, histories: Ints, public: Ints) -> tuple[Ints, Ints]:
    """Place in the range and public state of each history of a player at the limit, `int32[H]` each."""
    _, first = np.unique(histories, return_index=True)
    states = public[first]
    # Try the informative observations first; where they leave two histories of a public state with one place, use all.
    for everything in (False, True):
        own, news = seen.keep(player)
        keys = [
            _key(tree, seen, int(node), player, own or everything, None if everything else news)
            for node in nodes[first]
        ]
        order = {key: place for place, key in enumerate(sorted(set(keys)))}
        places = np.array([order[key] for key in keys], np.int32)
        if len(np.unique(np.stack([states, places], axis=1), axis=0)) == len(places):
            return places, states
    raise AssertionError("whole histories must distinguish the histories of a public state")


def _key(
    tree: Tree, seen: _Seen, node: int, player: int, own: bool, news: set[int] | None
) -> tuple[tuple[int, int], ...]:
    """A player's private actions and observations on the way to a node, as (0, action) and (1, observation)."""
    key = []
    while node > 0:
        parent = int(tree.parent[node])
        code = int(seen.private[player][node])
        if news is None or code in news:
            key.append((1, code))
        if own and tree.mover[parent] == player:
            key.append((0, int(tree.action[node])))
        node = parent
    return tuple(key[::-1])


__all__ = ["Encoding", "encode"]
