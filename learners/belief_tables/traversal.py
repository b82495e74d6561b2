"""Depth-limited external sampling from belief states of self-play, compiled (paper 002, Algorithms 2 and 3).

Self-play by the average policy meets belief states. Below each of them, once for each player as the traverser, a search
of `limit` moves follows every move of the traverser and one sampled move of the opponent. It adds to the regrets of the
traverser, to the strategy sums of the opponent, and to the values of belief states that stand at the depth limit for
the rest of the game.

Example with limit 2, at a node where the traverser moves and has two legal columns with the policy (0.25, 0.75):

    depth 0  traverser: column 0 first
    depth 1  opponent:  its policy is added to the strategy sums, one column is drawn
    depth 2  leaf:      worth 0.6, from the table of values; this is the value of column 0
    depth 0  traverser: column 1; the opponent and the leaf below it give -0.2
             value of the node        0.25 * 0.6 + 0.75 * -0.2 = 0
             regrets grow by          weight * (0.6 - 0), weight * (-0.2 - 0)
             the value of the row     moves towards 0 by the share `decay`
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.geister.rules import RUNNING
from learners.geister_beliefs.belief import BeliefRules, begin, play, regenerate
from learners.geister_beliefs.tables import (
    LEGAL,
    NODE,
    ROWS,
    ROWS_OF_OWN,
    SLOTS,
    action_of,
    draw_slot,
    explore,
    normalise,
    row_of,
)

MOST_DEPTH = 6


class Tables(NamedTuple):
    """The learnt tables; kernels change them in place.

    Attributes:
        regrets: `float64[ROWS, 8]`.
        sums: Strategy sums, `float64[ROWS, 8]`.
        values: Values of belief states by traverser, `float64[2, ROWS]`; in the methods of
            `learners.belief_tables.outcome` baselines, `float64[ROWS, 8]`.
    """

    regrets: NDArray[np.float64]
    sums: NDArray[np.float64]
    values: NDArray[np.float64]


class Learnt(NamedTuple):
    """The knowledge of searches that change the tables.

    Attributes:
        tables: The tables that they read: those that they change, or a copy from before the pass.
        changed: Which rows have changed since the copy was renewed, `bool[ROWS]`.
        rows: These rows, the first `total[0]` of `int64[ROWS]`.
        total: Their number, `int64[1]`.
    """

    tables: Tables
    changed: NDArray[np.bool_]
    rows: NDArray[np.int64]
    total: NDArray[np.int64]


class Scratch(NamedTuple):
    """Scratch buffers by depth, for paths of up to `D` moves.

    Attributes:
        nodes: `NODE[D + 1]`.
        rows: Row of the mover in the tables, `int64[D]`.
        slots: The column that is followed, `int64[D]`.
        policy: Policy of the mover, `float64[D, 8]`.
        numbers: Value of each column, or the policy that columns are sampled by, `float64[D, 8]`.
    """

    nodes: NDArray[np.void]
    rows: NDArray[np.int64]
    slots: NDArray[np.int64]
    policy: NDArray[np.float64]
    numbers: NDArray[np.float64]


class SelfPlay(NamedTuple):
    """Self-play that continues from call to call.

    Attributes:
        start: The position at the start of a game, `STATE[1]`.
        game: The current node, `NODE[1]`.
        roots: Where belief states are written, `NODE[N]`.
        epsilon: Share of uniform moves.
        epsilon_belief: Share of belief states whose beliefs are redrawn.
    """

    start: NDArray[np.void]
    game: NDArray[np.void]
    roots: NDArray[np.void]
    epsilon: float
    epsilon_belief: float


class Search(NamedTuple):
    """Options of a search.

    Attributes:
        limit: Moves from the root to the leaves.
        decay: Share of a value that a new one replaces; 0 keeps all values at 0.
        after_pass: Whether searches read a copy of the tables that is renewed after each pass.
    """

    limit: int
    decay: float
    after_pass: bool


def make_scratch(depth: int) -> Scratch:
    """Scratch buffers for paths of up to `depth` moves."""
    rows, slots = np.zeros((2, depth), np.int64)
    policy, numbers = np.zeros((2, depth, SLOTS))
    return Scratch(np.zeros(depth + 1, NODE), rows, slots, policy, numbers)


def make_learnt(tables: Tables) -> Learnt:
    """The knowledge of searches that read `tables`."""
    return Learnt(tables, np.zeros(ROWS, np.bool_), np.zeros(ROWS, np.int64), np.zeros(1, np.int64))


def check_tables(tables: Tables, values: tuple[int, int]) -> None:
    """Raises ValueError if tables have other shapes than kernels expect; `values` is the shape of the values."""
    shapes = {"regrets": (ROWS, SLOTS), "sums": (ROWS, SLOTS), "values": values}
    for name, array in tables._asdict().items():
        if array.dtype != np.float64 or array.shape != shapes[name]:
            raise ValueError(f"{name} must be float64{list(shapes[name])}, got {array.dtype}{list(array.shape)}")


@kernel
def collect(sums, rules, self_play, policy, rng):
    """Plays by the average policy, mixed with the uniform one, until `self_play.roots` is full.

    Args:
        sums: Strategy sums, `float64[ROWS, 8]`.
        rules: `BeliefRules`.
        self_play: `SelfPlay`.
        policy: Scratch buffer, `float64[8]`.
        rng: Generator.
    """
    start, game, roots, epsilon, epsilon_belief = self_play
    node = game[0]
    for i in range(len(roots)):
        # A new game where the last one has ended.
        if node.ending != RUNNING:
            begin(node, start[0], rng)
        # Keep the belief state; in some copies the beliefs, and then the colours, are redrawn.
        roots[i] = node
        if rng.random() < epsilon_belief:
            regenerate(roots[i], rng)
        # Play on in the game itself, whose beliefs stay as they are.
        red = node.red[node.to_move]
        row = row_of(node, node.to_move, red)
        legal = LEGAL[rules.forced_escape, row // ROWS_OF_OWN]
        normalise(sums[row], legal, policy)
        explore(policy, legal, epsilon)
        play(node, action_of(draw_slot(policy, rng), red), sums, rules)


@kernel
def traverse(tables, learnt, rules, scratch, search, traverser, weight, rng):
    """Searches below the belief state `scratch.nodes[0]` (Algorithm 3). The tables change immediately; `learnt` says
    which tables the search itself reads.

    Args:
        tables: `Tables`.
        learnt: `Learnt`.
        rules: `BeliefRules`.
        scratch: `Scratch` for at least `search.limit` moves.
        search: `Search`.
        traverser: Player whose regrets and values are learnt.
        weight: Weight of regrets and policies: the iteration.
        rng: Generator.

    Returns:
        The value of the root for the traverser, and the number of nodes.
    """
    regrets, sums, values = tables
    known = learnt.tables
    nodes, rows, slots, policy, value = scratch
    limit, decay = search.limit, search.decay
    d = 0
    count = 0
    while True:
        node = nodes[d]
        count += 1
        player = np.int64(node.to_move)
        if node.ending != RUNNING:
            # The game is over: its result.
            result = 0.0 if node.winner < 0 else (1.0 if node.winner == traverser else -1.0)
        elif d == limit:
            # A leaf: the learnt value, which exists where the traverser moves (as in the paper).
            result = known.values[traverser, row_of(node, player, node.red[player])] if player == traverser else 0.0
        else:
            # An inner node: the current policy by regret matching, and the first column to follow.
            row = row_of(node, player, node.red[player])
            rows[d] = row
            note(learnt, row)
            normalise(known.regrets[row], LEGAL[rules.forced_escape, row // ROWS_OF_OWN], policy[d])
            if player == traverser:
                slots[d] = next_slot(LEGAL[rules.forced_escape, row // ROWS_OF_OWN], -1)
            else:
                for slot in range(SLOTS):
                    sums[row, slot] += weight * policy[d, slot]
                slots[d] = draw_slot(policy[d], rng)
            descend(nodes, d, slots[d], known.sums, rules)
            d += 1
            continue
        # Carry the result up to the nearest node of the traverser that has another column to follow.
        while d > 0:
            d -= 1
            if nodes[d].to_move != traverser:
                continue  # one column was sampled: its value is the value of the node
            value[d, slots[d]] = result
            row = rows[d]
            legal = LEGAL[rules.forced_escape, row // ROWS_OF_OWN]
            slots[d] = next_slot(legal, slots[d])
            if slots[d] < SLOTS:
                descend(nodes, d, slots[d], known.sums, rules)
                d += 1
                break
            # Every column has its value: learn regrets and the value of the belief state.
            result = 0.0
            for slot in range(SLOTS):
                if (legal >> slot) & 1:
                    result += policy[d, slot] * value[d, slot]
            for slot in range(SLOTS):
                if (legal >> slot) & 1:
                    regrets[row, slot] += weight * (value[d, slot] - result)
            values[traverser, row] += decay * (result - values[traverser, row])
        else:
            return result, count


@kernel
def next_slot(legal, slot):
    """The first legal column after `slot`, or `SLOTS` if there is none."""
    slot += 1
    while slot < SLOTS and (legal >> slot) & 1 == 0:
        slot += 1
    return slot


@kernel
def descend(nodes, d, slot, sums, rules):
    """Writes the node after a column at depth `d` to depth `d + 1`."""
    nodes[d + 1] = nodes[d]
    node = nodes[d + 1]
    play(node, action_of(slot, node.red[node.to_move]), sums, rules)


@kernel
def note(learnt, row):
    """Notes that a row changes."""
    if not learnt.changed[row]:
        learnt.changed[row] = True
        learnt.rows[learnt.total[0]] = row
        learnt.total[0] += 1


@kernel
def renew(tables, learnt):
    """Copies the changed rows of `tables` to those that searches read."""
    known = learnt.tables
    for row in learnt.rows[: learnt.total[0]]:
        known.regrets[row], known.sums[row] = tables.regrets[row], tables.sums[row]
        known.values[:, row] = tables.values[:, row]
        learnt.changed[row] = False
    learnt.total[0] = 0


@kernel
def iterate(tables, learnt, rules, self_play, scratch, search, first, iterations, passes, rng):
    """Runs iterations `first`, `first` + 1, ... of Algorithm 1, each with `passes` runs of Algorithm 2.

    Args:
        tables, learnt, rules, self_play, scratch, search: See the NamedTuples of this module.
        first: Number of the first iteration, from 1.
        iterations: Number of iterations.
        passes: Times that an iteration plays and searches.
        rng: Generator.

    Returns:
        The number of nodes.
    """
    roots = self_play.roots
    total = 0
    for t in range(first, first + iterations):
        for _ in range(passes):
            collect(tables.sums, rules, self_play, scratch.policy[0], rng)
            for i in range(len(roots)):
                for traverser in range(2):
                    scratch.nodes[0] = roots[i]
                    _, count = traverse(tables, learnt, rules, scratch, search, traverser, float(t), rng)
                    total += count
            if search.after_pass:
                renew(tables, learnt)
    return total


__all__ = [
    "MOST_DEPTH",
    "BeliefRules",
    "Learnt",
    "Scratch",
    "Search",
    "SelfPlay",
    "Tables",
    "check_tables",
    "collect",
    "iterate",
    "make_learnt",
    "make_scratch",
    "renew",
    "traverse",
]
