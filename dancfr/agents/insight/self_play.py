"""Small games between an agent and itself, solved on the game tree: the other player's hand, and who wins."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent
from envs.extensive import FactoredGame
from envs.game import Game, States
from envs.tree import Tree, TreePolicy, compile_tree

MOST_NODES = 100_000
"""Nodes of the largest tree that is built, which takes about a second, once."""
MOST_LISTED = 1_000
"""Nodes of the largest infoset whose hands are listed."""


class SelfPlay(NamedTuple):
    """The expectations at an infostate if all players play the agent's policy.

    Attributes:
        value: Expected return of the player to move.
        hands: Probability of each hand of the opponent, by its description, the likeliest first; None if there are too
            many nodes to list.
        reached: Whether the opponent plays to this infostate at all; otherwise all its hands count by chance alone.
    """

    value: float
    hands: dict[str, float] | None
    reached: bool


def play_itself(agent: Agent, game: Game, states: States) -> SelfPlay | None:
    """Returns the expectations at the infostate of the player to move, `states` `[1]`.

    None if the game has no tree of at most `MOST_NODES` nodes, or the agent gives no policy on it.
    """
    if not isinstance(game, FactoredGame) or not isinstance(agent, TreePolicy):
        return None
    tree = _tree_of(game)
    if tree is None:
        return None
    try:
        policy = agent.tree_policy(tree)
    except (LookupError, ValueError):  # it was made under other rules
        return None
    player = int(game.to_move(states)[0])
    seen = game.observe(states, game.to_move(states))[0]
    infosets = np.flatnonzero((tree.player == player) & (tree.observed == seen).all(axis=1))
    nodes = np.flatnonzero(np.isin(tree.infoset, infosets))
    if not len(nodes):
        return None
    reach, value = _reach_and_value(tree, policy, player)
    weight = reach[nodes]
    reached = bool(weight.sum() > 0)
    if not reached:
        weight = _reach_and_value(tree, np.ones(tree.num_slots), player)[0][nodes]
    weight = weight / weight.sum()
    expected = float(weight @ value[nodes]) * (1 if player == 0 else -1) + tree.shift
    hands = _hands(game, tree, nodes, weight, 1 - player) if len(nodes) <= MOST_LISTED else None
    return SelfPlay(expected, hands, reached)


@lru_cache(maxsize=4)
def _tree_of(game: FactoredGame) -> Tree | None:
    try:
        return compile_tree(game, MOST_NODES)
    except (TypeError, ValueError):  # too large, not for two players, or chance that cannot be listed
        return None


def _reach_and_value(
    tree: Tree, policy: NDArray[np.float64], player: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probability that chance and the opponent play to each node, and its value to player 0, `float64[N]`."""
    slot = tree.node_slots()
    probability = np.where(slot >= 0, policy[np.maximum(slot, 0)], tree.probability)
    own = (slot >= 0) & (tree.mover[tree.parent] == player)
    others = np.where(own, 1.0, probability)
    reach, value = np.ones(tree.num_nodes), tree.utility.astype(np.float64)
    spans = [slice(a, b) for a, b in zip(tree.levels[1:-1], tree.levels[2:], strict=True)]
    for span in spans:
        reach[span] = reach[tree.parent[span]] * others[span]
    for span in reversed(spans):
        np.add.at(value, tree.parent[span], probability[span] * value[span])
    return reach, value


def _hands(
    game: FactoredGame, tree: Tree, nodes: NDArray[np.int64], weight: NDArray[np.float64], holder: int
) -> dict[str, float]:
    """Probability of each hand of a player over some nodes, whose states are played again."""
    found: dict[str, float] = {}
    for node, share in zip(nodes.tolist(), weight.tolist(), strict=True):
        path = []
        while node > 0:
            path.append(int(tree.action[node]))
            node = int(tree.parent[node])
        state = game.initial(1)
        for action in reversed(path):
            game.apply(state, np.array([action]))
        hand = game.describe_hand(state[0], holder)
        found[hand] = found.get(hand, 0.0) + share
    return dict(sorted(found.items(), key=lambda each: -each[1]))


__all__ = ["SelfPlay", "play_itself"]
