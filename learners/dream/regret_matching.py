"""From advantages to policies, and from policies to sampled actions; compiled, for a batch of infostates."""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel


@kernel
def match_regrets(advantages, legal, policies):
    """Regret matching as Deep CFR does it (paper 000, 4.5): proportional to the positive advantages; when there is
    none, the legal action with the greatest advantage gets probability 1.

    Args:
        advantages: Of T nets at B infostates, `float32[T, B, A]`.
        legal: `bool[B, A]`.
        policies: Result, `float32[T, B, A]`; may be `advantages` itself.
    """
    for t in range(policies.shape[0]):
        for b in range(policies.shape[1]):
            total = np.float32(0)
            best = -1
            greatest = np.float32(0)
            for a in range(policies.shape[2]):
                advantage = advantages[t, b, a]
                policies[t, b, a] = 0
                if legal[b, a]:
                    if best < 0 or advantage > greatest:
                        best = a
                        greatest = advantage
                    if advantage > 0:
                        policies[t, b, a] = advantage
                        total += advantage
            if total > 0:
                for a in range(policies.shape[2]):
                    policies[t, b, a] /= total  # 1 / total would overflow for the smallest
            elif best >= 0:
                policies[t, b, best] = 1


@kernel
def uniform_policy(legal, policy):
    """Equal probability for every legal action into `policy`, `float32[B, A]`."""
    for b in range(policy.shape[0]):
        count = 0
        for a in range(policy.shape[1]):
            count += legal[b, a]
        for a in range(policy.shape[1]):
            policy[b, a] = np.float32(1) / np.float32(count) if legal[b, a] else np.float32(0)


@kernel
def sample_actions(policy, legal, epsilon, draws, actions, probability):
    """Samples from xi = epsilon_b * uniform + (1 - epsilon_b) * policy.

    Args:
        policy: `float32[B, A]`.
        legal: `bool[B, A]`.
        epsilon: Exploration of the player to move in each game, `float32[B]`; 0 samples the policy itself.
        draws: Uniform numbers in [0, 1), `float32[B]`.
        actions: Result, `int64[B]`.
        probability: Result, xi of the sampled action, `float32[B]`.
    """
    for b in range(policy.shape[0]):
        count = 0
        for a in range(policy.shape[1]):
            count += legal[b, a]
        floor = epsilon[b] / np.float32(count)
        keep = np.float32(1) - epsilon[b]
        left = draws[b]
        chosen = -1
        for a in range(policy.shape[1]):
            if legal[b, a]:
                xi = floor + keep * policy[b, a]
                if xi > 0:  # rounding may leave a little at the end: it goes to the last possible action
                    chosen = a
                    left -= xi
                    if left < 0:
                        break
        actions[b] = chosen
        probability[b] = floor + keep * policy[b, chosen]


def expected_policy_value(policy: NDArray[np.float32], values: NDArray[np.float32]) -> NDArray[np.float32]:
    """sum_a pi(a) * value(a), `float32[B]`."""
    return np.einsum("ba,ba->b", policy, values)
