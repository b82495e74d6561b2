"""The solution for a policy gradient on a game with a tree, by plain enumeration."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from envs.tree import Tree


def expected_returns(tree: Tree, policy: Tensor, player: int) -> Tensor:
    """Expected return of a player, differentiable in the policy `[S]` of both players: a sum over terminal nodes."""
    slots = torch.from_numpy(tree.node_slots().astype(np.int64))
    reach = [torch.ones((), dtype=torch.float64)]
    for node in range(1, tree.num_nodes):
        step = policy[slots[node]] if slots[node] >= 0 else torch.tensor(tree.probability[node])
        reach.append(reach[tree.parent[node]] * step)
    utility = torch.from_numpy(tree.utility if player == 0 else -tree.utility)
    return (torch.stack(reach) * utility).sum()


def action_values(tree: Tree, policy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected return of each action at its infoset to the player who moves there, `float64[S]`."""
    slots = tree.node_slots()
    reach = np.ones(tree.num_nodes)
    for node in range(1, tree.num_nodes):
        step = policy[slots[node]] if slots[node] >= 0 else tree.probability[node]
        reach[node] = reach[tree.parent[node]] * step
    value = tree.utility.copy()
    for node in range(tree.num_nodes - 1, 0, -1):
        step = policy[slots[node]] if slots[node] >= 0 else tree.probability[node]
        value[tree.parent[node]] += step * value[node]
    total, weight = np.zeros(tree.num_slots), np.zeros(len(tree.player))
    for node in range(tree.num_nodes):
        if slots[node] >= 0:
            above = tree.parent[node]
            sign = 1 if tree.mover[above] == 0 else -1
            total[slots[node]] += reach[above] * sign * value[node]
    for node in np.flatnonzero(tree.infoset >= 0):
        weight[tree.infoset[node]] += reach[node]
    return total / np.maximum(weight[tree.slot_infoset], 1e-300)


def logit_equilibrium(tree: Tree, temperature: float, steps: int = 20_000) -> NDArray[np.float64]:
    """The agent quantal-response equilibrium: pi(a) proportional to exp(Q(a) / temperature), `float64[S]`
    (McKelvey and Palfrey 1998), by damped iteration from the uniform policy."""
    policy = tree.uniform()
    for _ in range(steps):
        new = np.exp(action_values(tree, policy) / temperature)
        new /= np.add.reduceat(new, tree.slots[:-1])[tree.slot_infoset]
        if np.abs(new - policy).max() < 1e-10:
            return policy
        policy = 0.95 * policy + 0.05 * new
    raise AssertionError("no fixed point was found")
