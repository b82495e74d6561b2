"""Readability: how many secrets of an agent a reader names right from its play, by ply.

The reader is a logistic regression (multinomial, for more than two values) on what is public. It is fitted on games
that are played for this, one for each ply, and tested on others. That it finds nothing shows that this reader finds
nothing; that it finds much shows that every opponent could.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.evaluation.arena import BATCH, play_batch
from dancfr.notebooks import BAND, axes_for, frame, percent
from envs.agent import Agent
from envs.capabilities import Readable
from envs.game import GameBase, States
from learners.html import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

PLIES = (1, 2, 4, 10, 16, 24, 32, 40, 60, 80)
"""Plies after which agents are read."""
FEWEST = 50
"""Games that a ply needs, to fit a reader and to test it."""
PENALTY = 1.0
"""Weight of half of the squared weights of a reader, to which the log losses of all samples are added."""
PSEUDO = 2
"""Games read right, and as many read wrong, that are added for the interval (Agresti and Coull 1998)."""


@dataclass(frozen=True)
class ReadAt:
    """Readings after a number of plies.

    Attributes:
        ply: Decisions of all players so far.
        games: Games in which something was read.
        secrets: Secrets that were read.
        accuracy: Share of them whose most probable value is the right one.
        ci95: Its 95 % interval, over games.
        chance: Expected share with the value that most of the possible arrangements have, all equally likely.
    """

    ply: int
    games: int
    secrets: int
    accuracy: float
    ci95: tuple[float, float]
    chance: float


@dataclass(frozen=True, repr=False)
class Reading:
    """The readings of an agent's play by ply.

    Attributes:
        secret: What is read, such as ``colour of a ghost``.
        values: Its values.
        fitted_on: Games that the readers were fitted on; they were tested on as many others.
        plies: Readings by ply.
    """

    secret: str
    values: tuple[str, ...]
    fitted_on: int
    plies: tuple[ReadAt, ...]

    def as_dict(self) -> dict[str, Any]:
        """Returns the key ``reading`` of `dancfr evaluate --json`."""
        plies = [{**vars(each), "ci95": list(each.ci95)} for each in self.plies]
        return {"secret": self.secret, "values": list(self.values), "fitted_on": self.fitted_on, "plies": plies}

    def frame(self) -> "DataFrame":
        """Returns a frame of pandas with a row for each ply, whose columns are the attributes of `ReadAt`."""
        return frame((vars(each) for each in self.plies), tuple(ReadAt.__annotations__))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draws the share that is read right by ply, with its 95 % interval, beside chance.

        Args:
            ax: Axes of Matplotlib to draw on; None makes a figure.

        Returns:
            The axes.

        Raises:
            UsageError: too few games were played to read any ply.
        """
        if not self.plies:
            raise UsageError(f"no ply was reached by {FEWEST} games: read the agent in more games")
        ax = axes_for(ax, "ply", "read right", self._caption(), shares=True)
        plies, accuracy, chance = zip(*((each.ply, each.accuracy, each.chance) for each in self.plies), strict=True)
        low, high = zip(*(each.ci95 for each in self.plies), strict=True)
        (line,) = ax.plot(plies, accuracy, marker="o", label="from the play")
        ax.fill_between(plies, low, high, color=line.get_color(), alpha=BAND)
        ax.plot(plies, chance, linestyle="--", color=line.get_color(), label="by chance")
        ax.legend()
        return ax

    def _caption(self) -> str:
        reader = f"a logistic regression fitted on {self.fitted_on:,} games"
        return f"{self.secret} ({' or '.join(self.values)}), read by {reader}"

    def __repr__(self) -> str:
        shares = [f"{percent(each.accuracy)} after {each.ply} plies" for each in self.plies]
        return f"Reading({self.secret}: read right {', '.join(shares) or 'nowhere'})"

    def _repr_html_(self) -> str:
        rows = [
            (each.ply, f"{each.games:,}", *map(percent, (each.accuracy, *each.ci95, each.chance)))
            for each in self.plies
        ]
        return html_table(("ply", "games", "read right", "at least", "at most", "by chance"), rows, self._caption())


@dataclass(frozen=True)
class Sample:
    """N secrets after a ply.

    Attributes:
        game: Number of the game of each, `int64[N]`.
        clues: What is public about it, `float32[N, F]`.
        odds: Share of each value among the possible arrangements, `float32[N, C]`.
        value: Its value, `int64[N]`.
    """

    game: NDArray[np.int64]
    clues: NDArray[np.float32]
    odds: NDArray[np.float32]
    value: NDArray[np.int64]


def read_play(
    game: GameBase,
    agents: tuple[Agent, Agent],
    games: int,
    rng: np.random.Generator,
    plies: Sequence[int] = PLIES,
) -> Reading:
    """Plays games in which the first agent has each seat in half, fits readers of it, and tests them on as many others.

    Args:
        game: Rules of a two-player game with secrets.
        agents: The agent that is read, and its opponent; two objects.
        games: Games to fit on, and games to test on.
        rng: Source of all random draws.
        plies: Plies after which the agent is read; those that too few games reach are left out.

    Raises:
        UsageError: the game has no secrets that a reader could name, or more than two players.
        AgentError: see `dancfr.evaluation.arena.play`.
    """
    readable = require_readable(game)
    fitting, testing = (_play(readable, agents, games, rng, plies) for _ in range(2))
    found = [
        _test(ply, fitting[ply], testing[ply])
        for ply in plies
        if min(len(np.unique(part[ply].game)) for part in (fitting, testing)) >= FEWEST
    ]
    return Reading(readable.secret, tuple(readable.secret_values), games, tuple(found))


