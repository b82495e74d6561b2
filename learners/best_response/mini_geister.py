"""Exact best responses in Mini Geister to an agent that remembers nothing.

The responder remembers everything. What it does not know is how the agent's two ghosts are coloured: two worlds,
equally likely at the start; and it learns of them only by the moves that it sees, whose probabilities are known. So
what can be reached from a position is a set of pairs (return in world 0, return in world 1), whatever has happened
before, and of it the frontier matters (`learners.best_response.frontier`):

- where the responder moves, it may choose any of its moves: the frontier of all that its moves lead to;
- where the agent moves, move m comes with probability p(m) in world 0 and q(m) in world 1 and is seen: the responder
  has a continuation for each, so the frontiers behind them, scaled by p and q, are added up (Minkowski).

By backward induction over the plies this is exact. At the first position the two worlds weigh the same, and the
responder's own colours, which the agent does not know, are drawn.

Against an agent that mixes its moves the corners of frontiers grow in number by half a ply, to thousands. So those that
stand out by less than a tolerance are left out. What is left can still be reached, so the value is one that a responder
wins; and no belief loses more than the tolerance, nor does it grow on its way to the first ply, where moves are
averages or maxima. So the value of a best response is at most the tolerance times the number of plies higher.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.geister.rules import start_squares
from learners.best_response.frontier import add_scaled, frontier_of, sum_of, thin
from learners.best_response.memoryless import POSITIONS, MemorylessPolicy
from learners.geister_beliefs.tables import LAST, LEGAL, SIZE, SLOTS, SQUARES

TOLERANCE = 5e-7
ROOM = 1 << 20
"""Corners that there is room for at first, and of a single position before they are thinned."""


class Frontiers(NamedTuple):
    """The frontiers of all positions with so many plies left.

    Attributes:
        begin: Where the corners of each position begin, and the end of the last one's, `int64[POSITIONS + 1]`. A
            position is ((own blue * 16 + own red) * 16 + agent's ghost 0) * 16 + ghost 1, all squares as the responder
            sees them.
        corners: Returns of the responder in world 0 and 1, `float64[n, 2]`.
    """

    begin: NDArray[np.int64]
    corners: NDArray[np.float64]

    def of(self, position: int) -> NDArray[np.float64]:
        """The frontier of a position, `float64[n, 2]`; empty if two ghosts would stand on one square."""
        return self.corners[self.begin[position] : self.begin[position + 1]]


class Response(NamedTuple):
    """What a best response in one seat is worth.

    Attributes:
        value: Its mean return, or less by at most `error`.
        error: See there.
        by_colours: By its own colours at the start: ghost 0 blue, ghost 1 blue.
        corners: Corners kept in all, and `most` those of one position.
        most: See there.
    """

    value: float
    error: float
    by_colours: tuple[float, float]
    corners: int
    most: int


def position_of(blue: int, red: int, ghost0: int, ghost1: int) -> int:
    """The number of a position, see `Frontiers`."""
    return ((blue * SQUARES + red) * SQUARES + ghost0) * SQUARES + ghost1


def best_response(policy: MemorylessPolicy, seat: int, tolerance: float = TOLERANCE) -> Response:
    """The value of a best response of the player in `seat`, 0 or 1, to an agent in the other."""
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
    """Which positions can be met at each ply, `bool[plies, POSITIONS]`, whatever the responder in `seat` plays."""
    met = np.zeros((policy.ply_limit + 1, POSITIONS), np.bool_)
    met[0, starts] = True
    for ply in range(policy.ply_limit):
        if ply % 2 == seat:
            respond_all(met[ply], LEGAL[int(policy.forced_escape)], met[ply + 1])
        else:
            await_all(met[ply], policy.at(ply), met[ply + 1])
    return met


def everywhere() -> NDArray[np.bool_]:
    """All positions in which no two ghosts stand on one square, `bool[POSITIONS]`."""
    squares = np.stack(np.unravel_index(np.arange(POSITIONS), (SQUARES,) * 4))
    apart = np.ones(POSITIONS, np.bool_)
    for i in range(4):
        for j in range(i):
            apart &= squares[i] != squares[j]
    return apart


def at_the_end() -> Frontiers:
    """With no ply left every game is drawn."""
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
    """The frontiers of the positions `wanted` at a ply from those one ply later."""
    room = max(ROOM, 2 * len(after.corners)) + ROOM
    while True:
        begin, corners = np.zeros(POSITIONS + 1, np.int64), np.empty((room, 2))
        if ply % 2 == seat:
            legal = LEGAL[int(policy.forced_escape)]
            done = respond(after.begin, after.corners, legal, wanted, tolerance, begin, corners)
        else:
            done = await_move(after.begin, after.corners, policy.at(ply), wanted, tolerance, begin, corners)
        if done:
            return Frontiers(begin, corners[: begin[-1]].copy())
        room *= 2


@kernel
def respond_all(met, legal, following):
    """Marks what the responder's moves lead to from positions that are met."""
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
    """Marks what the agent's moves lead to from positions that are met."""
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
def respond(begin, corners, legal, wanted, tolerance, new_begin, new_corners):
    """Frontiers of the positions in which the responder is to move; whether there was room for them."""
    points = np.empty((ROOM, 2))
    n = 0
    for position in range(POSITIONS):
        new_begin[position] = n
        if not wanted[position]:
            continue
        if n + ROOM > len(new_corners):
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
            if target < 0:  # off the board
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
def await_move(begin, corners, policy, wanted, tolerance, new_begin, new_corners):
    """Frontiers of the positions in which the agent is to move; whether there was room for them.

    Args:
        policy: See `MemorylessPolicy.at`.
    """
    edges = np.empty((ROOM, 2))
    start = np.empty(2)
    n = 0
    for position in range(POSITIONS):
        new_begin[position] = n
        if not wanted[position]:
            continue
        if n + ROOM > len(new_corners):
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
            won = 0.0
            if target > LAST or target == blue:  # it has left the board, or taken the responder's blue ghost
                won = -1.0
            elif target == red:
                won = 1.0
            if won != 0.0:
                start[0] += won * p
                start[1] += won * q
                continue
            moved = target * SQUARES + ghosts % SQUARES if ghost == 0 else (ghosts // SQUARES) * SQUARES + target
            child = own * SQUARES**2 + moved
            count = add_scaled(corners[begin[child] : begin[child + 1]], p, q, start, edges, count)
        n += thin(new_corners[n:], sum_of(start, edges, count, new_corners[n:]), tolerance)
    new_begin[POSITIONS] = n
    return True
