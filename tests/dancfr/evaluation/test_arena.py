"""Tests of matches in lock step: seats, symmetry, determinism, and agents that break the rules."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError
from dancfr.evaluation.arena import AgentError, Deals, Record, play, summary
from dancfr.evaluation.statistics import bounded_mean, sweeps, wilson
from envs.capabilities import largest_return
from envs.game import States
from envs.geister import Geister
from envs.guandan import GuanDan
from envs.players import RandomAgent
from tests.games import sudden_kuhn

FULL = Geister(ply_limit=300)
MINI = Geister(size=4, ply_limit=30)


class SeatLog(RandomAgent):
    """Plays at random and records its player and the games in which it was asked to move."""

    name = "seat log"

    def __init__(self) -> None:
        super().__init__()
        self.seats: dict[int, set[int]] = {}

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        for place, player in zip(games, MINI.to_move(states), strict=True):
            self.seats.setdefault(int(place), set()).add(int(player))
        return super().act(states, games, rng)


class Constant(RandomAgent):
    """Always returns the same answer, of any type."""

    name = "stubborn"

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return np.full(len(states), self.answer)


def test_random_against_random_is_symmetric_and_matches_known_rates() -> None:
    games = 6000
    result = play(FULL, (RandomAgent(), RandomAgent()), games, np.random.default_rng(3))
    low, high = result.ci95
    assert low < 0.491 < high  # (100 - 1.8) / 2 percent: measured over 100,000 games
    assert abs(result.wins - result.losses) < 4 * np.sqrt(games)
    assert result.draws / games == pytest.approx(0.018, abs=0.007)
    assert result.mean_plies == pytest.approx(150.0, abs=4)
    escapes = sum(n for name, n in result.categories.items() if name.endswith("by escape")) / games
    assert escapes == pytest.approx(0.338, abs=0.025)


def test_games_that_end_before_a_decision_ask_nobody() -> None:
    game = sudden_kuhn()

    class Asked(RandomAgent):
        def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
            assert not game.finished(states).any()
            return super().act(states, games, rng)

    result = play(game, (Asked(), Asked()), 400, np.random.default_rng(3))
    assert result.games == 400
    assert result.wins + result.losses == 400, "player 0 wins the games that end immediately"
    assert 1.4 < result.mean_plies < 2.1, "of 2 to 3 in three games of four"


def test_counts_add_up_by_category_and_by_seat() -> None:
    result = play(FULL, (RandomAgent(), RandomAgent()), 301, np.random.default_rng(4), batch=100)
    assert result.wins + result.draws + result.losses == result.games == 301
    for outcome, count in (("win", result.wins), ("draw", result.draws), ("loss", result.losses)):
        assert sum(n for name, n in result.categories.items() if name.startswith(outcome)) == count
    assert [result.seats[seat]["games"] for seat in ("first", "second")] == [151, 150]
    for key, count in (("wins", result.wins), ("draws", result.draws), ("losses", result.losses)):
        assert result.seats["first"][key] + result.seats["second"][key] == count


def test_each_agent_has_each_seat_in_half_of_the_games() -> None:
    one, other = SeatLog(), SeatLog()
    play(MINI, (one, other), 50, np.random.default_rng(5))
    assert one.seats == {b: {b % 2} for b in range(50)}
    assert other.seats == {b: {1 - b % 2} for b in range(50)}


def test_the_seed_decides_every_game() -> None:
    def once(seed: int) -> dict[str, object]:
        found = play(MINI, (RandomAgent(), RandomAgent()), 400, np.random.default_rng(seed)).as_dict()
        return {key: value for key, value in found.items() if key not in ("seconds", "games_per_second")}

    assert once(6) == once(6)
    assert once(6) != once(7)


@pytest.mark.parametrize(("answer", "says"), [(31, "action 31"), (-1, "action -1"), (99, "action 99")])
def test_an_illegal_action_names_the_agent_and_the_legal_ones(answer: int, says: str) -> None:
    with pytest.raises(AgentError, match=f"agent stubborn chose {says}, .*legal: 0, ") as caught:
        play(FULL, (RandomAgent(), Constant(answer)), 10, np.random.default_rng(8))
    assert "\n" not in str(caught.value)


def test_an_answer_that_is_no_whole_number_names_the_agent() -> None:
    with pytest.raises(AgentError, match="agent stubborn returned float64"):
        play(FULL, (Constant(0.5), RandomAgent()), 10, np.random.default_rng(8))


def test_a_match_without_games_and_one_object_in_both_seats_are_refused() -> None:
    with pytest.raises(UsageError, match="games and batch must be at least 1, got 0"):
        play(MINI, (RandomAgent(), RandomAgent()), 0, np.random.default_rng(0))
    agent = RandomAgent()
    with pytest.raises(ValueError, match="make the agent twice"):
        play(MINI, (agent, agent), 2, np.random.default_rng(0))


def test_the_interval_of_the_mean_return_holds_when_almost_all_games_end_alike() -> None:
    def interval(*value: float) -> tuple[float, float]:
        """The interval of the mean of these returns, a game each."""
        return summary(FULL, returns(*value), 1.0).mean_return_ci95

    low, high = interval(*[1.0] * 398, *[-1.0] * 2)
    assert high < 1.0, "where 0.99 + 1.96 standard errors is beyond the largest return"
    assert (low, high) == pytest.approx([2 * end - 1 for end in wilson(398, 400)], abs=0.006)
    assert 0.97 < interval(*[1.0] * 400)[0] < 0.99, "where the standard error is 0"
    assert interval(1.0)[0] < 0, "since one game says little"
    half = 1.96 * np.sqrt(0.125 / 2000)
    assert interval(*[0.5, -0.5, 0.0, 0.0] * 500) == pytest.approx([-half, half], rel=0.02)


def test_the_two_games_of_a_deal_count_once() -> None:
    """Two deals with two wins, one with one and one with none; the last game is of a deal that was played once only."""
    values = np.array([3.0, 1.0, 2.0, 2.0, 2.0, -2.0, -1.0, -3.0, 3.0])
    seats, outcome = np.arange(9, dtype=np.int8) % 2, np.sign(values).astype(np.int8)
    record = Record(seats, outcome, values, np.ones(9, np.int8), np.full(9, 90, np.int32))
    result = summary(GuanDan(length="round"), record, 1.0)
    assert result.deals == Deals(both=2, one=1, none=1)
    assert (result.wins, result.mean_return) == (6, pytest.approx(7 / 9))
    interval = bounded_mean([2.0, 2.0, 0.0, -2.0], 3.0)
    assert result.mean_return_ci95 == pytest.approx((interval.low, interval.high))
    assert result.return_error == pytest.approx(np.std([2, 2, 0, -2], ddof=1) / 2)
    assert result.deals.ci95 == sweeps(2, 1, 1)


@pytest.mark.parametrize(("length", "most"), [("round", 3.0), ("match", 1.0)])
def test_whole_matches_are_worth_1_though_their_rounds_are_worth_3(length: str, most: float) -> None:
    game = GuanDan(length=length)
    assert largest_return(game) == most
    assert summary(game, returns(*[1.0] * 200), 1.0).mean_return_ci95[1] == pytest.approx(
        1.0 if most == 1 else 1.08, abs=0.01
    )


def test_a_return_beyond_the_declared_one_is_named() -> None:
    with pytest.raises(RunError, match="a return of 2 exceeds the largest that it declares, 1"):
        summary(FULL, returns(2.0, -1.0), 1.0)


def returns(*value: float) -> Record:
    """Games in the first seat with these returns."""
    values, games = np.array(value), len(value)
    outcome = np.sign(values).astype(np.int8)
    return Record(np.zeros(games, np.int8), outcome, values, np.ones(games, np.int8), np.full(games, 10, np.int32))
