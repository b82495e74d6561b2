"""Exact best responses in Mini Geister to an agent without memory.

The responder remembers everything. The only thing it does not know is which of the agent's two ghosts is blue: two
worlds, equally likely at the start. It learns about them only from the agent's moves, whose probabilities are known. So
the strategies from a position on are a set of points (return in world 0, return in world 1), whatever has happened
before, and only their frontier matters (`learners.exact_response.frontier`):

- where the responder moves, the frontier is that of all points behind its moves;
- where the agent moves, move m has probability p(m) in world 0 and q(m) in world 1. The responder sees the move and may
  continue differently after each, so the frontier is the Minkowski sum of the frontiers behind the moves, with the
  coordinates scaled by p and q.

Backward induction over the plies gives the exact value. At the first position both worlds have the same weight, and the
value is the mean over the responder's own colours.

Example: the agent plays move 1 in world 0 and move 2 in world 1. The frontier behind move 1 is [(1, -1)], and behind
move 2 it is [(-1, 1)]; scaled by (p, q) = (1, 0) and (0, 1) they are (1, 0) and (0, 1), with the sum (1, 1). The moves
reveal the world, and the responder wins in both.

Against an agent that mixes its moves frontiers grow to thousands of corners, so corners that stand out by less than a
tolerance are dropped. The remaining corners can be reached, so the value is a lower bound. Each ply loses at most the
tolerance, and averages and maxima on the way to the first ply do not increase the loss. So the value of a best response
is higher by at most the tolerance times the number of plies.
"""

from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.geister import Geister
from envs.geister.rules import start_squares
from learners.exact_response.frontier import add_scaled, frontier_of, sum_of, thin
from learners.exact_response.memoryless import POSITIONS, MemorylessPolicy
from learners.geister_beliefs.tables import LAST, LEGAL, SIZE, SLOTS, SQUARES

SOLVED = "mini-geister"
"""Name of the game that is solved here."""

TOLERANCE = 5e-7
BUFFER = 1 << 20
"""Initial number of corners in a buffer, and the largest number of corners of one position before thinning."""


class Frontiers(NamedTuple):
    """The frontiers of all positions at one ply.

    Attributes:
        begin: Index of the first corner of each position, and the number of corners, `int64[POSITIONS + 1]`. A position
            is ((own blue * 16 + own red) * 16 + agent's ghost 0) * 16 + ghost 1, with squares as the responder sees
            them.
        corners: Corners of all positions: returns of the responder in world 0 and 1, `float64[n, 2]`.
    """

    begin: NDArray[np.int64]
    corners: NDArray[np.float64]

    def of(self, position: int) -> NDArray[np.float64]:
        """The frontier of a position, `float64[n, 2]`; empty if two ghosts are on one square."""
        return self.corners[self.begin[position] : self.begin[position + 1]]


class Response(NamedTuple):
    """The value of a best response in one seat.

    Attributes:
        value: Lower bound of its mean return.
        error: The mean return is at most `value + error`.
        by_colours: Values by the responder's own colours: ghost 0 blue, ghost 1 blue.
        corners: Total number of corners.
        most: Largest number of corners of one position.
    """

    value: float
    error: float
    by_colours: tuple[float, float]
    corners: int
    most: int


def position_of(blue: int, red: int, ghost0: int, ghost1: int) -> int:
    """The number of a position, see `Frontiers`."""
    return ((blue * SQUARES + red) * SQUARES + ghost0) * SQUARES + ghost1


def solves(game: object) -> TypeGuard[Geister]:
    """Whether `best_response` can be computed for a game."""
    return isinstance(game, Geister) and game.size == SIZE


def best_response(policy: MemorylessPolicy, seat: int, tolerance: float = TOLERANCE) -> Response:
    """The value of a best response of the player in `seat`, 0 or 1, to an agent in the other seat."""
    own = [int(square) for square in start_squares(SIZE)]
    theirs = [LAST - square for square in own]
    starts = [position_of(own[blue], own[1 - blue], theirs[0], theirs[1]) for blue in (0, 1)]
    met = reachable(starts, policy, seat)
    layer = at_the_end()
    corners = most = 0
    for ply in range(policy.ply_limit - 1, -1, -1):
        layer = before(layer, policy, ply, seat, met[ply], tolerance)
        corners += len(layer.corners)
        most = max(most, int(np.diff(layer.begin).max()))
    first, second = (float(layer.of(start).mean(axis=1).max()) for start in starts)
    return Response((first + second) / 2, tolerance * policy.ply_limit, (first, second), corners, most)


