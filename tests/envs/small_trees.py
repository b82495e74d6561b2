"""Trees of small games with the state of every node, for the tests."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, FactoredGame
from envs.game import States
from envs.tree import Tree, compile_tree


@cache
def tree_of(game: FactoredGame) -> Tree:
    """Its tree, compiled once in a run of the tests."""
    return compile_tree(game)


def states_of(game: FactoredGame, tree: Tree) -> States:
    """The state of every node, `[N]`, played afresh by the actions that lead there."""
    states = game.initial(tree.num_nodes)
    for begin, end in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        part = states[tree.parent[begin:end]]
        game.apply(part, tree.action[begin:end])
        states[begin:end] = part
    return states


def chances(tree: Tree) -> NDArray[np.float64]:
    """Product of chance's probabilities on the way to each node, `float64[N]`."""
    reach = np.ones(tree.num_nodes)
    for begin, end in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        reach[begin:end] = reach[tree.parent[begin:end]] * tree.probability[begin:end]
    return reach


def after_chance(tree: Tree, node: int) -> dict[int, float]:
    """Where chance, moving until it is no longer to move, can take the game from `node`, with probabilities."""
    if tree.mover[node] != CHANCE:
        return {node: 1.0}
    found: dict[int, float] = {}
    for child in range(tree.children[node], tree.children[node + 1]):
        for last, probability in after_chance(tree, child).items():
            found[last] = float(tree.probability[child]) * probability
    return found
