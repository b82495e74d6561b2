"""Matches between two agents, many games in lock step.

All games of a batch advance one ply at a time. In each round every agent is asked once, for all the games in
which it is to move; games that have ended are taken out, so the batch shrinks until the longest game is over.
"""

from collections import Counter
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError
from dancfr.evaluation.statistics import wilson
from envs.agent import Agent
from envs.game import Game, IllegalAction, States

OUTCOMES = ("loss", "draw", "win")
SEATS = ("first", "second")
BATCH = 1024
MOST_GAMES = 10_000_000


class AgentError(RunError):
    """An agent returned what is no legal action."""


@dataclass(frozen=True)
class Record:
    """What came of each of N games; arrays are `[N]`, in the order of play.

    Attributes:
        seat: Player that the first agent was, `int8`.
        value: Return of the first agent, `float64`, in the game's unit.
        ending: Index into `game.spec.endings`, `int8`.
        plies: Decisions of both players together, `int32`.
    """

    seat: NDArray[np.int8]
    value: NDArray[np.float64]
    ending: NDArray[np.int8]
    plies: NDArray[np.int32]


@dataclass(frozen=True)
class MatchResult:
    """Outcome of a match, from the side of its first agent.

    Attributes:
        wins, draws, losses: Games with a positive, zero and negative return.
        categories: Games by outcome and ending, such as ``"win by escape"`` or ``"win by reds taken"``: the
            opponent took the last red ghost there. Only what happened is listed, most frequent first.
        seats: ``{"first": {...}, "second": {...}}``: games, wins, draws, losses and win rate in each seat.
        mean_return: Mean return, in the game's unit.
        return_error: Its standard error; 0 for a single game.
        mean_plies: Decisions of both players in a game, on average.
        seconds: Wall time of the play alone.
    """

    games: int
    wins: int
    draws: int
    losses: int
    categories: dict[str, int]
    seats: dict[str, dict[str, float]]
    mean_return: float
    return_error: float
    mean_plies: float
    seconds: float

    @property
    def win_rate(self) -> float:
        """Share of games won, draws counting as not won (paper 000, 5.1)."""
        return self.wins / self.games

    @property
    def ci95(self) -> tuple[float, float]:
        """Wilson 95 % interval of the win rate."""
        return wilson(self.wins, self.games)

    @property
    def games_per_second(self) -> float:
        return self.games / self.seconds if self.seconds > 0 else 0.0

    def as_dict(self) -> dict[str, object]:
        """The keys of `dancfr evaluate --json` and of an evaluation row of `metrics.jsonl`."""
        return {
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "win_rate": self.win_rate,
            "ci95": list(self.ci95),
            "categories": self.categories,
            "seats": self.seats,
            "games_per_second": self.games_per_second,
            "mean_plies": self.mean_plies,
            "mean_return": self.mean_return,
            "mean_return_ci95": [self.mean_return + z * self.return_error for z in (-1.96, 1.96)],
            "seconds": self.seconds,
        }


def play(
    game: Game,
    agents: tuple[Agent, Agent],
    games: int,
    rng: np.random.Generator,
    batch: int = BATCH,
) -> MatchResult:
    """Plays a match; the first agent takes each seat in half of the games, the first seat once more if odd.

    Every batch gets three streams spawned from `rng`: chance, first agent, second agent. So the result
    depends on the generator's seed and on `batch` alone.

    Args:
        game: The rules.
        agents: Two distinct objects, since an agent may remember something about each game of a batch.
        games: How many games, at least 1.
        batch: How many of them advance together.

    Raises:
        AgentError: an agent's action is not legal; the message names the agent.
        UsageError: no games, or a game that is not for two.
        ValueError: both agents are one object.
    """
    if games > MOST_GAMES:
        raise UsageError(f"a match has at most {MOST_GAMES:,} games, not {games:,}")
    if games < 1 or batch < 1:
        raise UsageError(f"a match needs at least 1 game and a batch of at least 1, not {min(games, batch)}")
    if game.spec.num_players != 2:
        raise UsageError(f"a match is between 2 players; {game.spec.name} has {game.spec.num_players}")
    if agents[0] is agents[1]:
        raise ValueError(f"{agents[0].name} would play itself as one object: make the agent twice")
    seats = (np.arange(games) % 2).astype(np.int8)
    started = perf_counter()
    parts = [play_batch(game, agents, seats[i : i + batch], rng.spawn(3)) for i in range(0, games, batch)]
    seconds = perf_counter() - started
    return summary(game, _joined(parts), seconds)


