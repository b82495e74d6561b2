"""Builds the tree of a game and checks it; `envs.tree_arrays` describes the arrays."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.chanceless import extensive
from envs.extensive import CHANCE, MOST_OUTCOMES, OVER, ExtensiveGame
from envs.faults import long_fault
from envs.game import GameBase
from envs.tree_arrays import Tree, TreePolicy, as_items
from envs.tree_layers import Layer, NoConstantSum, Returns, TreeTooLarge, join, number_histories
from envs.tree_size import estimate_nodes

MOST_NODES = 20_000_000
"""Default limit on the nodes: 4 to 5 GB while the tree is built, 1 GB afterwards."""


class ImperfectRecall(ValueError):
    """A player forgets an observation or an own action; sequences, and the guarantees of CFR, need perfect recall."""


def compile_tree(game: GameBase, most_nodes: int = MOST_NODES, *, general: bool = False) -> Tree:
    """Builds the whole tree of a game.

    Args:
        game: An `ExtensiveGame`, or any `Game` without chance events, see `envs.chanceless`.
        most_nodes: Limit on the number of nodes.
        general: Whether a game of more players, or of returns without a constant sum, has a tree too, with `payoffs`,
            for exact evaluations. The solvers need two players with returns of a constant sum.

    Raises:
        TypeError: the game draws chance events without listing them, or its actions are not numbered.
        NoConstantSum: the game is not one of two players with returns of a constant sum, and `general` is not set.
        ValueError: a node has no choices; the probabilities of a chance node do not sum to 1; a choice changes nothing;
            a game runs on after `max_plies` decisions; or a packed infostate reveals more than the player has observed.
        TreeTooLarge: more than `most_nodes` nodes.
        ImperfectRecall: nodes of one infoset differ in their legal actions or in their player's actions before them.
    """
    game = extensive(game)
    try:
        return _compile(game, most_nodes, general=False)
    except NoConstantSum:
        if not general:
            raise
    return _compile(game, most_nodes, general=True)


def _compile(game: ExtensiveGame, most_nodes: int, *, general: bool) -> Tree:
    """Builds a tree, of a general game with `payoffs`; see `compile_tree`."""
    if game.spec.num_players != 2 and not general:
        raise NoConstantSum.of(game.spec.name, game.spec.num_players)
    started = time.perf_counter()
    roughly = estimate_nodes(game, np.random.default_rng(0), enough=100.0 * most_nodes)
    refuse_hopeless(game.spec.name, roughly, most_nodes)
    returns = Returns(game, general)
    layers = [Layer.root(game, returns)]
    count = 1
    while layers[-1].running:
        if len(layers) > game.spec.max_plies + MOST_OUTCOMES:
            raise ValueError(f"{game.spec.name}: {long_fault(len(layers) - 1)}")
        layers.append(layers[-1].expand(game, returns, most_nodes - count, count - len(layers[-1].mover)))
        count += len(layers[-1].mover)
    widths = [len(layer.mover) for layer in layers]
    number_histories(layers)
    payoffs = join(layers, "payoffs") if general else None
    joined = {name: join(layers, name) for name in Layer.FIELDS}
    history, public, observed = (join(layers, name) for name in ("history", "public", "observed"))
    decisions = joined["mover"] >= 0
    timed = getattr(game, "timed", True)
    if timed:
        of_mover = history[np.arange(count), np.maximum(joined["mover"], 0)]
    else:
        seen = np.unique(as_items(observed), return_inverse=True)[1]
        of_mover = seen * game.spec.num_players + np.maximum(joined["mover"], 0)
    keys = np.where(decisions, of_mover, -1).astype(np.int64)
    return assemble(
        game.spec.name,
        game.spec.num_actions,
        widths,
        joined,
        keys,
        observed,
        history if timed else None,
        public if timed else None,
        payoffs=payoffs,
        shift=(returns.total or 0.0) / 2,
        started=started,
    )


def refuse_hopeless(name: str, roughly: float, most_nodes: int) -> None:
    """Raises TreeTooLarge if an estimate of the nodes exceeds the limit ten times."""
    if roughly > 10 * most_nodes:
        raise TreeTooLarge(
            f"{name} has more nodes than the {most_nodes:,} allowed, some {roughly:.0e} or more: choose smaller "
            "options of the game"
        )


def assemble(
    name: str,
    num_actions: int,
    widths: Sequence[int],
    nodes: dict[str, NDArray[Any]],
    keys: NDArray[np.int64],
    observed: NDArray[np.uint8],
    history: NDArray[np.int64] | None = None,
    public: NDArray[np.int64] | None = None,
    *,
    payoffs: NDArray[np.float64] | None = None,
    shift: float = 0.0,
    started: float,
) -> Tree:
    """Builds a `Tree` from nodes listed level by level, with children in the order of their parents.

    Args:
        name, num_actions: See `Tree`.
        widths: Number of nodes of each depth.
        nodes: The fields ``mover``, ``parent``, ``action``, ``probability`` and ``utility`` of `Tree`; ``utility`` is
            the return of player 0 before the shift.
        keys: Number of the infoset of each node, `int64[N]`, distinct over the players; -1 where no player moves.
        observed: Packed infostate of the player to move at each node, `uint8[N, P]`.
        history, public, payoffs, shift: See `Tree`.
        started: Start of the work, by `time.perf_counter`.

    Raises:
        ValueError: probabilities of chance do not sum to 1, or packed infostates differ within an infoset.
        ImperfectRecall: nodes of an infoset differ in their legal actions or in their player's actions before them.
    """
    mover, parent = nodes["mover"].astype(np.int8), nodes["parent"].astype(np.int32)
    counts = np.bincount(parent[1:], minlength=len(parent))
    children = np.concatenate([[1], 1 + np.cumsum(counts)]).astype(np.int32)
    decisions = np.flatnonzero(mover >= 0)
    _, first, which = np.unique(keys[decisions], return_index=True, return_inverse=True)
    order = np.lexsort((first, mover[decisions[first]]))  # by player, then in breadth-first order
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    infoset = np.full(len(mover), -1, np.int32)
    infoset[decisions] = rank[which]
    met = decisions[first[order]]  # first node of each infoset
    slots = np.concatenate([[0], np.cumsum(counts[met])]).astype(np.int32)
    offsets = np.arange(slots[-1]) - np.repeat(slots[:-1], counts[met])
    wide = nodes["action"].max() > np.iinfo(np.int16).max  # outcomes of chance may be many
    action: NDArray[np.integer] = nodes["action"].astype(np.int32 if wide else np.int16)
    tree = Tree(
        name=name,
        num_actions=num_actions,
        mover=mover,
        parent=parent,
        children=children,
        action=action,
        probability=nodes["probability"],
        utility=np.where(mover == OVER, nodes["utility"] - shift, 0.0) if shift else nodes["utility"],
        levels=np.concatenate([[0], np.cumsum(widths)]).astype(np.int32),
        infoset=infoset,
        history=None if history is None else history.astype(np.int32),
        public=None if public is None else public.astype(np.int32),
        player=mover[met],
        slots=slots,
        slot_action=action[np.repeat(children[met], counts[met]) + offsets],
        parent_slot=np.full(len(met), -1, np.int32),
        observed=observed[met],
        seconds=0.0,
        shift=shift,
        payoffs=payoffs,
    )
    _check_chance(tree)
    _check_actions(tree, counts)
    _link_slots(tree, met)
    _check_observed(tree, observed, met)
    object.__setattr__(tree, "seconds", time.perf_counter() - started)
    return tree


def _check_chance(tree: Tree) -> None:
    """Raises a ValueError if the probabilities at a chance node are negative or do not sum to 1."""
    sums = np.bincount(tree.parent[1:], tree.probability[1:], tree.num_nodes)
    if len(wrong := np.flatnonzero((tree.mover == CHANCE) & ~(np.abs(sums - 1) <= 1e-9))):
        off = sums[wrong[0]] - 1
        raise ValueError(
            f"{tree.name}: the probabilities of chance must sum to 1, got {sums[wrong[0]]:.6g} at node {wrong[0]}"
            + (f" (off by {off:.1g}: compute them in float64)" if abs(off) < 1e-6 else "")
        )
    if len(wrong := np.flatnonzero(tree.probability < 0)):
        raise ValueError(f"{tree.name}: chance has the probability {tree.probability[wrong[0]]:.6g}")


def _check_observed(tree: Tree, observed: NDArray[np.uint8], met: NDArray[np.int64]) -> None:
    """Raises a ValueError if packed infostates differ within an infoset; `met` is the first node of each infoset."""
    decisions = np.flatnonzero(tree.mover >= 0)
    leaks = decisions[(observed[decisions] != tree.observed[tree.infoset[decisions]]).any(axis=1)]
    if len(leaks):
        node = leaks[0]
        pair = [int(met[tree.infoset[node]]), int(node)]
        paths, rows = [_choices(tree, each) for each in pair], observed[pair].tolist()
        raise ValueError(
            f"{tree.name}: a packed infostate reveals more than the player has observed: player {tree.mover[node]} has "
            f"observed the same after the choices {paths[0]} and {paths[1]}, but the packed rows are {rows[0]} and "
            f"{rows[1]}"
        )


def _choices(tree: Tree, node: int) -> list[int]:
    """Returns the outcomes of chance and the actions of the players that lead to a node."""
    found = []
    while node:
        found.append(int(tree.action[node]))
        node = int(tree.parent[node])
    return found[::-1]


def _check_actions(tree: Tree, counts: NDArray[np.int64]) -> None:
    """Raises ImperfectRecall if nodes of one infoset have different legal actions."""
    decisions = np.flatnonzero(tree.mover >= 0)
    alike = (counts[decisions] == np.diff(tree.slots)[tree.infoset[decisions]]).all()
    if alike:
        slot = tree.node_slots()
        after = np.flatnonzero(slot >= 0)
        alike = (tree.slot_action[slot[after]] == tree.action[after]).all()
    if not alike:
        raise ImperfectRecall(f"{tree.name}: an infoset has nodes with different legal actions")


def _link_slots(tree: Tree, met: NDArray[np.int64]) -> None:
    """Fills `parent_slot`; raises ImperfectRecall if nodes of an infoset follow different own actions."""
    slot = tree.node_slots()
    last = np.full((tree.num_nodes, tree.num_players), -1, np.int32)
    for begin, end in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        nodes = np.arange(begin, end)
        last[nodes] = last[tree.parent[nodes]]
        mine = nodes[slot[nodes] >= 0]
        last[mine, tree.mover[tree.parent[mine]]] = slot[mine]
    decisions = np.flatnonzero(tree.mover >= 0)
    own = last[decisions, tree.mover[decisions]]
    tree.parent_slot[:] = last[met, tree.mover[met]]
    if (own != tree.parent_slot[tree.infoset[decisions]]).any():
        raise ImperfectRecall(f"{tree.name}: a player forgets an own action")


__all__ = [
    "MOST_NODES", "ImperfectRecall", "NoConstantSum", "Tree", "TreePolicy", "TreeTooLarge", "assemble", "compile_tree",
    "refuse_hopeless",
]  # fmt: skip
