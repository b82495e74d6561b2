"""The policy of an agent on a tree, found by asking it in the states of the infosets, see `StatesPolicy`."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent, Recalls, Seated, StatesPolicy
from envs.capabilities import TOLERANCE
from envs.chanceless import extensive
from envs.extensive import ListedChance
from envs.game import Game, States
from envs.tree import Tree

BLOCK = 1 << 14
"""Number of states in which an agent is asked in one call."""


class NoPolicy(ValueError):
    """An agent cannot say with which probabilities it plays."""


class SeesTooMuch(ValueError):
    """An agent plays differently in two states that the player to move cannot tell apart."""


def for_player(agent: object, player: int) -> Any:
    """Returns a copy of the agent that plays for a player, see `envs.agent.Seated`."""
    return copy(agent.at_seat(player) if isinstance(agent, Seated) else agent)


def asked(game: Game, agent: object, states: States) -> NDArray[np.floating[Any]]:
    """Returns an agent's probability of each action in the states of a batch that it has begun, `[n, A]`.

    Raises:
        NoPolicy: the agent is not a `StatesPolicy`.
        ValueError: the policy is not a distribution over the legal actions.
    """
    if not isinstance(agent, StatesPolicy):
        raise NoPolicy("it cannot say with which probability it plays each action")
    found = agent.probabilities(states, np.arange(len(states)))
    total = np.where(game.legal(states), found, 0).sum(axis=1)
    if not (sound := np.abs(total - 1) <= TOLERANCE).all():
        raise ValueError(f"its probabilities of the legal actions sum to {total[~sound][0]:g} instead of 1")
    return found


def asked_policy(game: Game, tree: Tree, agent: object) -> NDArray[np.float64]:
    """Returns an agent's policy on a tree, `float64[S]`, with sums of exactly 1.

    It is asked at the first and at the last node of each infoset, where it must answer alike, since it sees whole
    states. An agent whose policy depends on its earlier moves recalls them first.

    Args:
        game: The game.
        tree: Its tree, by `envs.tree.compile_tree` or `envs.openspiel.openspiel_tree`.
        agent: An `envs.agent.StatesPolicy`, or an `envs.agent.Seated` that consists of such agents.

    Raises:
        NoPolicy: the agent is not a `StatesPolicy`.
        SeesTooMuch: the agent uses more than the player to move has observed.
        ValueError: the policy is not a distribution over the legal actions.
    """
    table = np.zeros((len(tree.player), tree.num_actions))
    decisions = np.flatnonzero(tree.mover >= 0)
    ends = [each[np.unique(tree.infoset[each], return_index=True)[1]] for each in (decisions, decisions[::-1])]
    for player in range(tree.num_players):
        mine = np.flatnonzero(tree.player == player)
        agent_here = for_player(agent, player)
        for begin in range(0, len(mine), BLOCK):
            rows = mine[begin : begin + BLOCK]
            table[rows], again = (_asked_at(game, tree, agent_here, nodes[rows]) for nodes in ends)
            if np.abs(again - table[rows]).max() > TOLERANCE:
                raise SeesTooMuch(
                    f"player {player} plays differently in states that look the same to it: an agent may use only "
                    "what game.observe shows to the player to move"
                )
    return tree.to_policy(table)


def _asked_at(game: Game, tree: Tree, agent: Agent, nodes: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
    """Returns an agent's probability of each action at nodes of one player, `[n, A]`; see `asked_policy`."""
    rules = game if isinstance(game, ListedChance) else extensive(game)
    rng = np.random.default_rng(0)  # probabilities do not depend on it; `recall` may draw what `act` would play by
    states = rules.initial(len(nodes))
    agent.begin(game, len(nodes), rng)
    for rows, movers, choices in _paths(tree, nodes):
        before = states[rows]
        own = np.flatnonzero(movers == tree.mover[nodes[0]])
        if len(own) and isinstance(agent, Recalls):
            agent.recall(before[own], rows[own], choices[own].astype(np.int64), rng)
        rules.apply(before, choices)
        states[rows] = before
    return asked(game, agent, states)


def _paths(
    tree: Tree, nodes: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.integer]]]:
    """Yields the choices that lead from the root to nodes, one of each node at a time.

    Yields:
        Rows of `nodes` whose path is that long, `int64[n]`, who chooses there, and the choice.
    """
    depths = np.searchsorted(tree.levels, nodes, side="right") - 1
    steps, below = [], nodes.copy()
    for depth in range(depths.max(), 0, -1):
        rows = np.flatnonzero(depths >= depth)
        reached = below[rows]
        below[rows] = tree.parent[reached]
        steps.append((rows, tree.mover[below[rows]], tree.action[reached]))
    yield from reversed(steps)


__all__ = ["BLOCK", "NoPolicy", "SeesTooMuch", "asked", "asked_policy", "for_player"]
