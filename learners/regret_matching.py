"""Regret matching on advantages, and sampling of actions from policies; compiled, for a batch of infostates."""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import fast, kernel

_ZERO = np.float32(0)


@kernel
def _choose_greatest(advantages, legal, policy):
    """Writes probability 1 for the first legal action with the greatest advantage, and 0 for the others."""
    best = -1
    greatest = _ZERO
    for a in range(policy.shape[0]):
        advantage = advantages[a]
        policy[a] = 0
        if legal[a] and (best < 0 or advantage > greatest):
            best = a
            greatest = advantage
    if best >= 0:
        policy[best] = 1


@fast
def match_regrets(advantages, legal, policies):
    """Regret matching as in Deep CFR (paper 000, 4.5): the policy is proportional to the positive advantages. If there
    are none, the legal action with the greatest advantage gets probability 1.

    Args:
        advantages: Advantages by T nets at B infostates, `float32[T, B, A]`.
        legal: Legal actions, `bool[B, A]`.
        policies: Result, `float32[T, B, A]`; may be `advantages` itself.
    """
    for t in range(policies.shape[0]):
        for b in range(policies.shape[1]):
            total = _ZERO
            for a in range(policies.shape[2]):  # selections instead of branches: vectorised, ten times as fast
                total += max(advantages[t, b, a], _ZERO) if legal[b, a] else _ZERO
            if total > 0:
                for a in range(policies.shape[2]):  # 1 / total would overflow if total is tiny
                    policies[t, b, a] = max(advantages[t, b, a], _ZERO) / total if legal[b, a] else _ZERO
            else:
                _choose_greatest(advantages[t, b], legal[b], policies[t, b])


@kernel
def uniform_policy(legal, policy):
    """Writes the uniform policy over the legal actions into `policy`, `float32[B, A]`."""
    for b in range(policy.shape[0]):
        count = 0
        for a in range(policy.shape[1]):
            count += legal[b, a]
        for a in range(policy.shape[1]):
            policy[b, a] = np.float32(1) / np.float32(count) if legal[b, a] else np.float32(0)


@fast
def sample_actions(policy, legal, epsilon, draws, actions, probability):
    """Samples actions from xi = epsilon_b * uniform + (1 - epsilon_b) * policy.

    Args:
        policy: Policies, `float32[B, A]`.
        legal: Legal actions, `bool[B, A]`.
        epsilon: Exploration of the player to move in each game, `float32[B]`; 0 samples from the policy itself.
        draws: Uniform draws from [0, 1), `float32[B]`.
        actions: Result, `int64[B]`.
        probability: Result, xi of the sampled action, `float32[B]`.
    """
    count_of = policy.shape[1]
    xi = np.empty(count_of, np.float32)
    for b in range(policy.shape[0]):
        count = 0
        for a in range(count_of):
            count += legal[b, a]
        floor = epsilon[b] / np.float32(count)
        keep = np.float32(1) - epsilon[b]
        for a in range(count_of):
            xi[a] = floor + keep * policy[b, a] if legal[b, a] else _ZERO
        left = draws[b]
        chosen = 0
        for a in range(count_of):  # counts the actions below the draw; a branch on a random draw would be mispredicted
            left -= xi[a]
            chosen += left >= 0
        if chosen == count_of:  # the probabilities sum to less than 1 by rounding: take the last possible action
            chosen = -1
            for a in range(count_of):
                if xi[a] > 0:
                    chosen = a
        actions[b] = chosen
        probability[b] = xi[chosen]


def draw_actions(
    policy: NDArray[np.float32], legal: NDArray[np.bool_], draws: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Returns an action of each policy, `int64[B]`, and its probability, `float32[B]`; see `sample_actions`."""
    actions, probability = np.empty(len(policy), np.int64), np.empty(len(policy), np.float32)
    sample_actions(policy, legal, np.zeros(len(policy), np.float32), draws, actions, probability)
    return actions, probability


def apply_threshold(policy: NDArray[np.float32], threshold: float) -> NDArray[np.float32]:
    """Leaves out actions with less than this fraction of the highest probability, and renormalises, `float32[B, A]`.

    See Ganzfried, Sandholm and Waugh 2012.
    """
    if threshold == 0:
        return policy
    kept = np.where(policy >= np.float32(threshold) * policy.max(axis=1, keepdims=True), policy, _ZERO)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
