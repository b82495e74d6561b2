"""Vector-form CFR on the sequence form, compiled: CFR (Zinkevich et al. 2007), CFR+ (Tammelin 2014), Linear and
Discounted CFR (Brown and Sandholm 2019) are one iteration with different weights.

Indices are unsigned: for signed ones compiled code looks at every access whether it counts from the end, which takes
as long as all else here.
"""

import numpy as np

from envs.compiled import kernel


@kernel
def multiply(indptr, indices, data, plan, sign, out):
    """`out` = `sign` * matrix * `plan`, for a sparse matrix by rows."""
    for row in range(indptr.shape[0] - 1):
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * plan[indices[k]]
        out[row] = sign * total


@kernel
def update_regrets(parent, begin, values, regrets, policy, floor, keep_positive, keep_negative, noise):
    """Counterfactual values from the ends up, regrets, and the next policy by regret matching.

    At each infoset v = sum_a sigma(a) v(a), R(a) += v(a) - v, and v adds to the value of the parent's sequence.

    Args:
        parent, begin: See `Treeplex`.
        values: What ends right after each sequence is worth, `float64[Q]`; becomes the counterfactual value.
        regrets: `float64[Q]`, updated.
        policy: Probability of each action in its infoset, `float64[Q]`; replaced by the next one.
        floor: Whether negative regrets become 0 (regret matching+).
        keep_positive, keep_negative: Factors by which regrets are discounted afterwards.
        noise: Regrets up to this count as 0: where actions tie, what rounding leaves of their regrets is no reason to
            prefer one, yet regret matching would make a policy of it.
    """
    infosets = parent.shape[0]
    for i in range(infosets):
        j = np.uint64(infosets - 1 - i)
        first, end = begin[j], begin[j + np.uint64(1)]
        value = 0.0
        for q in range(first, end):
            value += policy[q] * values[q]
        values[parent[j]] += value
        total = 0.0
        for q in range(first, end):  # without a branch: which regrets are positive cannot be foreseen
            regret = regrets[q] + (values[q] - value)
            positive = regret if regret > noise else 0.0
            total += positive
            regrets[q] = positive * keep_positive if floor or regret > noise else regret * keep_negative
            policy[q] = positive
        scale = 1.0 / total if total > 0 else 0.0
        rest = 0.0 if total > 0 else 1.0 / (end - first)
        for q in range(first, end):
            policy[q] = policy[q] * scale + rest


@kernel
def update_plan(parent, begin, policy, plan, averages, weight):
    """Adds `weight` times the plan to its average, then makes the plan of the next policy."""
    for j in range(parent.shape[0]):
        reach = plan[parent[j]]
        for q in range(begin[j], begin[j + 1]):
            averages[q] += weight * plan[q]
            plan[q] = reach * policy[q]


@kernel
def iterate(
    payoff,
    transposed,
    first,
    second,
    regrets,
    policies,
    plans,
    averages,
    values,
    done,
    iterations,
    alternating,
    floor,
    alpha,
    beta,
    gamma,
    noise,
):
    """Iterations `done` + 1 to `done` + `iterations`.

    Args:
        payoff, transposed: `(indptr, indices, data)` of the payoffs, by sequences of player 0 and of player 1.
        first, second: `(parent, begin)` of each player.
        regrets, policies, plans, averages, values: `float64[Q]` of each player, pairs.
        done: Iterations before.
        iterations: How many.
        alternating: Player 1 answers the new plan of player 0, not the old one.
        floor: Regret matching+.
        alpha, beta: Positive regrets are discounted by t^alpha / (t^alpha + 1), negative ones by beta; infinity
            leaves them whole.
        gamma: Iteration t weighs t^gamma in the average.
        noise: See `update_regrets`.
    """
    for t in range(done + 1, done + iterations + 1):
        keep_positive = 1.0 if np.isinf(alpha) else t**alpha / (t**alpha + 1.0)
        keep_negative = 1.0 if np.isinf(beta) else t**beta / (t**beta + 1.0)
        weight = float(t) ** gamma
        multiply(payoff[0], payoff[1], payoff[2], plans[1], 1.0, values[0])
        if not alternating:
            multiply(transposed[0], transposed[1], transposed[2], plans[0], -1.0, values[1])
        update_regrets(
            first[0], first[1], values[0], regrets[0], policies[0], floor, keep_positive, keep_negative, noise
        )
        update_plan(first[0], first[1], policies[0], plans[0], averages[0], weight)
        if alternating:
            multiply(transposed[0], transposed[1], transposed[2], plans[0], -1.0, values[1])
        update_regrets(
            second[0], second[1], values[1], regrets[1], policies[1], floor, keep_positive, keep_negative, noise
        )
        update_plan(second[0], second[1], policies[1], plans[1], averages[1], weight)
