"""CFR written down plainly, node by node, to check the compiled solvers by; and trees to check them on."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER
from envs.leduc import Leduc
from envs.tree import Tree, assemble
from learners.cfr.sequence_form import SequenceForm, sequence_form
from tests.envs.small_trees import tree_of
from tests.games import TreeGame

Floats = NDArray[np.float64]

LEDUC_2B2R = Leduc(sizes="2,4/4,8", raises=3, deal="ranks", name="leduc_2b2r")


@cache
def form_of(game) -> SequenceForm:
    """Its sequence form, made once in a run of the tests."""
    return sequence_form(tree_of(game))


def tree_of_table(game: TreeGame) -> Tree:
    """The tree of a game given as a table, with a chance move before its roots."""
    count, roots = len(game.player), len(game.chance)
    above = np.full(count, -1)
    action = np.arange(count)
    for node in np.flatnonzero(game.player >= 0):
        for a in np.flatnonzero(game.children[node] >= 0):
            above[game.children[node, a]], action[game.children[node, a]] = node, a
    mover = np.concatenate([[CHANCE], np.where(game.player >= 0, game.player, OVER)])
    own = game.observation[np.arange(count), np.maximum(game.player, 0)].astype(np.int64)
    depth = np.zeros(count, np.int64)
    for node in range(roots, count):
        depth[node] = depth[above[node]] + 1
    nodes = {
        "mover": mover,
        "parent": np.concatenate([[-1], above + 1]),
        "action": np.concatenate([[-1], action]),
        "probability": np.concatenate([[1.0], game.chance, np.ones(count - roots)]),
        "utility": np.concatenate([[0.0], game.payoff * (game.player < 0)]),
    }
    keys = np.concatenate([[-1], np.where(game.player >= 0, own, -1)])
    observed = np.zeros((count + 1, 2), np.uint8)
    observed[1:] = own.astype("<u2").view(np.uint8).reshape(-1, 2)
    widths = [1, *np.bincount(depth).tolist()]
    return assemble(game.name, game.spec.num_actions, widths, nodes, keys, observed, started=0.0)


class PlainCfr:
    """CFR by recursion over histories, in Python: Zinkevich et al. 2007, and the variants of `VARIANTS`."""

    def __init__(
        self, tree: Tree, *, floor=False, alternating=False, alpha=np.inf, beta=np.inf, gamma=0.0, predictive=False
    ) -> None:
        self.tree, self.floor, self.alternating, self.predictive = tree, floor, alternating, predictive
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.regrets, self.averages = np.zeros(tree.num_slots), np.zeros(tree.num_slots)
        self.policy = tree.uniform()
        self.t = 0

    def iterate(self) -> None:
        self.t += 1
        for players in ((0,), (1,)) if self.alternating else ((0, 1),):
            gained, self.played = np.zeros(self.tree.num_slots), np.zeros(len(self.tree.player))
            self._walk(0, np.ones(3), gained)
            for player in players:
                self._update(player, gained)

    def _walk(self, node: int, reach: Floats, gained: Floats) -> float:
        """Value to player 0; `reach` is by player 0, player 1 and chance."""
        tree = self.tree
        if tree.mover[node] == OVER:
            return float(tree.utility[node])
        children = range(tree.children[node], tree.children[node + 1])
        mover = tree.mover[node]
        if mover == CHANCE:
            steps = [tree.probability[c] for c in children]
            part = [
                self._walk(c, reach * [1, 1, p], gained) if p else 0.0 for c, p in zip(children, steps, strict=True)
            ]
            return float(np.dot(steps, part))
        infoset = tree.infoset[node]
        slots = slice(tree.slots[infoset], tree.slots[infoset + 1])
        self.played[infoset] = reach[mover]
        steps = self.policy[slots]
        values = []
        for child, step in zip(children, steps, strict=True):
            after = reach.copy()
            after[mover] *= step
            values.append(self._walk(child, after, gained))
        value = float(np.dot(steps, values))
        sign = 1 if mover == 0 else -1
        gained[slots] += sign * reach[1 - mover] * reach[2] * (np.array(values) - value)
        return value

    def _update(self, player: int, gained: Floats) -> None:
        tree, t = self.tree, float(self.t)
        for infoset in np.flatnonzero(tree.player == player):
            slots = slice(tree.slots[infoset], tree.slots[infoset + 1])
            self.averages[slots] += t**self.gamma * self.played[infoset] * self.policy[slots]
            regrets = self.regrets[slots] + gained[slots]
            kept = [1.0 if np.isinf(p) else t**p / (t**p + 1) for p in (self.alpha, self.beta)]
            regrets = np.where(regrets > 1e-12 * tree.max_utility, kept[0] * regrets, kept[1] * regrets)
            self.regrets[slots] = np.where(regrets > 1e-12 * tree.max_utility, regrets, 0 if self.floor else regrets)
            expected = self.regrets[slots] + (gained[slots] if self.predictive else 0)
            positive = np.where(expected > 1e-12 * tree.max_utility, expected, 0)
            total = positive.sum()
            self.policy[slots] = positive / total if total > 0 else 1 / len(positive)

    def average(self) -> Floats:
        tree = self.tree
        sums = np.add.reduceat(self.averages, tree.slots[:-1])[tree.slot_infoset]
        return np.where(sums > 0, self.averages / np.where(sums > 0, sums, 1), tree.uniform())
