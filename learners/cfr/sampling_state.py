"""The state of Monte Carlo CFR as arrays of records, and the operations on one infoset or chance node of it, compiled.

Traversals (`learners.cfr.sampling`) read the fields of a record together, and passing one array costs one argument.
Regret matching therefore has a form of its own here: with an array for each field, external sampling on Leduc takes 1.4
times as long.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.tree import Tree


def _record(**fields: type) -> np.dtype:
    """Makes the type of an array's rows."""
    return np.dtype((np.record, np.dtype(list(fields.items()), align=True)))  # fields are attributes, compiled or not


NODE = _record(
    first=np.int32,  # first child; the others follow
    slot=np.int32,  # first slot of the infoset; -1 where no player moves
    actions=np.int32,  # or outcomes
    mover=np.int8,
    equal=np.bool_,  # whether all outcomes of chance are equally likely
    utility=np.float64,  # of player 0; 0 before the end
    probability=np.float64,  # of the outcome of chance that led here
)
"""Row of `nodes`, `NODE[N]`: a node of the tree."""

SLOT = _record(
    regret=np.float64,  # sum of the sampled regrets
    average=np.float64,  # weighted sum of the policies
    policy=np.float64,  # probability of the action in the current traversal
    value=np.float64,  # value of the action in the current traversal
)
"""Row of `table`, `SLOT[S]`: statistics of an action at an infoset."""

STEP = _record(
    node=np.int64,
    tried=np.int64,  # number of actions that have been traversed
    first=np.float64,  # probability of player 0's own actions before the node
    second=np.float64,  # of player 1's
    reach=np.float64,  # probability that the traverser's actions before the node are sampled
)
"""Row of `path`, `STEP[D]`: a node on the way from the root."""


class Tables(NamedTuple):
    """The arrays of a solver: `N` nodes, `S` slots and `D` levels of the tree.

    Attributes:
        nodes: The tree, `NODE[N]`.
        table: Regrets and averages, `SLOT[S]`.
        path: Scratch for the path of a traversal, `STEP[D]`.
        baselines: Baselines of outcome sampling, `float64[S]`, or `float64[N]` with `Options.by_history`.
        matched: Scratch of chance sampling, `int64[S]`: the last traversal that met an infoset, at its first slot.
    """

    nodes: NDArray[np.void]
    table: NDArray[np.void]
    path: NDArray[np.void]
    baselines: NDArray[np.float64]
    matched: NDArray[np.int64]


class Options(NamedTuple):
    """The variant of an algorithm.

    Attributes:
        alternating: One traversal for each player in turn; else one for both, in chance sampling only.
        linear: Iteration t has weight t in the averages and, without `floor`, in the regrets.
        floor: Regret matching+: sums of regrets that fall below 0 become 0.
        epsilon: Probability that the traverser explores, in outcome sampling.
        decay: Share of a baseline that a new sample replaces.
        by_history: Whether a baseline belongs to a history instead of an infoset and an action.
    """

    alternating: bool
    linear: bool
    floor: bool
    epsilon: float
    decay: float
    by_history: bool


def make_tables(tree: Tree, by_history: bool) -> Tables:
    """Makes the arrays of a new solver."""
    return Tables(
        nodes=_make_nodes(tree),
        table=np.zeros(tree.num_slots, SLOT),
        path=np.zeros(len(tree.levels), STEP),
        baselines=np.zeros(tree.num_nodes if by_history else tree.num_slots),
        matched=np.zeros(tree.num_slots, np.int64),
    )


def _make_nodes(tree: Tree) -> NDArray[np.void]:
    """Converts a tree to `NODE[N]`."""
    nodes = np.zeros(tree.num_nodes, NODE)
    nodes["first"], nodes["actions"] = tree.children[:-1], np.diff(tree.children)
    nodes["slot"] = np.where(tree.mover >= 0, tree.slots[tree.infoset], -1)
    nodes["mover"], nodes["utility"], nodes["probability"] = tree.mover, tree.utility, tree.probability
    uneven = np.abs(tree.probability * nodes["actions"][tree.parent] - 1.0) > 1e-12
    uneven[0] = False
    nodes["equal"] = True
    nodes["equal"][tree.parent[uneven]] = False
    return nodes


@kernel
def match_regrets(table, slot, actions):
    """Sets the policy of an infoset by regret matching: proportional to the positive regrets, uniform without any."""
    total = 0.0
    for s in range(slot, slot + actions):
        total += max(table[s].regret, 0.0)
    scale = 1.0 / total if total > 0 else 0.0
    for s in range(slot, slot + actions):
        table[s].policy = max(table[s].regret, 0.0) * scale if total > 0 else 1.0 / actions


@kernel
def add_policy(table, slot, actions, weight):
    """Adds `weight` times the policy of an infoset to its average."""
    for s in range(slot, slot + actions):
        table[s].average += weight * table[s].policy


@kernel
def add_regrets(table, slot, actions, value, weight, floor):
    """Adds `weight` (v(a) - v) to the regrets of an infoset; `floor` makes negative sums 0 (regret matching+)."""
    for s in range(slot, slot + actions):
        regret = table[s].regret + weight * (table[s].value - value)
        table[s].regret = max(regret, 0.0) if floor else regret


@kernel
def expect(table, slot, actions):
    """Returns the value of an infoset, sum_a sigma(a) v(a)."""
    value = 0.0
    for s in range(slot, slot + actions):
        value += table[s].policy * table[s].value
    return value


@kernel
def draw_outcome(nodes, n, rng):
    """Draws a child of the chance node `n`."""
    first, outcomes = nodes[n].first, nodes[n].actions
    draw = rng.random()
    if nodes[n].equal:
        return first + int(draw * outcomes)
    child, last = first, first + outcomes - 1
    while child < last and draw >= nodes[child].probability:
        draw -= nodes[child].probability
        child += 1
    return child


@kernel
def draw_action(table, slot, actions, epsilon, rng):
    """Draws an action, numbered from 0, from epsilon / |A| + (1 - epsilon) sigma(a)."""
    draw, bound, chosen = rng.random(), 0.0, 0
    for a in range(actions - 1):
        bound += epsilon / actions + (1.0 - epsilon) * table[slot + a].policy
        chosen += draw >= bound
    return chosen


@kernel
def descend(nodes, table, path, depth):
    """Returns the next child to try at the last of `depth` decisions, and writes its reaches into the next row."""
    step = path[depth - 1]
    chosen = table[nodes[step.node].slot + step.tried].policy
    first = nodes[step.node].mover == 0
    path[depth].first = step.first * chosen if first else step.first
    path[depth].second = step.second if first else step.second * chosen
    return nodes[step.node].first + step.tried
