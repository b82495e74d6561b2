"""Vector CFR, compiled: one iteration of CFR (Zinkevich et al. 2007), CFR+ (Tammelin 2014), Linear or Discounted CFR
(Brown and Sandholm 2019), or of their predictive relatives (Farina et al. 2021, Xu et al. 2024), on the sequence form,
for one game or for a batch of games that differ in their ranges only.

Everything is an array over a player's sequences, see `learners.cfr.treeplex`. With `x` and `y` the realization plans
of the players and `A` the payoffs of player 0, an iteration does for player 0

    v = A y                        games that end right after each sequence, weighted by chance and the opponent
    v(parent of I) += sum_a policy(I, a) v(I, a)        counterfactual values, from the last infosets to the first
    R(I, a) += v(I, a) - sum_b policy(I, b) v(I, b)     regrets
    policy(I, a) = max(R(I, a), 0) / sum_b max(R(I, b), 0)        regret matching
    average += t^gamma x;  x(I, a) = x(parent of I) policy(I, a)  the average, and the plan of the new policy

and for player 1 the same with -A^T and x.

Example: Kuhn poker, player 0, whose infosets in order are his cards J, Q, K at the start, with sequences pass and bet,
and the same cards after pass and bet, with sequences fold and call. So J = 6, Q = 13, one root (sequence 0), and the
parent of each of the last three infosets is a pass:

    infoset         J     Q     K     J pb   Q pb   K pb
    begin           1     3     5     7      9      11    (13)
    parent          0     0     0     1      3      5

In iteration 1 player 1 plays every action with probability 1/2. After sequence 2, the bet with a jack, the opponent has
one of two cards, each with a probability of chance of 1/6, and folds (return 1) or calls (return -2) with probability
1/2 each: v(2) = 2 (1/6) (1/2 - 1) = -1/6. In the same way v(1) = -1/6 (pass, pass), v(7) = -1/6 (fold)
and v(8) = -1/3 (call). The kernel then backs up: infoset "J pb" is worth (-1/6 - 1/3) / 2 = -1/4, its regrets are
1/12 and -1/12, so that its next policy is to fold, and v(1) becomes -1/6 - 1/4 = -5/12. Infoset "J" is worth
(-5/12 - 1/6) / 2 = -7/24, its regrets are -1/8 and 1/8, so that the next policy is to bet. The plan of the new policy
is 0 at sequence 1, hence at 7 and 8, and 1 at sequence 2.

Arrays by sequence have shape `[Q]` for one game and `[Q, K]` for a batch of `K`. Kernels in two forms, `..._one` and
`..._batch`, are chosen at compile time: a batch adds up `K` sums side by side in memory, where a single game keeps its
only sum in a register. With the form for batches a single game took 5 times as long (90 instead of 16 microseconds for
an iteration of CFR+ on Leduc hold'em, 740 instead of 150 on leduc_2b2r).

Indices of single games are unsigned: for signed ones compiled code tests at every access whether they count from the
end, which takes as long as everything else.
"""

import numpy as np

from envs.compiled import kernel


@kernel
def _multiply_one(payoffs, plan, out):
    for row in range(payoffs.indptr.shape[0] - 1):
        total = plan.dtype.type(0.0)
        for k in range(payoffs.indptr[row], payoffs.indptr[row + 1]):
            total += payoffs.data[k] * plan[payoffs.indices[k]]
        out[row] = total


@kernel
def _multiply_batch(payoffs, plan, out):
    batch = plan.shape[1]
    for row in range(payoffs.indptr.shape[0] - 1):
        for c in range(batch):
            out[row, c] = plan.dtype.type(0.0)
        for k in range(payoffs.indptr[row], payoffs.indptr[row + 1]):
            payoff, column = payoffs.data[k], payoffs.indices[k]
            for c in range(batch):
                out[row, c] += payoff * plan[column, c]


@kernel
def multiply(payoffs, plan, out):
    """Writes the product of a player's payoffs and the opponent's plan into `out`, `[Q]` or `[Q, K]`."""
    if plan.ndim == 1:
        _multiply_one(payoffs, plan, out)
    else:
        _multiply_batch(payoffs, plan, out)


@kernel
def _update_regrets_one(treeplex, values, regrets, policy, floor, noise, ahead):
    infosets = treeplex.parent.shape[0]
    for i in range(infosets):
        j = np.uint64(infosets - 1 - i)
        first, end = treeplex.begin[j], treeplex.begin[j + np.uint64(1)]
        # The value of the infoset, which is added to the value of its parent.
        value = values.dtype.type(0.0)
        for q in range(first, end):
            value += policy[q] * values[q]
        values[treeplex.parent[j]] += value
        # Regrets; a selection instead of a branch, since which regrets are positive cannot be predicted.
        total = values.dtype.type(0.0)
        for q in range(first, end):
            gained = values[q] - value
            regret = regrets[q] + gained
            if floor:
                regret = regret if regret > noise else values.dtype.type(0.0)
            regrets[q] = regret
            expected = regret + ahead * gained
            positive = expected if expected > noise else values.dtype.type(0.0)
            total += positive
            policy[q] = positive
        # Regret matching: proportional to the positive regrets, uniform if there are none.
        scale = 1.0 / total if total > 0 else 0.0
        rest = 0.0 if total > 0 else 1.0 / (end - first)
        for q in range(first, end):
            policy[q] = policy[q] * scale + rest


