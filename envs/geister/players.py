"""Bots for Geister and Mini Geister: `random`, `heuristic` and `rush`.

The two heuristic bots score every legal move by the position after it,

    - attack * (moves that an own blue ghost needs to leave the board)
    - capture * (1 if the move captures a ghost)
    - neighbours * (number of enemy ghosts orthogonally next to own blue ghosts)
    - defence * (distance from the player's corners)
    + Gumbel(0, temperature),

and play the move of the highest score; ties are broken at random. The features are those of paper 002; the weights are
chosen so that its win rates against random play are reproduced. The bots read packed infostates, which do not contain
hidden colours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent, Named
from envs.compiled import kernel
from envs.game import Game, Packed, States
from envs.geister.game import Geister
from envs.geister.observation import OFF, PLACING, RED, enemies_of
from envs.players import RandomAgent

TIE = 1e-9  # rounding errors of equal sums of decimal weights are smaller


@dataclass(frozen=True)
class HeuristicWeights:
    """Weights of the scores of a heuristic bot.

    Attributes:
        attack: Cost of each move that the player's blue ghost nearest to an exit needs to leave the board.
        capture: Cost of capturing a ghost.
        neighbours: Cost of each enemy ghost orthogonally next to an own blue ghost, summed over the blue ghosts.
        defence: Cost of each step of distance to the player's corners, where the opponent leaves the board.
        temperature: Scale of the Gumbel noise; 0 plays the best move.
        kind: Distance that `defence` counts: ``corners``, of the nearest own ghost of either colour, summed over both
            corners; ``reds``, to the nearer corner, summed over the player's red ghosts.

    Raises:
        ValueError: unknown kind, negative temperature, or a weight that is not finite.
    """

    attack: float = 1.0
    capture: float = 3.0
    neighbours: float = 2.0
    defence: float = 0.4
    temperature: float = 0.3
    kind: Literal["corners", "reds"] = "corners"

    def __post_init__(self) -> None:
        if self.kind not in ("corners", "reds"):
            raise ValueError(f"kind must be 'corners' or 'reds', got {self.kind!r}")
        if self.temperature < 0:
            raise ValueError(f"temperature must be at least 0, got {self.temperature}")
        if not np.isfinite(self.numbers()).all():
            raise ValueError(f"weights must be finite, got {self}")

    def numbers(self) -> NDArray[np.float64]:
        """Returns the five weights in the order of the fields, `float64[5]`."""
        return np.array([self.attack, self.capture, self.neighbours, self.defence, self.temperature], np.float64)


CAREFUL = HeuristicWeights()
"""Keeps its blue ghosts away from enemies. Its win rate against random play is about that of paper 002."""

RUSH = HeuristicWeights(neighbours=0.5, defence=0.5, temperature=0.0, kind="reds")
"""Runs for the exit. Beats `CAREFUL` nearly always."""


@cache
def _distances(size: int) -> NDArray[np.int64]:
    """Returns the distance of each square to the nearer exit, the left own corner and the right one, `[3, size**2]`."""
    y, x = np.divmod(np.arange(size * size), size)
    left, right = x, size - 1 - x
    home = size - 1 - y
    return np.stack([y + np.minimum(left, right), home + left, home + right])


@cache
def _around(size: int) -> NDArray[np.uint64]:
    """Returns the orthogonal neighbours of each square as bits, `uint64[size**2]`."""
    y, x = np.divmod(np.arange(size * size), size)
    near = np.abs(y[:, None] - y) + np.abs(x[:, None] - x) == 1
    bit = np.uint64(1) << np.arange(size * size, dtype=np.uint64)
    return np.asarray(np.bitwise_or.reduce(near * bit, axis=1))


@kernel
def _score(row, ghost, target, enemies, distance, around, weights, guard_with_reds):
    """Scores moving `ghost` to the square `target`, negative off the board, without noise."""
    far = 1_000
    attack = 0 if target < 0 else far
    neighbours = 0
    reds_defence = 0
    left = far
    right = far
    captures = 0
    if target >= 0:
        captured = enemies & (np.uint64(1) << np.uint64(target))
        captures = 1 if captured != 0 else 0
        enemies &= ~captured
    for own in range(8):
        square = np.int64(row[own])
        if square == OFF:
            continue
        if own == ghost:
            square = target
            if square < 0:
                continue
        left = min(left, distance[1, square])
        right = min(right, distance[2, square])
        if (row[RED] >> own) & 1:
            reds_defence += min(distance[1, square], distance[2, square])
            continue
        attack = min(attack, distance[0, square] + 1)
        touching = enemies & around[square]
        while touching != 0:
            touching &= touching - np.uint64(1)
            neighbours += 1
    defence = reds_defence if guard_with_reds else left + right
    return -(weights[0] * attack + weights[1] * captures + weights[2] * neighbours + weights[3] * defence)


@kernel
def choose_heuristic(packed, mask, u, size, distance, around, weights, guard_with_reds):
    """Chooses the move of a heuristic bot for each packed infostate.

    Args:
        packed: Infostates of the players to move, `uint8[B, 20]`.
        mask: Their legal actions, `bool[B, A]`.
        u: Uniform draws from [0, 1), `float64[B, A]`, for the Gumbel noise and to break ties. All layouts tie.
        size: Width of the board.
        distance, around: Tables of the board, see `_distances` and `_around`.
        weights: See `HeuristicWeights.numbers`.
        guard_with_reds: Whether the kind of the defence is ``reds``.

    Returns:
        The actions, `int64[B]`; -1 in rows that allow none.
    """
    actions = np.empty(packed.shape[0], np.int64)
    offsets = (-size, 1, -1, size)  # in the order of rules.DIRECTIONS
    temperature = weights[4]
    for b in range(packed.shape[0]):
        row = packed[b]
        enemies = enemies_of(row)
        best = -np.inf
        best_u = -1.0
        action = -1
        for a in range(mask.shape[1]):
            if not mask[b, a]:
                continue
            score = 0.0
            if row[PLACING] == 0:
                ghost = a >> 2
                target = np.int64(row[ghost]) + offsets[a & 3]
                score = _score(row, ghost, target, enemies, distance, around, weights, guard_with_reds)
                if temperature > 0:
                    score -= temperature * np.log(-np.log(max(u[b, a], 1e-300)))
            if score > best + TIE or (score >= best - TIE and u[b, a] > best_u):
                best = score
                best_u = u[b, a]
                action = a
        actions[b] = action
    return actions


@kernel
def heuristic_policy(packed, mask, size, distance, around, weights, guard_with_reds):
    """Returns the probability of each move of `choose_heuristic`, `float64[B, A]`.

    The maximum of scores with Gumbel noise has the distribution of a softmax of the scores divided by the temperature;
    at temperature 0 the best moves have equal probability. The arguments are those of `choose_heuristic`.
    """
    policy = np.zeros(mask.shape)
    offsets = (-size, 1, -1, size)
    temperature = weights[4]
    for b in range(packed.shape[0]):
        row = packed[b]
        enemies = enemies_of(row)
        best = -np.inf
        for a in range(mask.shape[1]):
            if mask[b, a] and row[PLACING] == 0:
                target = np.int64(row[a >> 2]) + offsets[a & 3]
                policy[b, a] = _score(row, a >> 2, target, enemies, distance, around, weights, guard_with_reds)
            if mask[b, a]:
                best = max(best, policy[b, a])
        total = 0.0
        for a in range(mask.shape[1]):
            if not mask[b, a]:
                policy[b, a] = 0.0
            elif temperature > 0:
                policy[b, a] = np.exp((policy[b, a] - best) / temperature)
            else:
                policy[b, a] = 1.0 if policy[b, a] >= best - TIE else 0.0
            total += policy[b, a]
        policy[b] /= total
    return policy


class HeuristicAgent(Named):
    """Plays the move of the highest score by `HeuristicWeights`. Implements `envs.agent.Agent`.

    Raises:
        ValueError: `begin` is called with a game other than Geister.
    """

    def __init__(self, weights: HeuristicWeights = CAREFUL, name: str = "heuristic") -> None:
        self.name = name
        self.weights = weights
        self._numbers = weights.numbers()
        self._game: Geister | None = None

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        if not isinstance(game, Geister):
            raise ValueError(f"{self.name} plays geister and mini-geister only, not {game.spec.name}")
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        game = self._begun(self._game)
        mask = game.legal(states)
        packed = game.observe(states, game.to_move(states))
        size = game.size
        guard = self.weights.kind == "reds"
        noise = rng.random(mask.shape)
        return np.asarray(
            choose_heuristic(packed, mask, noise, size, _distances(size), _around(size), self._numbers, guard)
        )

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `envs.agent.StatesPolicy`."""
        game = self._begun(self._game, "probabilities")
        return self.policy(game.observe(states, game.to_move(states)), game.legal(states), 0)

    def policy(self, packed: Packed, legal: NDArray[np.bool_], player: int) -> NDArray[np.float64]:
        """Returns the policy, `float64[B, A]`, at infostates `uint8[B, P]` with legal actions `bool[B, A]`.

        Raises:
            RuntimeError: `begin` has not been called.
        """
        if self._game is None:
            raise RuntimeError(f"{self.name}: call begin(game, batch, rng) before policy")
        size, guard = self._game.size, self.weights.kind == "reds"
        found: NDArray[np.float64] = heuristic_policy(
            packed, legal, size, _distances(size), _around(size), self._numbers, guard
        )
        return found


def heuristic() -> HeuristicAgent:
    """Runs a blue ghost for an exit, keeps the blue ones clear of the opponent's and some ghosts at home."""
    return HeuristicAgent(CAREFUL, "heuristic")


def rush() -> HeuristicAgent:
    """Runs a blue ghost for an exit at more risk, its red ghosts on guard at home; the strongest bot."""
    return HeuristicAgent(RUSH, "rush")


BOTS: dict[str, Callable[[], Agent]] = {"random": RandomAgent, "heuristic": heuristic, "rush": rush}
"""The bots of Geister by their names on the command line."""

__all__ = [
    "BOTS",
    "CAREFUL",
    "RUSH",
    "HeuristicAgent",
    "HeuristicWeights",
    "choose_heuristic",
    "heuristic",
    "heuristic_policy",
    "rush",
]