def reachable(starts: list[int], policy: MemorylessPolicy, seat: int) -> NDArray[np.bool_]:
    """Positions that can occur at each ply for some play of the responder in `seat`, `bool[plies + 1, POSITIONS]`."""
    met = np.zeros((policy.ply_limit + 1, POSITIONS), np.bool_)
    met[0, starts] = True
    for ply in range(policy.ply_limit):
        if ply % 2 == seat:
            respond_all(met[ply], LEGAL[int(policy.forced_escape)], met[ply + 1])
        else:
            await_all(met[ply], policy.at(ply), met[ply + 1])
    return met


def everywhere() -> NDArray[np.bool_]:
    """Positions in which no two ghosts are on one square, `bool[POSITIONS]`."""
    squares = np.stack(np.unravel_index(np.arange(POSITIONS), (SQUARES,) * 4))
    apart = np.ones(POSITIONS, np.bool_)
    for i in range(4):
        for j in range(i):
            apart &= squares[i] != squares[j]
    return apart


def at_the_end() -> Frontiers:
    """The frontiers at the ply limit, where every game is drawn."""
    begin = np.concatenate([[0], np.cumsum(everywhere())]).astype(np.int64)
    return Frontiers(begin, np.zeros((int(begin[-1]), 2)))


def before(
    after: Frontiers,
    policy: MemorylessPolicy,
    ply: int,
    seat: int,
    wanted: NDArray[np.bool_],
    tolerance: float = TOLERANCE,
) -> Frontiers:
    """The frontiers at a ply from those one ply later.

    Args:
        after: Frontiers one ply later.
        policy: The agent.
        ply: The ply.
        seat: Seat of the responder.
        wanted: Positions to compute, `bool[POSITIONS]`.
        tolerance: Corners that stand out by less are dropped.
    """
    size = max(BUFFER, 2 * len(after.corners)) + BUFFER
    while True:
        found = Frontiers(np.zeros(POSITIONS + 1, np.int64), np.empty((size, 2)))
        if ply % 2 == seat:
            legal = LEGAL[int(policy.forced_escape)]
            done = respond(after, legal, wanted, tolerance, found)
        else:
            done = await_move(after, policy.at(ply), wanted, tolerance, found)
        if done:
            return Frontiers(found.begin, found.corners[: found.begin[-1]].copy())
        size *= 2


