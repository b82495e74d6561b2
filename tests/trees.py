"""Exact values, reaches, advantages, averages and best responses of the games in `tests.games`, in float64.

A policy is `float64[infostates, A]`, a row for each infostate of the player who moves there. `N` nodes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from learners.networks.inference import Inference, action_values
from learners.networks.settings import NetworkSettings, Weights
from learners.regret_matching import match_regrets, uniform_policy
from tests.games import TreeGame, pack

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """Node by node measures of a game."""

    game: TreeGame

    @cached_property
    def decisions(self) -> NDArray[np.int64]:
        """Nodes where a player moves, parents first."""
        return np.flatnonzero(self.game.player >= 0)

    @cached_property
    def infostate(self) -> NDArray[np.int64]:
        """Infostate of the mover by node; -1 at the ends."""
        mover = self.game.player
        own = self.game.observation[np.arange(len(mover)), np.maximum(mover, 0)]
        return np.where(mover >= 0, own, -1)

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """Moves before each node."""
        depth = np.zeros(len(self.game.player), np.int64)
        for node in self.decisions:
            depth[self._children(node)] = depth[node] + 1
        return depth

    @property
    def legal(self) -> NDArray[np.bool_]:
        """By infostate."""
        return self.game.legal_at

    def _legal(self, node: int) -> NDArray[np.int64]:
        return np.flatnonzero(self.game.children[node] >= 0)

    def _children(self, node: int) -> NDArray[np.int32]:
        return self.game.children[node][self._legal(node)]

    def own(self, player: int) -> NDArray[np.int64]:
        """Infostates at which `player` moves."""
        return np.unique(self.infostate[self.game.player == player])

    def uniform(self) -> Floats:
        """Equal probabilities."""
        return self.legal / np.maximum(self.legal.sum(1, keepdims=True), 1)

    def random_policy(self, rng: np.random.Generator, zeros: float = 0.0) -> Floats:
        """Random probabilities, each 0 with probability `zeros` where another action is left."""
        weight = rng.exponential(size=self.legal.shape) * self.legal
        sparse = weight * (rng.random(weight.shape) >= zeros)
        weight = np.where(sparse.sum(1, keepdims=True) > 0, sparse, weight)
        return weight / np.maximum(weight.sum(1, keepdims=True), 1e-300)

    def values(self, policy: Floats) -> Floats:
        """Expected return of player 0 at every node, `[N]`."""
        value = self.game.payoff.astype(np.float64)
        for node in self.decisions[::-1]:
            legal = self._legal(node)
            value[node] = policy[self.infostate[node], legal] @ value[self.game.children[node, legal]]
        return value

    def action_values(self, policy: Floats) -> Floats:
        """Expected return of player 0 after each action, `[N, A]`; 0 where there is none."""
        value = self.values(policy)
        return np.where(self.game.children >= 0, value[self.game.children], 0.0)

    def reach(self, policies: dict[int, Floats], chance: bool = False) -> Floats:
        """Probability of every node by the players in `policies` alone, with that of chance or without, `[N]`."""
        reach = np.ones(len(self.game.player))
        if chance:
            reach[: len(self.game.chance)] = self.game.chance
        for node in self.decisions:
            legal, mover = self._legal(node), int(self.game.player[node])
            step = policies[mover][self.infostate[node], legal] if mover in policies else 1.0
            reach[self.game.children[node, legal]] = reach[node] * step
        return reach

    def history_advantages(self, policy: Floats, player: int) -> Floats:
        """v(h, a) - v(h) of `player` on legal actions, `[N, A]`."""
        sign = 1 if player == 0 else -1
        advantage = self.action_values(policy) - self.values(policy)[:, None]
        return np.where(self.game.children >= 0, sign * advantage, 0.0)

    def counterfactual_advantages(self, policy: Floats, player: int) -> Floats:
        """Immediate regrets (paper 000, eq. 1): sum over h in s of x_{-i}(h) * (v(h, a) - v(h)), by infostate."""
        weight = self.reach({1 - player: policy}, chance=True)
        result = np.zeros(self.legal.shape)
        mine = np.flatnonzero(self.game.player == player)
        advantage = self.history_advantages(policy, player)
        np.add.at(result, self.infostate[mine], weight[mine, None] * advantage[mine])
        return result

    def best_response_value(self, policy: Floats, player: int) -> float:
        """Return of `player` who answers best to the other's `policy`."""
        sign = 1.0 if player == 0 else -1.0
        weight = self.reach({1 - player: policy}, chance=True)
        value = sign * self.game.payoff.astype(np.float64)
        for depth in range(self.depth.max(), -1, -1):
            nodes = self.decisions[self.depth[self.decisions] == depth]
            total = np.where(self.legal, 0.0, -np.inf)
            mine = nodes[self.game.player[nodes] == player]
            for node in mine:
                total[self.infostate[node], self._legal(node)] += weight[node] * value[self._children(node)]
            best = total.argmax(1)
            for node in nodes:
                after = value[self._children(node)]
                if self.game.player[node] == player:
                    value[node] = value[self.game.children[node, best[self.infostate[node]]]]
                else:
                    value[node] = policy[self.infostate[node], self._legal(node)] @ after
        return float(self.game.chance @ value[: len(self.game.chance)])

    def nash_conv(self, policy: Floats) -> float:
        """The gain of both players together by answering best; 0 at an equilibrium."""
        return self.best_response_value(policy, 0) + self.best_response_value(policy, 1)

    def average(self, policies: list[Floats], weights: Floats, player: int) -> Floats:
        """Average policy of `player` (paper 000, eq. 4) with a weight for each iteration; uniform where not reached."""
        numerator = np.zeros(self.legal.shape)
        mine = np.flatnonzero(self.game.player == player)
        for policy, weight in zip(policies, weights, strict=True):
            own = np.zeros(len(numerator))
            own[self.infostate[mine]] = self.reach({player: policy})[mine]
            numerator += weight * own[:, None] * policy
        total = numerator.sum(1, keepdims=True)
        return np.where(total > 0, numerator / np.where(total > 0, total, 1), self.uniform())

    def merge(self, first: Floats, second: Floats) -> Floats:
        """Both players' policies in one table."""
        merged = self.uniform()
        for player, policy in enumerate((first, second)):
            merged[self.own(player)] = policy[self.own(player)]
        return merged

    def paths(self) -> list[list[tuple[int, int]]]:
        """Every way to the end as its (node, action) pairs."""
        open_paths: list[tuple[int, list[tuple[int, int]]]] = [(r, []) for r in range(len(self.game.chance))]
        closed = []
        while open_paths:
            node, path = open_paths.pop()
            if self.game.player[node] < 0:
                closed.append(path)
            for action in self._legal(node) if self.game.player[node] >= 0 else ():
                open_paths.append((int(self.game.children[node, action]), [*path, (node, int(action))]))
        return closed


def net_policy(tree: Tree, settings: NetworkSettings, weights: Weights | None) -> Floats:
    """The policy of a net at every infostate; None plays uniform."""
    game, legal = tree.game, tree.legal
    everywhere = pack(np.arange(game.infostates))
    policy = np.empty(legal.shape, np.float32)
    if weights is None:
        uniform_policy(legal, policy)
    else:
        outputs = Inference(settings, [weights])([game.encode(everywhere, settings.encoding)[None]])
        action_values(outputs, game.output_slots(everywhere, settings.outputs), legal, policy[None])
        match_regrets(policy[None], legal, policy[None])
    return policy.astype(np.float64)
