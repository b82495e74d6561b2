"""Matches between two agents, many games in lock step.

Where more than two play, each for himself, the first agent has one seat and the second all the others. All games of a
batch advance one ply at a time. In each round every agent is asked once, for all the games in which it is to move;
games that have ended are taken out, so the batch shrinks until the longest game is over.
"""

from collections import Counter
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError
from dancfr.evaluation.sides import Sides, sides_of
from dancfr.evaluation.statistics import sweeps, wilson
from envs.agent import Agent
from envs.game import Game, IllegalAction, RaggedGame, States
from learners.cfr.agent import UnknownInfostate

OUTCOMES = ("loss", "draw", "win")
BATCH = 1024
MOST_GAMES = 10_000_000


class AgentError(RunError):
    """An agent returned what is no legal action."""


@dataclass(frozen=True)
class Record:
    """What came of each of N games; arrays are `[N]`, in the order of play.

    Attributes:
        seat: Side that the first agent was, `int8`.
        outcome: 1 the first agent won, 0 drawn, -1 it lost, `int8`.
        value: Return of the first agent, `float64`, in the game's unit.
        ending: Index into `game.spec.endings`, `int8`.
        plies: Decisions of all players together, `int32`.
        winning: Share of the sides that won, `float64`; None where there are two.
    """

    seat: NDArray[np.int8]
    outcome: NDArray[np.int8]
    value: NDArray[np.float64]
    ending: NDArray[np.int8]
    plies: NDArray[np.int32]
    winning: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Deals:
    """Deals that were played twice, with the sides changed, from the side of the match's first agent.

    Attributes:
        both, one, none: In how many of them it won both games, one, and none.
    """

    both: int
    one: int
    none: int

    @property
    def ci95(self) -> tuple[float, float]:
        """95 % interval of the win rate by the deals' results, see `dancfr.evaluation.statistics.sweeps`.

        As a rule it is narrower than Wilson's, which takes all games as independent: the two games of a deal share
        their cards, so where the first is won by luck, the second tends to be lost by it, and the deal's mean varies
        less than that of two games with cards of their own. Where nearly all games are won, luck decides little, and it
        is wider: few deals cannot tell whether their games would have been lost together.
        """
        return sweeps(self.both, self.one, self.none)