@kernel
def _update_regrets_batch(treeplex, values, regrets, policy, floor, noise, ahead):
    zero, one, ahead = values.dtype.type(0.0), values.dtype.type(1.0), values.dtype.type(ahead)
    limit = values.dtype.type(noise)
    batch = values.shape[1]
    value = np.empty(batch, values.dtype)
    total = np.empty(batch, values.dtype)
    infosets = treeplex.parent.shape[0]
    for i in range(infosets):
        j = infosets - 1 - i
        first, end, parent = treeplex.begin[j], treeplex.begin[j + 1], treeplex.parent[j]
        # The value of the infoset in each game of the batch, which is added to the value of its parent.
        for c in range(batch):
            value[c] = zero
            total[c] = zero
        for q in range(first, end):
            for c in range(batch):
                value[c] += policy[q, c] * values[q, c]
        for c in range(batch):
            values[parent, c] += value[c]
        # Regrets.
        for q in range(first, end):
            for c in range(batch):
                gained = values[q, c] - value[c]
                regret = regrets[q, c] + gained
                if floor:
                    regret = regret if regret > limit else zero
                regrets[q, c] = regret
                expected = regret + ahead * gained
                positive = expected if expected > limit else zero
                total[c] += positive
                policy[q, c] = positive
        # Regret matching: `total` becomes the factor, `value` the probability where no regret is positive.
        even = 1.0 / (end - first)
        for c in range(batch):
            value[c] = zero if total[c] > 0 else even
            total[c] = one / total[c] if total[c] > 0 else zero
        for q in range(first, end):
            for c in range(batch):
                policy[q, c] = policy[q, c] * total[c] + value[c]


@kernel
def update_regrets(treeplex, values, regrets, policy, floor, noise, ahead):
    """Computes counterfactual values from the last infosets to the first, regrets, and the next policy.

    Args:
        treeplex: The player's decisions.
        values: Value of the games that end right after each sequence, `[Q]` or `[Q, K]`; becomes the counterfactual
            value.
        regrets: Sums of regrets, of the same shape; updated.
        policy: The current policy, of the same shape; replaced by the next one.
        floor, noise: See `Rule`.
        ahead: How often the regrets of this iteration are expected to come again: the next policy matches the sums and
            that many times these; 0 predicts nothing.
    """
    if values.ndim == 1:
        _update_regrets_one(treeplex, values, regrets, policy, floor, noise, ahead)
    else:
        _update_regrets_batch(treeplex, values, regrets, policy, floor, noise, ahead)


@kernel
def discount(regrets, positive, negative, noise):
    """Multiplies regrets above `noise` by `positive` and the others by `negative`."""
    flat = regrets.reshape(-1)
    for q in range(flat.shape[0]):
        flat[q] *= positive if flat[q] > noise else negative


@kernel
def _update_plans_one(treeplex, policy, plan, average, weight):
    for j in range(treeplex.parent.shape[0]):
        above = plan[treeplex.parent[j]]
        for q in range(treeplex.begin[j], treeplex.begin[j + 1]):
            average[q] += weight * plan[q]
            plan[q] = above * policy[q]


@kernel
def _update_plans_batch(treeplex, policy, plan, reach, average, weight):
    weight = plan.dtype.type(weight)
    batch = plan.shape[1]
    for j in range(treeplex.parent.shape[0]):
        parent = treeplex.parent[j]
        for q in range(treeplex.begin[j], treeplex.begin[j + 1]):
            for c in range(batch):
                average[q, c] += weight * plan[q, c]
                plan[q, c] = plan[parent, c] * policy[q, c]
                reach[q, c] = reach[parent, c] * policy[q, c]


@kernel
def update_plans(treeplex, policy, plan, reach, average, weight):
    """Adds `weight` times the plan to its average, then makes the plans of the next policy.

    Args:
        treeplex: The player's decisions.
        policy: The next policy, `[Q]` or `[Q, K]`.
        plan, reach, average: See `learners.cfr.state.PlayerState`; updated. In a single game `reach` is `plan`.
        weight: Weight of the plan in the average.
    """
    if plan.ndim == 1:
        _update_plans_one(treeplex, policy, plan, average, weight)
    else:
        _update_plans_batch(treeplex, policy, plan, reach, average, weight)


