"""Frontiers: the returns that a responder can reach against an opponent that is in one of two worlds, compiled.

A strategy of the responder has a return in either world, a point (a, b). Only the strategies that are best for some
probabilities of the worlds matter: the upper right part of the convex hull of all points. A *frontier* is the chain of
its corners, `float64[n, 2]` with n >= 1, in which a rises, b falls, and the slope between corners falls.

Example: the points (0, 2), (1, 1.5), (1, 0), (2, 0) and (0.5, 1) have the frontier [(0, 2), (1, 1.5), (2, 0)], with
slopes -0.5 and -1.5. The point (1, 0) is worse than (1, 1.5) in world 1, and (0.5, 1) lies below the chain.
"""

import numpy as np

from envs.compiled import kernel

FLAT = 1e-13
"""Corners that stand out from their neighbours by less than this are dropped."""


@kernel
def push(chain, n, a, b):
    """Adds a point at the right end of a chain of n corners and drops useless corners; returns the new n."""
    # Drop corners that are not better in world 1 than the new point, which is at least as good in world 0.
    while n > 0 and chain[n - 1, 1] <= b:
        n -= 1
    # The new point itself is dropped if a corner is at least as good in both worlds.
    if n > 0 and chain[n - 1, 0] >= a:
        return n
    # Drop corners that the line from their predecessor to the new point passes above.
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
    """Drops corners of a chain of n that lie within `tolerance` of the remaining chain; returns the new n.

    From a corner that is kept, the next one to keep is the last for which all corners between lie close to the straight
    line. Because the chain bends one way only, the corner furthest from that line advances with the end of the line.
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
    """Height of corner k above the line from `anchor` along (right, down), times the length of (right, down)."""
    return right * (chain[k, 1] - chain[anchor, 1]) - down * (chain[k, 0] - chain[anchor, 0])


@kernel
def frontier_of(points, count, chain):
    """Writes the frontier of `count` points to `chain`, which must have space for all of them; returns its length."""
    order = np.argsort(points[:count, 0])
    n = 0
    for k in order:
        n = push(chain, n, points[k, 0], points[k, 1])
    return n


@kernel
def add_scaled(child, p, q, start, edges, count):
    """Adds one summand of a Minkowski sum: the frontier `child` with a scaled by `p` and b by `q`.

    Args:
        child: A frontier, `float64[n, 2]`.
        p, q: Scales.
        start: The leftmost corner of the sum, `float64[2]`; changed in place.
        edges: Edges between the corners of all summands so far, `float64[E, 2]`; new edges are appended.
        count: Number of edges so far.

    Returns:
        The new number of edges.
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
    """Writes the frontier that starts at `start` and has `count` edges to `chain`; returns its length."""
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
