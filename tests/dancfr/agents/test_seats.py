"""Tests of matches of more than two players without teams: one agent in each seat in turn, another in all others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dancfr
from dancfr.agents.league.membership import LeagueRequest, apply_request
from dancfr.agents.match import play as play_match
from dancfr.agents.tournament import tournament
from dancfr.cli.output import describe_match
from dancfr.cli.ratings_text import describe_tournament
from dancfr.errors import UsageError
from dancfr.evaluation.arena import AgentError, MatchResult, Record, play, summary
from dancfr.evaluation.sides import sides_of
from envs.cheat import Cheat
from envs.cheat.players import HeuristicAgent
from envs.game import States
from envs.players import RandomAgent

FOUR = Cheat(ranks=4, copies=4, players=4)
HEALTHY = replace(FOUR, health=1000)  # no player's health will be gone
FRAIL = replace(FOUR, health=1)


class SeatLog(RandomAgent):
    """Plays at random and records its players in each game."""

    def __init__(self) -> None:
        super().__init__()
        self.seats: dict[int, set[int]] = {}

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        assert len(set(games.tolist())) == len(games)
        for place, player in zip(games, FOUR.to_move(states), strict=True):
            self.seats.setdefault(int(place), set()).add(int(player))
        return super().act(states, games, rng)


def match(one: Any, other: Any, game: Cheat = FOUR, games: int = 400, seed: int = 1, **more: Any) -> MatchResult:
    return play(game, (one, other), games, np.random.default_rng(seed), **more)


def test_the_first_agent_has_every_seat_in_turn_and_the_other_all_the_rest() -> None:
    one, other = SeatLog(), SeatLog()
    match(one, other, games=41)
    assert one.seats == {b: {b % 4} for b in range(41)}
    for place, seats in other.seats.items():
        assert seats == {0, 1, 2, 3} - {place % 4}
    assert len(other.seats) == 41


def test_seats_go_on_in_turn_from_one_batch_to_the_next() -> None:
    result = match(RandomAgent(), RandomAgent(), games=50, batch=7)
    assert {name: counts["games"] for name, counts in result.seats.items()} == {
        "seat 0": 13,
        "seat 1": 13,
        "seat 2": 12,
        "seat 3": 12,
    }
    for key, total in (("wins", result.wins), ("draws", result.draws), ("losses", result.losses)):
        assert sum(counts[key] for counts in result.seats.values()) == total
    assert result.wins + result.draws + result.losses == 50


def test_with_one_winner_each_an_equal_player_wins_his_share() -> None:
    result = match(RandomAgent(), RandomAgent(), HEALTHY, 6000, seed=2)
    assert set(result.categories) == {"win by hand empty", "loss by hand empty"}
    assert result.equal_share == 0.25
    low, high = result.ci95
    assert low < 0.25 < high
    assert abs(result.mean_return) < 4 * result.return_error
    assert result.mean_return == pytest.approx((result.wins - result.losses / 3) / 6000, abs=1e-6)


def by_share(result: MatchResult) -> float:
    """The reference value `equal_share` of the win rate."""
    assert result.equal_share is not None
    return result.equal_share


def test_where_one_loses_alone_all_the_others_have_won() -> None:
    result = match(RandomAgent(), RandomAgent(), FRAIL, 1200)
    by_health = sum(n for name, n in result.categories.items() if name.endswith("by health gone"))
    assert by_health > 600
    assert by_share(result) == pytest.approx((0.75 * by_health + 0.25 * (1200 - by_health)) / 1200)
    low, high = result.ci95
    assert low < by_share(result) < high


def test_where_nobody_wins_the_game_is_drawn() -> None:
    result = match(RandomAgent(), RandomAgent(), replace(HEALTHY, ply_limit=40))
    assert result.draws == result.categories["draw by ply limit"] > 0
    assert result.equal_share == pytest.approx(0.25 * (1 - result.draws / 400))


def test_a_better_player_wins_more_than_his_share_in_every_seat() -> None:
    game = Cheat(players=4, health=1000)
    result = match(HeuristicAgent(), RandomAgent(), game, 200)
    assert min(counts["win_rate"] for counts in result.seats.values()) > 0.6
    weaker = match(RandomAgent(), HeuristicAgent(), game, 200)
    assert weaker.ci95[1] < 0.25


def test_the_seed_decides_every_game() -> None:
    def once(seed: int) -> dict[str, object]:
        found = match(HeuristicAgent(), RandomAgent(), games=80, seed=seed).as_dict()
        return {key: value for key, value in found.items() if key not in ("seconds", "games_per_second")}

    assert once(6) == once(6)
    assert once(6) != once(7)


def test_the_command_tells_what_an_equal_player_would_win() -> None:
    found = play_match("heuristic", "random", "cheat", 40, 3, options=("players=4", "health=1000")).as_dict()
    assert found["game_options"] == {"players": 4, "health": 1000}
    assert list(found["seats"]) == ["seat 0", "seat 1", "seat 2", "seat 3"]
    assert found["equal_share"] == 0.25
    lines = describe_match(found).splitlines()
    assert lines[1] == "one agent against 3 of the other: a seat drawn at random won 25.0 % of these games"
    assert lines[2].startswith("mean return +")
    found["equal_share"] = 0.7
    assert (
        describe_match(found)
        .splitlines()[1]
        .endswith("won 70.0 % of these games; one winner each would make it 25.0 %")
    )


def test_between_two_nothing_is_said_of_shares() -> None:
    found = play_match("heuristic", "random", "mini-cheat", 20).as_dict()
    assert "equal_share" not in found
    assert list(found["seats"]) == ["first", "second"]
    assert "seat drawn" not in describe_match(found)


def test_a_record_without_shares_is_counted_as_well() -> None:
    seat, outcome = np.arange(4, dtype=np.int8), np.array([1, -1, 1, 0], np.int8)
    record = Record(seat, outcome, np.array([1, -1, 1 / 3, 0]), np.ones(4, np.int8), np.full(4, 9, np.int32))
    result = summary(FOUR, record, 1.0)
    assert (result.wins, result.draws, result.losses, result.equal_share) == (2, 1, 1, None)
    assert [counts["wins"] for counts in result.seats.values()] == [1, 0, 1, 0]


def test_an_illegal_action_names_the_agent() -> None:
    class Stubborn(RandomAgent):
        name = "stubborn"

        def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
            return np.full(len(states), 999)

    with pytest.raises(AgentError, match=r"agent stubborn chose action 999, .*legal: "):
        match(RandomAgent(), Stubborn(), games=8)


def test_tournaments_of_more_than_two_tell_returns_against_copies() -> None:
    bots, options = ("random", "heuristic"), {"players": 3}
    found = tournament(bots, "cheat", 30, 1, options=options)
    for one, other in (bots, bots[::-1]):
        cell, match = found.found["table"][one][other], dancfr.play(one, other, "cheat", 30, 1, options=options)
        assert cell == {key: match.as_dict()[key] for key in cell}
    assert (found.ratings, found.agents) == ({}, list(bots))
    assert (
        found.frame().loc["heuristic", "against random"] == found.found["table"]["heuristic"]["random"]["mean_return"]
    )
    told = describe_tournament(found.as_dict())
    assert told.startswith("30 games of cheat each: mean return of each agent, with all other seats held by copies")
    assert "rating" not in told + repr(found) + found._repr_html_()


def test_leagues_of_more_than_two_are_refused_and_name_the_tournament(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"cheat has 3 players here: dancfr tournament random heuristic [^\n]*--game cheat"
    ):
        apply_request(LeagueRequest(tmp_path, "cheat", ("players=3",)), None)


def test_teams_of_another_kind_are_refused() -> None:
    game = Cheat(players=3)
    object.__setattr__(game, "spec", replace(game.spec, teams=(0, 1, 2)))
    with pytest.raises(UsageError, match=r"cheat has 3 players in 3 teams$"):
        sides_of(game)