@kernel
def update_player(state, rule, t):
    """Runs the part of iteration `t`, from 1, that follows the product: regrets, policy, average and plans of a player.

    Args:
        state: The player's state; its `values` are those of the games that end right after each sequence.
        rule: The method.
        t: Number of the iteration.
    """
    positive = 1.0 if np.isinf(rule.alpha) else t**rule.alpha / (t**rule.alpha + 1.0)
    negative = 1.0 if np.isinf(rule.beta) else t**rule.beta / (t**rule.beta + 1.0)
    # Sums are discounted before the prediction is added to them, which is the same as a larger prediction beside them.
    ahead = 1.0 / positive if rule.predictive else 0.0
    update_regrets(state.treeplex, state.values, state.regrets, state.policy, rule.floor, rule.noise, ahead)
    if not (np.isinf(rule.alpha) and np.isinf(rule.beta)):
        discount(state.regrets, positive, negative, rule.noise)
    weight = float(t) ** rule.gamma
    update_plans(state.treeplex, state.policy, state.plan, state.reach, state.average, weight)


@kernel
def iterate(first, second, rule, done, iterations):
    """Runs iterations `done` + 1 to `done` + `iterations`.

    Args:
        first, second: States of player 0 and of player 1, `PlayerState`; updated.
        rule: The method, `Rule`.
        done: Number of previous iterations.
        iterations: Number of iterations to run.
    """
    for t in range(done + 1, done + iterations + 1):
        multiply(first.payoffs, second.reach, first.values)
        if not rule.alternating:
            multiply(second.payoffs, first.reach, second.values)
        update_player(first, rule, t)
        if rule.alternating:
            multiply(second.payoffs, first.reach, second.values)
        update_player(second, rule, t)


@kernel
def make_plan(treeplex, policy, roots, plan):
    """Computes the realization plan of a policy.

    Args:
        treeplex: The player's decisions.
        policy: Probability of each sequence at its infoset, `[Q, K]`.
        roots: Reach probability of the roots, `[R, K]`.
        plan: Result, `[Q, K]`; may be `policy` itself.
    """
    plan[: treeplex.begin[0]] = roots
    for j in range(treeplex.parent.shape[0]):
        parent = treeplex.parent[j]
        for q in range(treeplex.begin[j], treeplex.begin[j + 1]):
            for c in range(plan.shape[1]):
                plan[q, c] = plan[parent, c] * policy[q, c]


@kernel
def normalise(treeplex, weights, policy):
    """Computes the policy proportional to weights at each infoset, such as the average of the plans.

    Args:
        treeplex: The player's decisions.
        weights: Not negative, `[Q, K]`.
        policy: Result, `[Q, K]`; uniform where the weights of an infoset sum to 0, and 1 for roots.
    """
    policy[: treeplex.begin[0]] = 1.0
    for j in range(treeplex.parent.shape[0]):
        first, end = treeplex.begin[j], treeplex.begin[j + 1]
        for c in range(weights.shape[1]):
            total = weights.dtype.type(0.0)
            for q in range(first, end):
                total += weights[q, c]
            for q in range(first, end):
                policy[q, c] = weights[q, c] / total if total > 0 else 1.0 / (end - first)


@kernel
def back_up(treeplex, policy, values):
    """Computes the counterfactual values of a policy, from the last infosets to the first.

    Args:
        treeplex: The player's decisions.
        policy: The player's policy, `[Q, K]`.
        values: Value of the games that end right after each sequence, `[Q, K]`; becomes the counterfactual value.
    """
    infosets = treeplex.parent.shape[0]
    for i in range(infosets):
        j = infosets - 1 - i
        for c in range(values.shape[1]):
            value = values.dtype.type(0.0)
            for q in range(treeplex.begin[j], treeplex.begin[j + 1]):
                value += policy[q, c] * values[q, c]
            values[treeplex.parent[j], c] += value


@kernel
def respond(treeplex, values, policy):
    """Computes a best response, from the last infosets to the first.

    Args:
        treeplex: The player's decisions.
        values: Value of the games that end right after each sequence, `[Q, K]`; becomes that of the best continuation.
        policy: Result, `[Q, K]`: 1 for the first best action of each infoset and for roots, else 0.
    """
    policy[: treeplex.begin[0]] = 1.0
    infosets = treeplex.parent.shape[0]
    for i in range(infosets):
        j = infosets - 1 - i
        first, end = treeplex.begin[j], treeplex.begin[j + 1]
        for c in range(values.shape[1]):
            best = first
            for q in range(first, end):
                policy[q, c] = 0.0
                if values[q, c] > values[best, c]:
                    best = q
            policy[best, c] = 1.0
            values[treeplex.parent[j], c] += values[best, c]


__all__ = [
    "back_up",
    "discount",
    "iterate",
    "make_plan",
    "multiply",
    "normalise",
    "respond",
    "update_plans",
    "update_player",
    "update_regrets",
]
