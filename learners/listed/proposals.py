"""Policies over the proposals of a Q-net: of each list of choices, those with the highest logits.

`B` lists with `N` choices in all, `K` proposals at most.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import fast


@fast
def propose(offsets, logits, proposals, count):
    """Lists the choices of the highest logits, the highest first; of equals, the first.

    Args:
        offsets: The choices of list b are ``offsets[b]`` to ``offsets[b + 1]`` - 1, `int64[B + 1]`.
        logits: `float32[N]`.
        proposals: Result, rows of the choices, `int64[B, K]`; what follows the proposals is set to the first of them.
        count: Result, number of proposals of each list, `int64[B]`.
    """
    most = proposals.shape[1]
    for b in range(proposals.shape[0]):
        held = 0
        for n in range(offsets[b], offsets[b + 1]):
            at = held
            while at > 0 and logits[n] > logits[proposals[b, at - 1]]:
                at -= 1
            if at == most:
                continue
            for i in range(min(held, most - 1), at, -1):
                proposals[b, i] = proposals[b, i - 1]
            proposals[b, at] = n
            held = min(held + 1, most)
        count[b] = held
        for i in range(held, most):
            proposals[b, i] = proposals[b, 0]


@fast
def draw(logits, count, u, drawn, log_probability):
    """Draws one proposal of each list by the softmax of the logits.

    Args:
        logits: Logits of the proposals, the highest first, `float32[B, K]`.
        count: Number of proposals of each list, at least 1, `int64[B]`.
        u: A uniform draw from [0, 1) for each list, `float64[B]`.
        drawn: Result, `int64[B]`.
        log_probability: Result, that of the drawn proposal, `float32[B]`.
    """
    for b in range(logits.shape[0]):
        total = 0.0
        for i in range(count[b]):
            total += np.exp(np.float64(logits[b, i] - logits[b, 0]))
        left, chosen = u[b] * total, count[b] - 1
        for i in range(count[b]):
            left -= np.exp(np.float64(logits[b, i] - logits[b, 0]))
            if left < 0:
                chosen = i
                break
        drawn[b] = chosen
        log_probability[b] = np.float64(logits[b, chosen] - logits[b, 0]) - np.log(total)


def propose_and_draw(
    offsets: NDArray[np.int64], logits: NDArray[np.float32], most: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Draws a choice of each list by the policy over its proposals.

    Args:
        offsets: See `propose`; no list is empty.
        logits: Logits of all choices, `float32[N]`.
        most: K.
        rng: Source of the draws.

    Returns:
        The proposals and their number, see `propose`; which of them was drawn, `int64[B]`; and the logarithm of its
        probability, `float32[B]`.
    """
    lists = len(offsets) - 1
    proposals, count = np.empty((lists, most), np.int64), np.empty(lists, np.int64)
    propose(offsets, logits, proposals, count)
    drawn, log_probability = np.empty(lists, np.int64), np.empty(lists, np.float32)
    draw(logits[proposals], count, rng.random(lists), drawn, log_probability)
    return proposals, count, drawn, log_probability