def play_batch(
    game: Game,
    agents: tuple[Agent, Agent],
    seat: NDArray[np.int8],
    streams: list[np.random.Generator],
) -> Record:
    """Plays B games to their end, the first agent being player `seat[b]` in game b.

    Args:
        seat: `int8[B]`, 0 or 1.
        streams: Generators of chance, the first agent and the second.
    """
    count = len(seat)
    chance = streams[0]
    for agent, stream in zip(agents, streams[1:], strict=True):
        agent.begin(game, count, stream)
    states = game.reset(count, chance)
    places = np.arange(count)  # place in the batch of each game that still runs
    value, plies = np.zeros(count), np.zeros(count, np.int32)
    ending = np.zeros(count, np.int8)
    while len(states):
        second = game.to_move(states) != seat[places]
        actions = _actions(game, agents, states, places, second, streams[1:])
        try:
            game.step(states, actions, chance)
        except IllegalAction as error:
            raise _blame(game, agents, states, actions, second) from error
        plies[places] += 1
        over = game.finished(states)
        if over.any():
            ended = places[over]
            value[ended] = game.returns(states[over])[np.arange(len(ended)), seat[ended]]
            ending[ended] = game.endings(states[over])
            states, places = states[~over], places[~over]
    return Record(seat, value, ending, plies)


def _actions(
    game: Game,
    agents: tuple[Agent, Agent],
    states: States,
    places: NDArray[np.int64],
    second: NDArray[np.bool_],
    streams: list[np.random.Generator],
) -> NDArray[np.int64]:
    """One action for each game, `int64[n]`, the second agent's in the games `second`."""
    actions = np.empty(len(states), np.int64)
    for agent, mine, stream in zip(agents, (~second, second), streams, strict=True):
        asked = np.flatnonzero(mine)
        if not len(asked):
            continue
        answer = np.asarray(agent.act(states[asked], places[asked], stream))
        if answer.shape != asked.shape or not np.issubdtype(answer.dtype, np.integer):
            raise AgentError(
                f"agent {agent.name} returned {answer.dtype}{list(answer.shape)} for {len(asked)} games, "
                f"not one whole number each"
            )
        actions[asked] = answer
    return actions


def _joined(parts: list[Record]) -> Record:
    return Record(
        seat=np.concatenate([part.seat for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        ending=np.concatenate([part.ending for part in parts]),
        plies=np.concatenate([part.plies for part in parts]),
    )


def _blame(
    game: Game,
    agents: tuple[Agent, Agent],
    states: States,
    actions: NDArray[np.int64],
    second: NDArray[np.bool_],
) -> AgentError:
    """Names the agent of the first action that is not legal."""
    legal = game.legal(states)
    inside = (actions >= 0) & (actions < game.spec.num_actions)
    good = inside & legal[np.arange(len(states)), np.where(inside, actions, 0)]
    bad = int(np.flatnonzero(~good)[0])
    return AgentError(
        f"agent {agents[int(second[bad])].name} chose action {actions[bad]}, which is not legal here "
        f"(legal: {', '.join(map(str, np.flatnonzero(legal[bad])))})"
    )


def summary(game: Game, record: Record, seconds: float) -> MatchResult:
    """Counts the games of a match."""
    outcome = np.sign(record.value).astype(np.int8)  # -1, 0, 1: index 0, 1, 2 of OUTCOMES
    pairs, counts = np.unique(np.stack([outcome + 1, record.ending]), axis=1, return_counts=True)
    categories = Counter(
        {f"{OUTCOMES[o]} by {game.spec.endings[e]}": int(n) for (o, e), n in zip(pairs.T, counts, strict=True)}
    )
    seats = {name: _counts(outcome[record.seat == i]) for i, name in enumerate(SEATS)}
    total = _counts(outcome)
    return MatchResult(
        games=int(total["games"]),
        wins=int(total["wins"]),
        draws=int(total["draws"]),
        losses=int(total["losses"]),
        categories=dict(categories.most_common()),
        seats=seats,
        mean_return=float(record.value.mean()),
        return_error=float(record.value.std(ddof=1) / len(record.value) ** 0.5) if len(record.value) > 1 else 0.0,
        mean_plies=float(record.plies.mean()),
        seconds=seconds,
    )


def _counts(outcome: NDArray[np.int8]) -> dict[str, float]:
    games, wins = len(outcome), int((outcome > 0).sum())
    return {
        "games": games,
        "wins": wins,
        "draws": int((outcome == 0).sum()),
        "losses": int((outcome < 0).sum()),
        "win_rate": wins / games if games else 0.0,
    }