@kernel
def respond_all(met, legal, following):
    """Marks the positions behind the responder's moves from the positions `met`."""
    for position in range(POSITIONS):
        if not met[position]:
            continue
        ghosts = position % SQUARES**2
        own = position // SQUARES**2
        for slot in range(SLOTS):
            if (legal[own] >> slot) & 1:
                square = own // SQUARES if slot < 4 else own % SQUARES
                target = square + (-SIZE, 1, -1, SIZE)[slot & 3]
                if target >= 0 and target != ghosts // SQUARES and target != ghosts % SQUARES:
                    moved = target * SQUARES + own % SQUARES if slot < 4 else (own // SQUARES) * SQUARES + target
                    following[moved * SQUARES**2 + ghosts] = True


@kernel
def await_all(met, policy, following):
    """Marks the positions behind the agent's moves from the positions `met`."""
    for position in range(POSITIONS):
        if not met[position]:
            continue
        ghosts = position % SQUARES**2
        own = position // SQUARES**2
        for action in range(SLOTS):
            if policy[0, position, action] > 0.0 or policy[1, position, action] > 0.0:
                square = ghosts // SQUARES if action < 4 else ghosts % SQUARES
                target = square - (-SIZE, 1, -1, SIZE)[action & 3]
                if target <= LAST and target != own // SQUARES and target != own % SQUARES:
                    moved = (
                        target * SQUARES + ghosts % SQUARES if action < 4 else (ghosts // SQUARES) * SQUARES + target
                    )
                    following[own * SQUARES**2 + moved] = True


@kernel
def respond(after, legal, wanted, tolerance, found):
    """Writes the frontiers of positions in which the responder is to move.

    Args:
        after: `Frontiers` one ply later.
        legal: Legal columns as bits by the squares of the responder's blue and red ghost, `uint8[256]`.
        wanted: Positions to compute, `bool[POSITIONS]`.
        tolerance: Corners that stand out by less are dropped.
        found: `Frontiers` to write.

    Returns:
        Whether the buffer of `found` was large enough.
    """
    begin, corners = after
    new_begin, new_corners = found
    points = np.empty((BUFFER, 2))
    n = 0
    for position in range(POSITIONS):
        new_begin[position] = n
        if not wanted[position]:
            continue
        if n + BUFFER > len(new_corners):
            return False
        ghosts = position % SQUARES**2
        own = position // SQUARES**2
        first, second = ghosts // SQUARES, ghosts % SQUARES
        blue, red = own // SQUARES, own % SQUARES
        count = 0
        for slot in range(SLOTS):
            if (legal[own] >> slot) & 1 == 0:
                continue
            square = blue if slot < 4 else red
            target = square + (-SIZE, 1, -1, SIZE)[slot & 3]
            # The points behind a move: an escape or a capture ends the game, otherwise the frontier one ply later.
            if target < 0:  # escaped
                points[count, 0], points[count, 1] = 1.0, 1.0
                count += 1
            elif target == first:  # blue in world 0
                points[count, 0], points[count, 1] = 1.0, -1.0
                count += 1
            elif target == second:
                points[count, 0], points[count, 1] = -1.0, 1.0
                count += 1
            else:
                moved = target * SQUARES + red if slot < 4 else blue * SQUARES + target
                child = moved * SQUARES**2 + ghosts
                for k in range(begin[child], begin[child + 1]):
                    points[count, 0], points[count, 1] = corners[k]
                    count += 1
        n += thin(new_corners[n:], frontier_of(points, count, new_corners[n:]), tolerance)
    new_begin[POSITIONS] = n
    return True


@kernel
def await_move(after, policy, wanted, tolerance, found):
    """Writes the frontiers of positions in which the agent is to move.

    Args:
        policy: Probabilities of the agent's moves, `float64[2, POSITIONS, 8]`, see `MemorylessPolicy.at`.
        after, wanted, tolerance, found: As of `respond`.

    Returns:
        Whether the buffer of `found` was large enough.
    """
    begin, corners = after
    new_begin, new_corners = found
    edges = np.empty((BUFFER, 2))
    start = np.empty(2)
    n = 0
    for position in range(POSITIONS):
        new_begin[position] = n
        if not wanted[position]:
            continue
        if n + BUFFER > len(new_corners):
            return False
        ghosts = position % SQUARES**2
        own = position // SQUARES**2
        blue, red = own // SQUARES, own % SQUARES
        count = 0
        start[:] = 0.0
        for action in range(SLOTS):
            p, q = policy[0, position, action], policy[1, position, action]
            if p == 0.0 and q == 0.0:
                continue
            ghost = action >> 2
            square = ghosts // SQUARES if ghost == 0 else ghosts % SQUARES
            target = square - (-SIZE, 1, -1, SIZE)[action & 3]  # the agent sees the board from the other side
            # Moves that end the game add a fixed return to the leftmost corner.
            won = 0.0
            if target > LAST or target == blue:  # escaped, or captured the responder's blue ghost
                won = -1.0
            elif target == red:
                won = 1.0
            if won != 0.0:
                start[0] += won * p
                start[1] += won * q
                continue
            # The other moves add the frontier one ply later.
            moved = target * SQUARES + ghosts % SQUARES if ghost == 0 else (ghosts // SQUARES) * SQUARES + target
            child = own * SQUARES**2 + moved
            count = add_scaled(corners[begin[child] : begin[child + 1]], p, q, start, edges, count)
        n += thin(new_corners[n:], sum_of(start, edges, count, new_corners[n:]), tolerance)
    new_begin[POSITIONS] = n
    return True
