"""Oracles for games cut in two: walks over nodes in Python, and linear programs by slots. They read the arrays of
`learners.value_functions` only to find which number belongs to which history or sequence."""

from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack

from envs.extensive import CHANCE, OVER
from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.oshi_zumo import OshiZumo
from envs.tree import Tree
from learners.cfr.treeplex import Treeplex
from learners.value_functions.limit import Limit
from learners.value_functions.parts import Pair, Split, split_game
from learners.value_functions.trunks import random_policies
from tests.envs.small_trees import chances, tree_of

Floats = NDArray[np.float64]

SMALL = (
    (Kuhn(), "chances:2"),
    (Kuhn(), "actions:1"),
    (Kuhn(), "actions:2"),
    (Kuhn(cards=4), "actions:1"),
    (Goofspiel(3), "actions:1"),
    (Goofspiel(3), "actions:2"),
    (Goofspiel(3), "actions:4"),
    (Goofspiel(3, prizes="random"), "chances:2"),
    (OshiZumo(coins=4), "actions:2"),
    (OshiZumo(coins=4), "actions:4"),
)
"""Limits at which players have one history or many, right after chance or in the middle of a round, in games that end
above the limit or do not; the bottom of the one with four moves of goofspiel is forced."""

LARGER = (
    (Goofspiel(4), "actions:4"),
    (Goofspiel(3, prizes="random"), "actions:2"),
    (OshiZumo(coins=5), "actions:3"),
    (Leduc(), "actions:2"),
    (Leduc(), "chances:3"),
)


def name_of(value: object) -> str:
    """Name of a game or a limit in the names of tests."""
    return value if isinstance(value, str) else f"{value.spec.name}{value.spec.num_actions}"


def named(case: Any) -> str:
    """The name of a game with a depth limit."""
    return f"{name_of(case[0])}-{case[1]}"


@cache
def cut(game, limit: str) -> Split:
    """The game cut at a limit, made once in a run of the tests."""
    return split_game(game, Limit.parse(limit), tree_of(game))


@cache
def border_of(game, limit: str) -> tuple[tuple[int, ...], NDArray[np.bool_]]:
    """The nodes at a limit, and whether each node is there or beyond, by counting on the way to each."""
    tree, (event, _, number) = tree_of(game), limit.partition(":")
    count = np.zeros(tree.num_nodes, int)
    for node in range(1, tree.num_nodes):
        mover = tree.mover[tree.parent[node]]
        count[node] = count[tree.parent[node]] + ((mover == CHANCE) == (event == "chances"))
    beyond = count >= int(number)
    running = tree.mover != OVER
    first = [n for n in range(1, tree.num_nodes) if beyond[n] and not beyond[tree.parent[n]] and running[n]]
    below = np.zeros(tree.num_nodes, bool)
    for node in range(1, tree.num_nodes):
        below[node] = below[tree.parent[node]]
        if beyond[node] and not beyond[tree.parent[node]] and running[node]:
            below[node] = True
    return tuple(first), below


def numbers(tree: Tree, nodes: tuple[int, ...], player: int) -> dict[int, int]:
    """Number of each history of a player at the limit, in the order of the tree's numbers."""
    assert tree.history is not None
    return {int(h): i for i, h in enumerate(np.unique(tree.history[list(nodes), player]))}


def random_policy(tree: Tree, rng: np.random.Generator, pure: float = 0.1) -> Floats:
    """A random policy of both players by slot, `float64[S]`, which at some infosets plays one action for sure."""
    weight = rng.exponential(size=tree.num_slots)
    for infoset in np.flatnonzero(rng.random(len(tree.player)) < pure):
        slots = slice(tree.slots[infoset], tree.slots[infoset + 1])
        weight[slots] = np.arange(weight[slots].size) == rng.integers(weight[slots].size)
    return weight / np.repeat(np.add.reduceat(weight, tree.slots[:-1]), np.diff(tree.slots))


def by_sequence(treeplex: Treeplex, tree: Tree, policy: Floats) -> Floats:
    """A policy by slot as one by the sequences of a part, `float64[Q]`; 1 for roots."""
    found = np.ones(treeplex.num_sequences)
    counts = np.diff(tree.slots)
    for slot in np.flatnonzero(treeplex.sequence >= 0):
        if counts[tree.slot_infoset[slot]] > 1:
            found[treeplex.sequence[slot]] = policy[slot]
    return found


