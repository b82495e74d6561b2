"""Compiled functions that copy the rows of a traversal into the records that learners train on."""

import numpy as np

from envs.compiled import fast, kernel


@fast
def write_advantages(rows, infostates, advantage, legal, log_weight, iteration, clip, samples):
    """Writes the traverser's decisions as records of `learners.samples.advantage_dtype`.

    Args:
        rows: Indices of the rows that become samples, `int64[n]`.
        infostates: Packed infostates, the acting player's view first, `uint8[N, views, P]`.
        advantage: Sampled advantages, `float32[N, A]`.
        legal: Legal actions as bits, `uint8[n, bytes]`.
        log_weight: Logarithms of the sample weights, `float32[N]`.
        iteration: Iteration t of linear CFR.
        clip: Bound on the absolute values of the advantages.
        samples: Result, `[n]` records.

    Returns:
        Sum of the squared advantages.
    """
    squares = np.float64(0)
    for k in range(samples.shape[0]):
        sample = samples[k]
        i = rows[k]
        square = np.float32(0)
        for j in range(infostates.shape[2]):
            sample.infostate[j] = infostates[i, 0, j]
        for a in range(advantage.shape[1]):
            value = min(max(advantage[i, a], -clip), clip)
            sample.advantage[a] = value
            square += value * value
        for j in range(legal.shape[1]):
            sample.legal[j] = legal[k, j]
        sample.iteration = iteration
        sample.log_weight = log_weight[i]
        squares += square
    return squares


@kernel
def write_transitions(game, actor, action, policy, infostates, following, returns, samples):
    """Writes every decision as a record of `learners.samples.transition_dtype`.

    Args:
        game: Game of each row, `int32[N]`.
        actor: Player who acted, `int8[N]`.
        action: Action taken, `int64[N]`.
        policy: Policy of that player, `float32[N, A]`.
        infostates: Packed infostates, the acting player's view first, `uint8[N, 2, P]`.
        following: Row of the next decision in the same game, `int64[N]`; -1 for the last one.
        returns: Returns of the players, `float32[games, 2]`.
        samples: Result, `[N]` records.
    """
    for i in range(samples.shape[0]):
        sample = samples[i]
        last = following[i] < 0
        n = 0 if last else following[i]  # the next infostate of a last decision is not used
        sample.reward = returns[game[i], actor[i]] if last else 0
        sample.action = action[i]
        sample.next_sign = 0 if last else (1 if actor[n] == actor[i] else -1)
        for view in range(2):
            for j in range(infostates.shape[2]):
                sample.infostates[view, j] = infostates[i, view, j]
                sample.next_infostates[view, j] = infostates[n, view, j]
        for a in range(policy.shape[1]):
            sample.next_policy[a] = policy[n, a]
