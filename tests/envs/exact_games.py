"""Policies of games that are evaluated exactly without their trees, by infoset and as those of a tree."""

import numpy as np
from numpy.typing import NDArray

from envs.capabilities import ExactGame
from tests.envs.small_trees import tree_of

Policies = tuple[NDArray[np.float32], NDArray[np.float32]]


def legal_at(game: ExactGame, player: int) -> NDArray[np.bool_]:
    """Legal actions at a player's infosets in order, `bool[I, A]`."""
    return game.legal(game.infosets(player, 0, game.num_infosets(player)))


def packed_infosets(game: ExactGame, player: int) -> NDArray[np.uint8]:
    """The packed infostates of a player's infosets in order, `uint8[I, P]`."""
    count = game.num_infosets(player)
    return game.observe(game.infosets(player, 0, count), np.full(count, player, np.int8))


def ranks(game: ExactGame) -> dict[bytes, int]:
    """Number of each infoset of both players, by its packed infostate."""
    return {row.tobytes(): k for player in (0, 1) for k, row in enumerate(packed_infosets(game, player))}


def random_policies(game: ExactGame, seed: int, zeros: float) -> Policies:
    """Exponential weights, a share of them 0 unless they are all that an infoset has."""
    rng = np.random.default_rng(seed)
    found = []
    for player in (0, 1):
        legal = legal_at(game, player)
        weight = rng.exponential(size=legal.shape) * legal
        sparse = np.where(rng.random(legal.shape) < zeros, 0, weight)
        weight = np.where(sparse.sum(1, keepdims=True) > 0, sparse, weight)
        found.append((weight / weight.sum(1, keepdims=True)).astype(np.float32))
    return found[0], found[1]


def on_tree(game: ExactGame, policies: Policies) -> NDArray[np.float64]:
    """The policies as one of the tree, `float64[S]`, without the rounding of their sums."""
    tree, rank = tree_of(game), ranks(game)
    rows = [policies[p][rank[seen.tobytes()]] for p, seen in zip(tree.player, tree.observed, strict=True)]
    table = np.array(rows, np.float64)
    return tree.to_slots(table / table.sum(1, keepdims=True))