def by_slot(split: Split, pairs: list[tuple[Treeplex, Floats]]) -> Floats:
    """The reverse, for the whole game or parts of it; other slots have the uniform policy."""
    policy, counts = split.tree.uniform(), np.diff(split.tree.slots)
    for treeplex, own in pairs:
        for slot in np.flatnonzero(treeplex.sequence >= 0):
            if counts[split.tree.slot_infoset[slot]] > 1:
                policy[slot] = own[treeplex.sequence[slot]]
    return policy


def reach(tree: Tree, policy: Floats, player: int) -> Floats:
    """Product of a player's own probabilities on the way to each node, `float64[N]`."""
    found, slot = np.ones(tree.num_nodes), tree.node_slots()
    for node in range(1, tree.num_nodes):
        above = tree.parent[node]
        found[node] = found[above] * (policy[slot[node]] if tree.mover[above] == player else 1.0)
    return found


def returns(tree: Tree, policy: Floats) -> Floats:
    """Expected return of player 0 from each node on, `float64[N]`."""
    value, slot = tree.utility.copy(), tree.node_slots()
    for node in range(tree.num_nodes - 1, 0, -1):
        step = policy[slot[node]] if tree.mover[tree.parent[node]] >= 0 else tree.probability[node]
        value[tree.parent[node]] += step * value[node]
    return value


def ranges(game, limit: str, policy: Floats) -> Pair:
    """Reach probability of each history at the limit by the player's own actions, `float64[H]` of each player."""
    tree, (nodes, _) = tree_of(game), border_of(game, limit)
    pair = []
    for player in (0, 1):
        number, found = numbers(tree, nodes, player), reach(tree, policy, player)
        own = np.full(len(number), np.nan)
        for node in nodes:
            h = number[int(tree.history[node, player])]
            assert np.isnan(own[h]) or own[h] == found[node], "one history, one reach probability"
            own[h] = found[node]
        pair.append(own)
    return pair[0], pair[1]


def counterfactual(game, limit: str, weights: Pair, policy: Floats) -> Pair:
    """Counterfactual values at the limit for these ranges if a policy is played below, `float64[H]` of each player."""
    tree, (nodes, _) = tree_of(game), border_of(game, limit)
    value, chance = returns(tree, policy), chances(tree)
    number = [numbers(tree, nodes, player) for player in (0, 1)]
    found = np.zeros(len(number[0])), np.zeros(len(number[1]))
    for node in nodes:
        h = [number[player][int(tree.history[node, player])] for player in (0, 1)]
        found[0][h[0]] += chance[node] * weights[1][h[1]] * value[node]
        found[1][h[1]] -= chance[node] * weights[0][h[0]] * value[node]
    return found


class Program:
    """A linear program in sequence form over a part of a tree, with a variable for each slot and each root.

    Args:
        tree: The tree.
        starts: Nodes where the part begins, each with a root of either player.
    """

    def __init__(self, tree: Tree, starts: list[tuple[int, int, int]]) -> None:
        self.tree = tree
        self.variables: tuple[dict, dict] = ({}, {})
        self.above: tuple[dict, dict] = ({}, {})
        payoff: dict[tuple[int, int], float] = defaultdict(float)
        slot, chance = tree.node_slots(), chances(tree)
        stack = [(n, [self._variable(p, ("root", r)) for p, r in enumerate(roots)]) for n, *roots in starts]
        while stack:
            node, last = stack.pop()
            mover = tree.mover[node]
            if mover == OVER:
                payoff[last[0], last[1]] += chance[node] * tree.utility[node]
                continue
            if mover >= 0:
                above = self.above[mover].setdefault(int(tree.infoset[node]), last[mover])
                assert above == last[mover], "perfect recall"
            for child in range(tree.children[node], tree.children[node + 1]):
                after = list(last)
                if mover >= 0:
                    after[mover] = self._variable(mover, int(slot[child]))
                stack.append((child, after))
        rows, columns = zip(*payoff, strict=True)
        shape = tuple(len(v) for v in self.variables)
        self.payoff = coo_array((list(payoff.values()), (rows, columns)), shape=shape).tocsr()

    def _variable(self, player: int, key: object) -> int:
        return self.variables[player].setdefault(key, len(self.variables[player]))

    def flow(
        self, player: int, roots: dict[int, float], fixed: dict[int, float] | None = None
    ) -> tuple[csr_array, Floats]:
        """Constraints of a player's plan, with these reach probabilities of roots and of fixed slots."""
        variables, entries, right = self.variables[player], [], []
        for root, weight in roots.items():
            entries.append((len(right), variables["root", root], 1.0))
            right.append(weight)
        for infoset, above in self.above[player].items():
            entries.append((len(right), above, -1.0))
            for slot in range(self.tree.slots[infoset], self.tree.slots[infoset + 1]):
                entries.append((len(right), variables[slot], 1.0))
            right.append(0.0)
        for slot, weight in (fixed or {}).items():
            entries.append((len(right), variables[slot], 1.0))
            right.append(weight)
        rows, columns, values = zip(*entries, strict=True)
        return coo_array((values, (rows, columns)), shape=(len(right), len(variables))).tocsr(), np.array(right)

    def value(self, player: int, own: tuple[csr_array, Floats], other: tuple[csr_array, Floats]) -> float:
        """Maximin value of a player: max over x of f' u with F' u <= A' x, E x = e, x >= 0."""
        payoff = self.payoff if player == 0 else -self.payoff.T.tocsr()
        x, u = payoff.shape[0], other[0].shape[0]
        solved = linprog(
            np.concatenate([np.zeros(x), -other[1]]),
            A_ub=hstack([-payoff.T, other[0].T]).tocsr(),
            b_ub=np.zeros(payoff.shape[1]),
            A_eq=hstack([own[0], csr_array((own[0].shape[0], u))]).tocsr(),
            b_eq=own[1],
            bounds=[(0, None)] * x + [(None, None)] * u,
            method="highs",
        )
        assert solved.status == 0, solved.message
        return -float(solved.fun)