@dataclass(frozen=True)
class MatchResult:
    """Outcome of a match, from the side of its first agent.

    Attributes:
        wins, draws, losses: Games won, drawn and lost: with a positive, zero and negative return or, between teams, as
            the rules say. Where one of P > 2 players alone loses and the others share what he pays, they have won.
        categories: Games by outcome and ending, such as ``"win by escape"`` or ``"win by reds taken"``: the
            opponent took the last red ghost there. Only what happened is listed, most frequent first.
        seats: ``{"first": {...}, "second": {...}}``: games, wins, draws, losses and win rate in each seat; between
            teams in the seats of each, ``"seats 0 and 2"`` and ``"seats 1 and 3"``; of P > 2 players each for himself
            ``"seat 0"`` to ``"seat P-1"``.
        mean_return: Mean return, in the game's unit.
        return_error: Its standard error, of deals that were played twice by their means; 0 for a single one.
        mean_plies: Decisions of all players in a game, on average.
        seconds: Wall time of the play alone.
        deals: Results by deal, where deals were played twice.
        equal_share: Of P > 2 players each for himself, the share of these games that a seat drawn at random won: what
            the win rate is to be compared with. 1/P where every game has one winner; else more or less, since several
            may win, or nobody. None between two.
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
    deals: Deals | None = None
    equal_share: float | None = None

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
            "mean_return_ci95": [self.mean_return + z * self.return_error for z in (-1.96, 1.96)],
            "return_error": self.return_error,
            "seconds": self.seconds,
        }
        if self.deals is not None:
            counts = {"both": self.deals.both, "one": self.deals.one, "none": self.deals.none}
            found |= {"ci95_pairs": list(self.deals.ci95), "deals": counts}
        if self.equal_share is not None:
            found["equal_share"] = self.equal_share
        return found


def play(
    game: Game | RaggedGame,
    agents: tuple[Agent, Agent],
    games: int,
    rng: np.random.Generator,
    batch: int = BATCH,
) -> MatchResult:
    """Plays a match; the first agent takes each side in half of the games, the first side once more if odd.

    Where P > 2 play, each for himself, it takes the seats in turn, so each in a Pth of the games, and the second agent
    plays all the others. That one agent is asked for them all, each seat from what that seat alone knows.

    Between teams an agent plays all seats of one, and each deal is played twice with the teams changed, so N games are
    N/2 deals. Every batch gets three streams spawned from `rng`: chance, first agent, second agent. So the result
    depends on the generator's seed and on `batch` alone.

    Args:
        game: The rules.
        agents: Two distinct objects, since an agent may remember something about each game of a batch.
        games: How many games, at least 1.
        batch: How many of them advance together; one more if deals are played twice and it is odd.

    Raises:
        AgentError: an agent's action is not legal; the message names the agent.
        UsageError: no games, or a game that `sides_of` refuses.
        ValueError: both agents are one object.
    """
    if games > MOST_GAMES:
        raise UsageError(f"a match has at most {MOST_GAMES:,} games, not {games:,}")
    if games < 1 or batch < 1:
        raise UsageError(f"a match needs at least 1 game and a batch of at least 1, not {min(games, batch)}")
    sides = sides_of(game)
    if agents[0] is agents[1]:
        raise ValueError(f"{agents[0].name} would play itself as one object: make the agent twice")
    seats = (np.arange(games) % len(sides.names)).astype(np.int8)
    batch += batch % sides.copies
    started = perf_counter()
    parts = [play_batch(game, agents, seats[i : i + batch], rng.spawn(3)) for i in range(0, games, batch)]
    seconds = perf_counter() - started
    return summary(game, _joined(parts), seconds)


def play_batch(
    game: Game | RaggedGame,
    agents: tuple[Agent, Agent],
    seat: NDArray[np.int8],
    streams: list[np.random.Generator],
) -> Record:
    """Plays B games to their end, the first agent being side `seat[b]` in game b.

    Args:
        seat: `int8[B]`, index into `Sides.names`.
        streams: Generators of chance, the first agent and the second.
    """
    sides, count, chance = sides_of(game), len(seat), streams[0]
    rules: Any = game  # agents of either kind of game say which one they take
    for agent, stream in zip(agents, streams[1:], strict=True):
        agent.begin(rules, count, stream)
    states = sides.start(count, chance)
    places = np.arange(count)  # place in the batch of each game that still runs
    outcome, ending = np.zeros(count, np.int8), np.zeros(count, np.int8)
    value, winning, plies = np.zeros(count), np.zeros(count), np.zeros(count, np.int32)
    while len(states):
        second = sides.to_move(states) != seat[places]
        actions = _actions(sides, agents, states, places, second, streams[1:])
        try:
            sides.step(states, actions, chance)
        except IllegalAction as error:
            bad, told = sides.illegal(states, actions)
            raise AgentError(f"agent {agents[int(second[bad])].name} {told}") from error
        plies[places] += 1
        over = game.finished(states)
        if over.any():
            ended = places[over]
            outcome[ended], value[ended] = sides.results(states[over], seat[ended])
            winning[ended] = sides.winning(states[over])
            ending[ended] = game.endings(states[over])
            states, places = states[~over], places[~over]
    return Record(seat, outcome, value, ending, plies, winning if len(sides.names) > 2 else None)


def _actions(
    sides: Sides,
    agents: tuple[Agent, Agent],
    states: States,
    places: NDArray[np.int64],
    second: NDArray[np.bool_],
    streams: list[np.random.Generator],
) -> NDArray[Any]:
    """One action for each game, `[n]`, the second agent's in the games `second`."""
    actions = np.empty(len(states), sides.action_dtype)
    for agent, mine, stream in zip(agents, (~second, second), streams, strict=True):
        asked = np.flatnonzero(mine)
        if not len(asked):
            continue
        try:
            answer = np.asarray(agent.act(states[asked], places[asked], stream))
        except UnknownInfostate as error:
            raise AgentError(f"agent {error}") from None
        records = sides.action_dtype.names is not None
        fits = answer.dtype == sides.action_dtype if records else np.issubdtype(answer.dtype, np.integer)
        if answer.shape != asked.shape or not fits:
            kind = "record" if answer.dtype.names else answer.dtype
            wanted = "action record" if records else "whole number"
            raise AgentError(
                f"agent {agent.name} returned {kind}{list(answer.shape)} for {len(asked)} games, not one {wanted} each"
            )
        actions[asked] = answer
    return actions


def _joined(parts: list[Record]) -> Record:
    winning = [part.winning for part in parts if part.winning is not None]
    return Record(
        seat=np.concatenate([part.seat for part in parts]),
        outcome=np.concatenate([part.outcome for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        ending=np.concatenate([part.ending for part in parts]),
        plies=np.concatenate([part.plies for part in parts]),
        winning=np.concatenate(winning) if winning else None,
    )


def summary(game: Game | RaggedGame, record: Record, seconds: float) -> MatchResult:
    """Counts the games of a match."""
    sides = sides_of(game)
    pairs, counts = np.unique(np.stack([record.outcome + 1, record.ending]), axis=1, return_counts=True)
    categories = Counter(
        {f"{OUTCOMES[o]} by {game.spec.endings[e]}": int(n) for (o, e), n in zip(pairs.T, counts, strict=True)}
    )
    seats = {name: _counts(record.outcome[record.seat == i]) for i, name in enumerate(sides.names)}
    total = _counts(record.outcome)
    # results of one deal go together: their mean counts once, and a deal that was played once tells nothing of them
    twice = len(record.value) // 2 if sides.copies == 2 else 0
    values = record.value[: 2 * twice].reshape(-1, 2).mean(axis=1) if twice else record.value
    won = (record.outcome[: 2 * twice].reshape(-1, 2) > 0).sum(axis=1)
    return MatchResult(
        games=int(total["games"]),
        wins=int(total["wins"]),
        draws=int(total["draws"]),
        losses=int(total["losses"]),
        categories=dict(categories.most_common()),
        seats=seats,
        mean_return=float(record.value.mean()),
        return_error=float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0,
        mean_plies=float(record.plies.mean()),
        seconds=seconds,
        deals=Deals(*(int((won == n).sum()) for n in (2, 1, 0))) if sides.copies == 2 else None,
        equal_share=None if record.winning is None else float(record.winning.mean()),
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
