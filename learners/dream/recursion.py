"""Baseline-adjusted sampled values, backward over sampled games (paper 000, eqs. 5-7), and the advantages of history
values (ESCHER), compiled.

Rows are the decisions of many games in the order in which they were made, so decisions of different games alternate.
Values are those of the traverser, but the baseline's are those of the acting player, hence the signs.
"""

import numpy as np

from envs.compiled import fast, kernel


@fast
def sampled_advantages(
    game, actor, action, probability, policy, legal, baseline, traverser, returns, ratio_bound, inverse_bound, advantage
):
    """Computes the sampled immediate advantages u(h, a) - v(h) at every decision of the traverser.

    With Q the baseline and a the sampled action, u(h, a) = Q(h, a) + c * (v(h') - Q(h, a)), c = 1 / xi(a), and
    u(h, b) = Q(h, b) otherwise; v(h) = sum_b pi(b) Q(h, b) + rho * (v(h') - Q(h, a)), rho = pi(a) / xi(a);
    v(z) is the return. `ratio_bound` truncates rho, as Retrace does (Munos et al. 2016, eq. 4), and `inverse_bound`
    truncates c. Both bound the variance at the cost of a bias; with infinity the estimates are unbiased.

    Args:
        game: Game of each row, `int32[N]`.
        actor: Player who acted, `int8[N]`.
        action: Sampled action, `int64[N]`.
        probability: xi of that action, `float32[N]`.
        policy: pi of the actor, `float32[N, A]`.
        legal: Legal actions, `bool[N, A]`.
        baseline: Q of the actor for each action, `float32[N, A]`.
        traverser: Player whose values are sampled. With more than two players the baseline must be 0.
        returns: Return of the traverser in each game, `float32[games]`; overwritten.
        ratio_bound: Bound on rho.
        inverse_bound: Bound on c.
        advantage: Result, `float32[N, A]`; only rows of the traverser are written.
    """
    for i in range(game.shape[0] - 1, -1, -1):
        sign = np.float32(1) if actor[i] == traverser else np.float32(-1)
        following = returns[game[i]]
        expected = np.float32(0)
        for a in range(policy.shape[1]):
            expected += policy[i, a] * baseline[i, a] if legal[i, a] else np.float32(0)
        chosen = action[i]
        sampled = sign * baseline[i, chosen]
        error = following - sampled
        inverse = np.float32(1) / probability[i]
        rho = min(policy[i, chosen] * inverse, ratio_bound)
        value = sign * expected + rho * error
        if actor[i] == traverser:
            for a in range(policy.shape[1]):
                advantage[i, a] = baseline[i, a] - value if legal[i, a] else np.float32(0)
            advantage[i, chosen] = sampled + min(inverse, inverse_bound) * error - value
        returns[game[i]] = value


@fast
def history_advantages(actor, policy, legal, baseline, traverser, advantage):
    """Computes Q(h, a) - sum_b pi(b) Q(h, b) at every decision of the traverser (McAleer et al. 2023, eq. 6).

    The sampled actions and returns do not enter, so there are no importance weights. If Q is exact, the sum over the
    sampled histories of an infostate has the mean x(s) * r(s, a), where r is the immediate counterfactual regret and x
    the traverser's own sampling reach; a sampling policy that never changes makes x a constant, which regret matching
    ignores.

    Args:
        actor, policy, legal, baseline, traverser, advantage: See `sampled_advantages`.
    """
    for i in range(actor.shape[0]):
        if actor[i] == traverser:
            expected = np.float32(0)
            for a in range(policy.shape[1]):
                expected += policy[i, a] * baseline[i, a] if legal[i, a] else np.float32(0)
            for a in range(policy.shape[1]):
                advantage[i, a] = baseline[i, a] - expected if legal[i, a] else np.float32(0)


@kernel
def link_rows(game, games, following):
    """Writes the row of the next decision in the same game into `following`, `int64[N]`; -1 for the last one."""
    latest = np.full(games, -1, np.int64)
    for i in range(game.shape[0] - 1, -1, -1):
        following[i] = latest[game[i]]
        latest[game[i]] = i