@cache
def whole(game) -> Program:
    """The whole game."""
    return Program(tree_of(game), [(0, 0, 0)])


@cache
def below(game, limit: str, state: int) -> tuple[Program, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The program of the game below a public state at the limit, and the histories of each player there."""
    tree, (nodes, _), public = tree_of(game), border_of(game, limit), cut(game, limit).encoding.public
    number = [numbers(tree, nodes, player) for player in (0, 1)]
    starts = []
    for node in nodes:
        h = [number[player][int(tree.history[node, player])] for player in (0, 1)]
        states = [int(public[player][h[player]]) for player in (0, 1)]
        assert states[0] == states[1], "a node is in one public state"
        if states[0] == state:
            starts.append((node, h[0], h[1]))
    first, second = (np.unique([start[1 + player] for start in starts]) for player in (0, 1))
    return Program(tree, starts), (first, second)


def public_value(game, limit: str, state: int, weights: Pair) -> float:
    """Value of a public state to player 0 for these ranges, `float[H]` of each player, by linear programming."""
    program, own = below(game, limit, state)
    flows = [program.flow(p, {int(h): float(weights[p][h]) for h in own[p]}) for p in (0, 1)]
    return program.value(0, flows[0], flows[1])


def trunk_slots(game, limit: str, player: int) -> list[int]:
    """Slots of a player's infosets above the limit."""
    tree, (_, beyond) = tree_of(game), border_of(game, limit)
    above = {int(i) for i in tree.infoset[(tree.mover == player) & ~beyond]}
    return [s for s in range(tree.num_slots) if int(tree.slot_infoset[s]) in above]


def plan_of(tree: Tree, policy: Floats, player: int) -> dict[int, float]:
    """Product of a player's own probabilities up to each of his slots."""
    found: dict[int, float] = {}
    for infoset in np.flatnonzero(tree.player == player):  # parents first
        before = int(tree.parent_slot[infoset])
        for slot in range(tree.slots[infoset], tree.slots[infoset + 1]):
            found[slot] = (1.0 if before < 0 else found[before]) * float(policy[slot])
    return found


def trunk_exploitability(game, limit: str, policy: Floats) -> float:
    """Exploitability of a trunk, by linear programs that fix one player's trunk each."""
    tree, program, lost = tree_of(game), whole(game), 0.0
    for player in (0, 1):
        plan = plan_of(tree, policy, player)
        fixed = program.flow(player, {0: 1.0}, {slot: plan[slot] for slot in trunk_slots(game, limit, player)})
        lost -= program.value(player, fixed, program.flow(1 - player, {0: 1.0}))
    return lost / 2


def random_trunks(split: Split, batch: int, seed: int, pure: float = 0.1) -> tuple[Pair, list[Floats]]:
    """Random trunks by sequence, `[Q, K]`, and each of them by slot."""
    policies = random_policies(split, batch, np.random.default_rng(seed), pure)
    slots = [
        by_slot(split, [(p, own[:, k]) for p, own in zip(split.trunk.players, policies, strict=True)])
        for k in range(batch)
    ]
    return policies, slots
