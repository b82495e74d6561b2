"""What a responder can reach against an opponent that is in one of two worlds, as plane geometry; compiled.

A way of playing brings a return in either world, a point (a, b). What matters of all ways are those that are best for
some probabilities of the worlds: the upper right part of the convex hull. It is kept as a chain of corners with a
rising, b falling and the slope between them falling: a *frontier*, an array `[n, 2]`, n >= 1.
"""

import numpy as np

from envs.compiled import kernel

FLAT = 1e-13
"""A corner that stands out from its neighbours by less is left out."""


@kernel
def push(chain, n, a, b):
    """Adds a point to the right of a chain of n corners and drops those that are none any more; the new n."""
    while n > 0 and chain[n - 1, 1] <= b:
        n -= 1
    if n > 0 and chain[n - 1, 0] >= a:
        return n
    while n > 1:
        right, down = a - chain[n - 2, 0], b - chain[n - 2, 1]
        x, y = chain[n - 1, 0] - chain[n - 2, 0], chain[n - 1, 1] - chain[n - 2, 1]
        if right * y - down * x > FLAT * np.sqrt(right * right + down * down):
            break
        n -= 1
    chain[n, 0] = a
    chain[n, 1] = b
    return n + 1


@kernel
def thin(chain, n, tolerance):
    """Leaves out corners of a chain of n that are not further than `tolerance` from what is left; the new n.

    From a corner that stays, the next one to stay is the last for which all between are near the straight line. Since
    the chain bends one way, the corner furthest from that line moves on as the line's end does.
    """
    kept, anchor, furthest = 1, 0, 1
    for end in range(2, n):
        right, down = chain[end, 0] - chain[anchor, 0], chain[end, 1] - chain[anchor, 1]
        furthest = max(furthest, anchor + 1)
        height = _above(chain, anchor, furthest, right, down)
        while furthest + 1 < end:
            following = _above(chain, anchor, furthest + 1, right, down)
            if following < height:
                break
            furthest += 1
            height = following
        if height > tolerance * np.sqrt(right * right + down * down):
            anchor = end - 1
            chain[kept, 0], chain[kept, 1] = chain[anchor, 0], chain[anchor, 1]
            kept += 1
            furthest = end
    if n > 1:
        chain[kept, 0], chain[kept, 1] = chain[n - 1, 0], chain[n - 1, 1]
        kept += 1
    return kept


@kernel
def _above(chain, anchor, k, right, down):
    """How far corner k lies above the line from `anchor` on along (right, down), times the length of that."""
    return right * (chain[k, 1] - chain[anchor, 1]) - down * (chain[k, 0] - chain[anchor, 0])


@kernel
def frontier_of(points, count, chain):
    """The frontier of `count` points; its length. Chain must have room for all of them."""
    order = np.argsort(points[:count, 0])
    n = 0
    for k in order:
        n = push(chain, n, points[k, 0], points[k, 1])
    return n


@kernel
def add_scaled(child, p, q, start, edges, count):
    """Adds one summand of a Minkowski sum, the frontier `child` with a scaled by `p` and b by `q`.

    Args:
        start: The leftmost corner of the sum, `[2]`; changed.
        edges: Steps from corner to corner of all summands, `[.., 2]`, of which there are `count`.

    Returns:
        The new count.
    """
    last = len(child) - 1
    if p == 0.0 or q == 0.0:  # the chain shrinks to its best point
        start[0] += p * child[last, 0]
        start[1] += q * child[0, 1]
        return count
    start[0] += p * child[0, 0]
    start[1] += q * child[0, 1]
    for k in range(last):
        edges[count, 0] = p * (child[k + 1, 0] - child[k, 0])
        edges[count, 1] = q * (child[k + 1, 1] - child[k, 1])
        count += 1
    return count


@kernel
def sum_of(start, edges, count, chain):
    """The frontier from a leftmost corner and the steps of all summands: the flattest come first. Its length."""
    chain[0, 0], chain[0, 1] = start
    n = 1
    steepness = np.empty(count)
    for k in range(count):
        steepness[k] = -edges[k, 1] / edges[k, 0]
    a, b = start[0], start[1]
    for k in np.argsort(steepness):
        a += edges[k, 0]
        b += edges[k, 1]
        n = push(chain, n, a, b)
    return n