def require_readable(game: GameBase) -> Readable:
    """Returns a game as one whose agents can be read.

    Raises:
        UsageError: it has no secrets that a reader could name, or more than two players.
    """
    if not _is_readable(game):
        from dancfr.games.registry import all_games, make_game

        known = [name for name in all_games() if _is_readable(make_game(name))]
        raise UsageError(
            f"{game.spec.name} does not say what its players hide (envs.capabilities.Readable): read agents in "
            f"{', '.join(known[:-1])} or {known[-1]}"
        )
    return game


def _is_readable(game: GameBase) -> TypeGuard[Readable]:
    return isinstance(game, Readable) and game.spec.num_players == 2


def _play(
    game: Readable, agents: tuple[Agent, Agent], games: int, rng: np.random.Generator, plies: Sequence[int]
) -> dict[int, Sample]:
    """Plays games and returns the first agent's secrets after each of some plies."""
    parts: dict[int, list[Sample]] = {ply: [] for ply in plies}
    seats = (np.arange(games) % 2).astype(np.int8)
    for first in range(0, games, BATCH):
        seat, ply = seats[first : first + BATCH], 0

        def watch(states: States, places: NDArray[np.int64], first: int = first, seat: NDArray[np.int8] = seat) -> None:
            nonlocal ply
            if ply in parts:
                parts[ply].append(sample(game, states, seat[places], first + places))
            ply += 1

        play_batch(game, agents, seat, rng.spawn(3), watch)
    return {ply: _joined(found) for ply, found in parts.items()}


def sample(game: Readable, states: States, players: NDArray[np.int8], numbers: NDArray[np.int64]) -> Sample:
    """The secrets of `players[b]` in games with numbers, those that are public left out."""
    values = game.secrets(states, players)
    row, place = np.nonzero(values >= 0)
    clues, odds = game.clues(states, players)[row, place], game.odds(states, players)[row, place]
    return Sample(numbers[row], clues, odds, values[row, place].astype(np.int64))


def _joined(parts: Sequence[Sample]) -> Sample:
    if not parts:
        nothing = np.zeros((0, 0), np.float32)
        return Sample(np.zeros(0, np.int64), nothing, nothing, np.zeros(0, np.int64))
    return Sample(*(np.concatenate([getattr(each, name) for each in parts]) for name in Sample.__annotations__))


class Reader:
    """A multinomial logistic regression whose scores are added to the logarithm of the odds of each value.

    Fitted to play that gives nothing away, it names the value with the best odds.

    Args:
        found: The samples to fit.
        penalty: See `PENALTY`.
    """

    def __init__(self, found: Sample, penalty: float = PENALTY) -> None:
        from scipy.optimize import minimize  # takes half a second to import

        self._mean, spread = found.clues.mean(axis=0), found.clues.std(axis=0)
        self._scale = np.where(spread > 1e-6, spread, np.inf)
        inputs, odds = self._inputs(found), _logarithm(found.odds)
        rows, shape = np.arange(len(inputs)), (inputs.shape[1], odds.shape[1])

        def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            matrix = weights.reshape(shape)
            scores = odds + inputs @ matrix
            probability, total = _softmax(scores)
            value = float((total - scores[rows, found.value]).sum() + penalty / 2 * (weights**2).sum())
            probability[rows, found.value] -= 1
            return value, (inputs.T @ probability + penalty * matrix).ravel()

        self.weights = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B").x.reshape(shape)

    def probabilities(self, found: Sample) -> NDArray[np.float64]:
        """Returns the probability of each value of each secret, `float64[N, C]`."""
        return _softmax(_logarithm(found.odds) + self._inputs(found) @ self.weights)[0]

    def _inputs(self, found: Sample) -> NDArray[np.float64]:
        """Clues of mean 0 and standard deviation 1 over the fitted samples, and a constant, `float64[N, F + 1]`."""
        scaled = (found.clues - self._mean) / self._scale
        return np.concatenate([scaled, np.ones((len(scaled), 1))], axis=1).astype(np.float64)


def _logarithm(odds: NDArray[np.float32]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(odds.astype(np.float64)), -1e9)


def _softmax(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns probabilities, `[N, C]`, and the logarithm of the sum of exponentials, `[N]`."""
    highest = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - highest)
    total = weights.sum(axis=1, keepdims=True)
    return weights / total, (highest + np.log(total))[:, 0]


def _test(ply: int, fitting: Sample, testing: Sample) -> ReadAt:
    right = Reader(fitting).probabilities(testing).argmax(axis=1) == testing.value
    accuracy, interval = by_game(right, testing.game)
    chance = float(testing.odds.max(axis=1).mean())
    return ReadAt(ply, len(np.unique(testing.game)), len(right), accuracy, interval, chance)


def by_game(right: NDArray[np.bool_], game: NDArray[np.int64]) -> tuple[float, tuple[float, float]]:
    """Returns the share of secrets that were read right, and its 95 % interval.

    The secrets of a game depend on each other, so the interval is that of a ratio of sums over games. `PSEUDO` games of
    mean size that were read right and as many that were read wrong are added, without which it would be a point if all
    were read alike.
    """
    _, numbers = np.unique(game, return_inverse=True)
    size = np.bincount(numbers).astype(np.float64)
    good = np.bincount(numbers, weights=right)
    mean = size.mean()
    size = np.concatenate([size, np.full(2 * PSEUDO, mean)])
    good = np.concatenate([good, np.full(PSEUDO, mean), np.zeros(PSEUDO)])
    middle = good.sum() / size.sum()
    error = float(np.sqrt(((good - middle * size) ** 2).sum()) / size.sum())
    share, middle = float(right.mean()), float(middle)
    return share, (max(min(middle - 1.96 * error, share), 0.0), min(max(middle + 1.96 * error, share), 1.0))
