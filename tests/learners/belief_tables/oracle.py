"""Algorithm 3 of paper 002 again, slowly and by recursion, over the rules of the `Game` seam."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from envs.game import States
from envs.geister import Geister

GAME = Geister(size=4, ply_limit=30)
LAST = 15


@dataclass
class Position:
    """A state, and for each player the parameters of its belief that ghost 0, and ghost 1, of the other is blue."""

    state: States
    belief: NDArray[np.float64]


@dataclass
class Oracle:
    """The tables, by row and column as in `learners.geister_beliefs.tables`; changes go to `target`, if set."""

    regrets: NDArray[np.float64]
    sums: NDArray[np.float64]
    values: NDArray[np.float64]
    update: str
    decay: float
    rng: np.random.Generator
    game: Geister = GAME
    visits: list[int] = field(default_factory=list)
    target: "Oracle | None" = None

    def traverse(self, at: Position, player: int, depth: int, limit: int, weight: float) -> float:
        if self.game.finished(at.state)[0]:
            return float(self.game.returns(at.state)[0, player])
        mover = int(at.state["to_move"][0])
        row = row_of(at, mover, int(at.state["red"][0, mover]))
        if depth == limit:
            return float(self.values[player, row]) if mover == player else 0.0
        self.visits.append(row)
        to, legal = self.target or self, self.columns(at)
        policy = normalised(self.regrets[row], legal)
        if mover != player:
            to.sums[row] += weight * policy
            column = drawn(policy, self.rng.random())
            return self.traverse(self.after(at, column), player, depth + 1, limit, weight)
        found = {c: self.traverse(self.after(at, c), player, depth + 1, limit, weight) for c in legal}
        mean = sum(policy[c] * found[c] for c in legal)
        for c in legal:
            to.regrets[row, c] += weight * (found[c] - mean)
        to.values[player, row] += self.decay * (mean - to.values[player, row])
        return float(mean)

    def columns(self, at: Position) -> list[int]:
        """Legal columns of the player to move, ascending."""
        mover = int(at.state["to_move"][0])
        red = int(at.state["red"][0, mover])
        return sorted(column_of(int(a), red) for a in np.flatnonzero(self.game.legal(at.state)[0]))

    def after(self, at: Position, column: int) -> Position:
        mover = int(at.state["to_move"][0])
        red = int(at.state["red"][0, mover])
        action = next(a for a in range(8) if column_of(a, red) == column)
        belief = at.belief.copy()
        if self.update != "none":
            prior = belief[1 - mover]
            joint = prior * [self.likelihood(at, action, blue) for blue in (0, 1)]
            posterior = joint / joint.sum() if joint.sum() > 0 else prior / prior.sum()
            belief[1 - mover] = prior + posterior if self.update == "paper" else (prior.sum() + 1) * posterior
        state = at.state.copy()
        self.game.step(state, np.array([action]))
        return Position(state, belief)

    def likelihood(self, at: Position, action: int, blue: int) -> float:
        """Probability of a move in the average policy, if that ghost of the mover were the blue one."""
        mover = int(at.state["to_move"][0])
        other = Position(at.state.copy(), at.belief)
        red = 1 << (1 - blue)
        other.state["red"][0, mover] = red
        legal = self.columns(other)
        row = row_of(other, mover, red)
        column = column_of(action, red)
        return float(normalised(self.sums[row], legal)[column]) if column in legal else 0.0


def normalised(numbers: NDArray[np.float64], legal: list[int]) -> NDArray[np.float64]:
    policy = np.zeros(8)
    policy[legal] = np.maximum(numbers[legal], 0)
    if policy.sum() == 0:
        policy[legal] = 1
    return policy / policy.sum()


def drawn(policy: NDArray[np.float64], draw: float) -> int:
    return int(np.searchsorted(np.cumsum(policy), draw, side="right"))


def column_of(action: int, red: int) -> int:
    return 4 * (red >> (action // 4) & 1) + action % 4


def row_of(at: Position, player: int, red: int) -> int:
    """16 squares each of the player's blue ghost, their red one, the lower enemy and the higher one; 5 quarters."""
    squares = at.state["square"][0]
    own = {(red >> ghost) & 1: int(squares[player, ghost]) for ghost in (0, 1)}
    enemies = [LAST - int(squares[1 - player, ghost]) for ghost in (0, 1)]
    mean = at.belief[player] / at.belief[player].sum()
    lower = mean[0] if enemies[0] < enemies[1] else mean[1]
    row = 0
    for square in (own[0], own[1], min(enemies), max(enemies)):
        row = 16 * row + square
    return 5 * row + round(4 * float(lower))
