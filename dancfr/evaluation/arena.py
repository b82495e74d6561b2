"""Matches between two agents, with many games in lock step.

In games of more than two players without teams, the first agent has one seat and the second agent has all the others.
All games of a batch advance by one ply at a time: in each round every agent is called once, for all games in which it
is to move. Finished games are removed, so the batch shrinks until the longest game is over.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError
from dancfr.evaluation.sides import Sides, sides_of
from dancfr.evaluation.statistics import BoundedMean, bounded_mean, sweeps, wilson
from envs.agent import Agent
from envs.capabilities import largest_return
from envs.game import ROUNDING, GameBase, IllegalAction, States
from learners.cfr.agent import UnknownInfostate

OUTCOMES = ("loss", "draw", "win")
BATCH = 1024
Watch = Callable[[States, NDArray[np.int64]], None]
"""A function of the running games of a batch, and of their places in it."""
MOST_GAMES = 10_000_000


class AgentError(RunError):
    """An agent returned something other than a legal action."""


@dataclass(frozen=True)
class Record:
    """Results of N games; arrays have shape `[N]`, in the order of play.

    Attributes:
        seat: Side of the first agent, `int8`.
        outcome: 1 if the first agent won, 0 for a draw, -1 if it lost, `int8`.
        value: Return of the first agent in the game's unit, `float64`.
        ending: Index into `game.spec.endings`, `int8`.
        plies: Number of decisions of all players, `int32`.
        winning: Fraction of the sides that won, `float64`; None in games of two sides.
        total: Sum of the returns of all sides, `float64`; None in games without stakes.
    """

    seat: NDArray[np.int8]
    outcome: NDArray[np.int8]
    value: NDArray[np.float64]
    ending: NDArray[np.int8]
    plies: NDArray[np.int32]
    winning: NDArray[np.float64] | None = None
    total: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Deals:
    """Counts of deals that were played twice, with the sides swapped, from the view of the first agent.

    Attributes:
        both, one, none: Number of deals in which it won both games, one game, and no game.
    """

    both: int
    one: int
    none: int

    @property
    def ci95(self) -> tuple[float, float]:
        """95 % interval of the win rate from the results by deal, see `dancfr.evaluation.statistics.sweeps`.

        It is usually narrower than Wilson's interval, which assumes independent games: the two games of a deal share
        their cards, so luck that wins the first tends to lose the second, and the mean of a deal varies less than the
        mean of two independent games. If nearly all games are won, luck matters little and the interval is wider, since
        few deals do not show whether the games of a deal are lost together.
        """
        return sweeps(self.both, self.one, self.none)


@dataclass(frozen=True)
class MatchResult:
    """Result of a match, from the view of the first agent.

    Attributes:
        wins, draws, losses: Number of games with a return above, at and below the mean of all players, which is 0 in
            zero-sum games; in games of teams, of games won, drawn and lost under the rules. If one of P > 2 players
            loses to all others, each of them has won.
        categories: Number of games by outcome and ending, such as ``"win by escape"``, most frequent first. In ``"win
            by reds taken"`` the opponent has taken the last red ghost. Categories without games are omitted.
        seats: Number of games, wins, draws and losses, and the win rate, per seat: ``{"first": {...}, "second":
            {...}}``. The keys are ``"seats 0 and 2"`` and ``"seats 1 and 3"`` in games of teams, and ``"seat 0"`` to
            ``"seat P-1"`` in games of P > 2 players without teams.
        mean_return: Mean return in the game's unit.
        interval: Its interval, over deals if they were played twice, see `dancfr.evaluation.statistics.bounded_mean`.
            A last deal that was played only once is left out.
        return_error: Standard error of the mean return, over deals if they were played twice; 0 for a single game or
            deal, and where all returns are equal.
        mean_plies: Mean number of decisions of all players per game.
        seconds: Wall-clock seconds of play.
        scores: Mean scores of successive games, as many at a time as the first agent needs to have each side once: 1
            won, 1/2 drawn, 0 lost, in games with stakes the return less half of `returns_sum` on a scale from 0 to 1,
            `float32`. Of deals that are played twice these are their two games.
        deals: Results by deal, if deals were played twice.
        equal_share: Reference value for the win rate in games of P > 2 players without teams: the fraction of these
            games that a seat drawn at random won. It is 1/P if every game has one winner. None in games of two sides.
        constant_sum: Whether the returns of a game have a constant sum. If not, a lost game may have a high return.
        stakes: The largest return of a game with stakes, in which the mean return counts and not the games won, see
            `envs.game.GameSpec.stakes`.
        returns_sum: What the returns of both sides add up to in every game with stakes.
    """

    games: int
    wins: int
    draws: int
    losses: int
    categories: dict[str, int]
    seats: dict[str, dict[str, float]]
    mean_return: float
    interval: BoundedMean = field(repr=False)
    return_error: float
    mean_plies: float
    seconds: float
    scores: NDArray[np.float32] = field(repr=False, compare=False)
    deals: Deals | None = None
    equal_share: float | None = None
    constant_sum: bool = True
    stakes: float | None = None
    returns_sum: float = 0.0

    @property
    def win_rate(self) -> float:
        """Fraction of games won; draws count as not won (paper 000, 5.1)."""
        return self.wins / self.games

    @property
    def ci95(self) -> tuple[float, float]:
        """Wilson 95 % interval of the win rate, as if all games were independent."""
        return wilson(self.wins, self.games)

    @property
    def paired_ci95(self) -> tuple[float, float]:
        """95 % interval of the win rate: by deals, where each was played from both sides, `ci95` elsewhere."""
        return self.ci95 if self.deals is None else self.deals.ci95

    @property
    def mean_return_ci95(self) -> tuple[float, float]:
        """95 % interval of the mean return."""
        return self.interval.low, self.interval.high

    @property
    def games_per_second(self) -> float:
        return self.games / self.seconds if self.seconds > 0 else 0.0

    def as_dict(self) -> dict[str, object]:
        """Returns the result with the keys of `dancfr evaluate --json` and of evaluation rows of `metrics.jsonl`."""
        found: dict[str, object] = {
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
            "mean_return_ci95": list(self.mean_return_ci95),
            "return_error": self.return_error,
            "seconds": self.seconds,
        }
        if self.deals is not None:
            counts = {"both": self.deals.both, "one": self.deals.one, "none": self.deals.none}
            found |= {"ci95_pairs": list(self.deals.ci95), "deals": counts}
        if self.equal_share is not None:
            found["equal_share"] = self.equal_share
        if not self.constant_sum:
            found["constant_sum"] = False
        if self.stakes is not None:
            found["stakes"] = self.stakes
        if self.returns_sum:
            found["returns_sum"] = self.returns_sum
        return found


def name_of(agent: object) -> str:
    """Returns the name of an agent; that of its class if it has none."""
    return str(getattr(agent, "name", type(agent).__name__))


def play(
    game: GameBase,
    agents: tuple[Agent, Agent],
    games: int,
    rng: np.random.Generator,
    batch: int = BATCH,
) -> MatchResult:
    """Plays a match in which the first agent has each side in half of the games (the first side once more if odd).

    In games of P > 2 players without teams the first agent has each seat in 1/P of the games, and the second agent
    plays all other seats, each from the information of that seat only.

    In games of teams an agent plays all seats of a team. Each deal is played twice with the teams swapped, so N games
    are N/2 deals. Every batch uses three generators spawned from `rng`, for chance and each agent, so the result
    depends only on the seed of `rng` and on `batch`.

    Args:
        game: Rules of the game.
        agents: Two distinct objects, since agents may keep state per game of a batch.
        games: Number of games, at least 1.
        batch: Number of games in lock step; rounded up to an even number if deals are played twice.

    Raises:
        AgentError: an agent's action is not legal; the message names the agent.
        UsageError: `games` or `batch` is out of range, or `sides_of` rejects the game.
        ValueError: both agents are the same object.
    """
    if games > MOST_GAMES:
        raise UsageError(f"games must be at most {MOST_GAMES:,}, got {games:,}")
    if games < 1 or batch < 1:
        raise UsageError(f"games and batch must be at least 1, got {games} and {batch}")
    sides = sides_of(game)
    if agents[0] is agents[1]:
        raise ValueError(f"both agents are the same object {name_of(agents[0])}: make the agent twice")
    seats = (np.arange(games) % len(sides.names)).astype(np.int8)
    batch += batch % sides.copies
    started = perf_counter()
    parts = [play_batch(game, agents, seats[i : i + batch], rng.spawn(3)) for i in range(0, games, batch)]
    seconds = perf_counter() - started
    return summary(game, _joined(parts), seconds)


def play_batch(
    game: GameBase,
    agents: tuple[Agent, Agent],
    seat: NDArray[np.int8],
    streams: list[np.random.Generator],
    watch: Watch | None = None,
) -> Record:
    """Plays B games to the end; the first agent has side `seat[b]` in game b.

    Args:
        game: Rules of the game.
        agents: The two agents.
        seat: Indices into `Sides.names`, `int8[B]`.
        streams: Generators of chance, the first agent and the second agent.
        watch: Is shown all running games before each decision.
    """
    sides, count, chance = sides_of(game), len(seat), streams[0]
    for agent, stream in zip(agents, streams[1:], strict=True):
        agent.begin(game, count, stream)
    states = sides.start(count, chance)
    places = np.arange(count)  # index in the batch of each unfinished game
    outcome, ending = np.zeros(count, np.int8), np.zeros(count, np.int8)
    value, winning, total = np.zeros((3, count))
    plies = np.zeros(count, np.int32)
    several, staked = len(sides.names) > 2, game.spec.stakes is not None
    while True:
        over = game.finished(states)  # also before the first decision, if chance ends a game there
        if over.any():
            ended = places[over]
            outcome[ended], value[ended] = sides.results(states[over], seat[ended])
            winning[ended] = sides.winning(states[over])
            if staked:
                total[ended] = sides.total(states[over])
            ending[ended] = game.endings(states[over])
            states, places = states[~over], places[~over]
        if not len(states):
            break
        if watch is not None:
            watch(states, places)
        second = sides.to_move(states) != seat[places]
        actions = _actions(sides, agents, states, places, second, streams[1:])
        try:
            sides.step(states, actions, chance)
        except IllegalAction as error:
            bad, reason = sides.illegal(states, actions)
            raise AgentError(f"agent {name_of(agents[int(second[bad])])} {reason}") from error
        plies[places] += 1
    return Record(seat, outcome, value, ending, plies, winning if several else None, total if staked else None)


def _actions(
    sides: Sides,
    agents: tuple[Agent, Agent],
    states: States,
    places: NDArray[np.int64],
    second: NDArray[np.bool_],
    streams: list[np.random.Generator],
) -> NDArray[Any]:
    """Returns one action per game, `[n]`: the second agent's where `second` is set, else the first agent's."""
    actions = np.empty(len(states), sides.action_dtype)
    for agent, mine, stream in zip(agents, (~second, second), streams, strict=True):
        asked = np.flatnonzero(mine)
        if len(asked):
            actions[asked] = ask(agent, states[asked], places[asked], stream, sides.action_dtype)
    return actions


def ask(
    agent: Agent, states: States, games: NDArray[np.int64], rng: np.random.Generator, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Asks an agent for an action of the type `dtype` in each of n games, see `Agent.act`.

    Raises:
        AgentError: the answer does not have one action a game, or the agent does not know an infostate.
    """
    try:
        answer = np.asarray(agent.act(states, games, rng))
    except UnknownInfostate as error:
        raise AgentError(f"agent {error}") from None
    fits = answer.dtype == dtype if dtype.names else np.issubdtype(answer.dtype, np.integer)
    if answer.shape != games.shape or not fits:
        kind = "record" if answer.dtype.names else answer.dtype
        wanted = "action record" if dtype.names else "integer"
        raise AgentError(
            f"agent {name_of(agent)} returned {kind}{list(answer.shape)} for {len(games)} games, "
            f"not one {wanted} per game"
        )
    return answer


def _joined(parts: list[Record]) -> Record:
    winning = [part.winning for part in parts if part.winning is not None]
    total = [part.total for part in parts if part.total is not None]
    return Record(
        seat=np.concatenate([part.seat for part in parts]),
        outcome=np.concatenate([part.outcome for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        ending=np.concatenate([part.ending for part in parts]),
        plies=np.concatenate([part.plies for part in parts]),
        winning=np.concatenate(winning) if winning else None,
        total=np.concatenate(total) if total else None,
    )


def summary(game: GameBase, record: Record, seconds: float) -> MatchResult:
    """Summarises the games of a match.

    Raises:
        RunError: a return exceeds the largest that the game declares.
    """
    sides, most = sides_of(game), largest_return(game)
    largest = float(np.abs(record.value).max())
    if largest > most * (1 + 1e-6):
        raise RunError(f"{game.spec.name}: a return of {largest:g} exceeds the largest that it declares, {most:g}")
    pairs, counts = np.unique(np.stack([record.outcome + 1, record.ending]), axis=1, return_counts=True)
    categories = Counter(
        {f"{OUTCOMES[o]} by {game.spec.endings[e]}": int(n) for (o, e), n in zip(pairs.T, counts, strict=True)}
    )
    seats = {name: _counts(record.outcome[record.seat == i]) for i, name in enumerate(sides.names)}
    total = _counts(record.outcome)
    # The two results of a deal are averaged and count once; a last deal that was played only once is left out.
    twice = len(record.value) // 2 if sides.copies == 2 else 0
    values = record.value[: 2 * twice].reshape(-1, 2).mean(axis=1) if twice else record.value
    won = (record.outcome[: 2 * twice].reshape(-1, 2) > 0).sum(axis=1)
    turns, returns_sum = len(sides.names), _returns_sum(game, record)
    score = record.outcome if game.spec.stakes is None else (record.value - returns_sum / 2) / game.spec.stakes
    scores = np.asarray(score / 2 + 0.5, np.float32)[: len(record.outcome) // turns * turns]
    return MatchResult(
        games=int(total["games"]),
        wins=int(total["wins"]),
        draws=int(total["draws"]),
        losses=int(total["losses"]),
        categories=dict(categories.most_common()),
        seats=seats,
        mean_return=float(record.value.mean()),
        interval=bounded_mean(values, most),
        return_error=float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0,
        mean_plies=float(record.plies.mean()),
        seconds=seconds,
        scores=scores.reshape(-1, turns).mean(axis=1),
        deals=Deals(*(int((won == n).sum()) for n in (2, 1, 0))) if sides.copies == 2 else None,
        equal_share=None if record.winning is None else float(record.winning.mean()),
        constant_sum=game.spec.constant_sum,
        stakes=game.spec.stakes,
        returns_sum=returns_sum,
    )


def _returns_sum(game: GameBase, record: Record) -> float:
    """The sum of both players' returns, the same in every game with stakes; exactly 0 where only rounding differs."""
    if game.spec.stakes is None or game.spec.num_players != 2 or record.total is None:
        return 0.0
    found = float(record.total.mean())
    return found if abs(found) > ROUNDING * game.spec.stakes else 0.0


def _counts(outcome: NDArray[np.int8]) -> dict[str, float]:
    games, wins = len(outcome), int((outcome > 0).sum())
    return {
        "games": games,
        "wins": wins,
        "draws": int((outcome == 0).sum()),
        "losses": int((outcome < 0).sum()),
        "win_rate": wins / games if games else 0.0,
    }
