"""Tests of matches between teams (deals from both sides, wins, illegal actions) and of tournaments."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.agents.functions import policy_agent
from dancfr.agents.match_rules import match_rules
from dancfr.agents.tournament import play_pairs, standings_of, tournament
from dancfr.cli.ratings_text import describe_tournament
from dancfr.errors import UsageError
from dancfr.evaluation.arena import AgentError, Record, play, summary
from envs.game import States
from envs.guandan import GuanDan
from envs.ragged import choose_rows
from tests.games import TreeGame, kuhn

ROUND, MATCH = GuanDan(), GuanDan(length="match", situation="first")


def cards(state: Any) -> bytes:
    """Returns the four hands at a table."""
    return bytes(state["low"].tobytes() + state["high"].tobytes())


class Chance:
    """Plays GuanDan at random and records its calls."""

    def __init__(self, name: str = "chance") -> None:
        self.name = name
        self.asked: list[tuple[States, NDArray[np.int64]]] = []

    def begin(self, game: GuanDan, batch: int, rng: np.random.Generator) -> None:
        self.game, self.batch = game, batch

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        self.asked.append((states.copy(), games))
        offsets, rows = self.game.choices(states)
        return rows[self.choose(offsets, rng)]

    def choose(self, offsets: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return choose_rows(offsets, rng.random(len(offsets) - 1))


class Last(Chance):
    """Always takes the last legal action, so it is deterministic and passes only if it must."""

    def choose(self, offsets: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return offsets[1:] - 1


def match(one: Any, other: Any, games: int, seed: int = 1, game: Any = ROUND, **more: Any) -> Any:
    return play(game, (one, other), games, np.random.default_rng(seed), **more)


def test_both_games_of_a_deal_have_the_same_cards_with_the_teams_changed() -> None:
    one, other = Chance(), Chance()
    match(one, other, 20)
    first: dict[int, States] = {}
    for agent in (one, other):
        for states, games in agent.asked:
            for state, place in zip(states, games, strict=True):
                if state["decisions"] == 0:
                    first[int(place)] = state
    assert set(first) == set(range(20))
    for place in range(0, 20, 2):
        assert first[place] == first[place + 1]  # the whole record: cards, levels, tributes, who leads
    assert len({cards(first[place]) for place in range(0, 20, 2)}) == 10
    for place in range(20):
        team = {int(s["to_move"]) % 2 for states, games in one.asked for s in states[games == place]}
        assert team <= {place % 2}


def test_every_agent_is_asked_once_for_all_tables_at_which_it_is_to_move() -> None:
    one, other = Chance(), Chance()
    result = match(one, other, 64)
    assert one.batch == other.batch == 64
    asked = [sum(len(games) for _, games in agent.asked) for agent in (one, other)]
    assert sum(asked) == round(64 * result.mean_plies)
    for agent in (one, other):
        assert all(len(set(games.tolist())) == len(games) for _, games in agent.asked)
        assert len(agent.asked) < 1000  # one call a ply of the longest game, not one a table


@pytest.mark.parametrize("game", [ROUND, MATCH])
def test_an_agent_that_leaves_nothing_to_chance_wins_exactly_half_against_itself(game: GuanDan) -> None:
    result = match(Last(), Last("twin"), 24, game=game)
    assert (result.wins, result.losses, result.mean_return) == (12, 12, 0.0)
    assert (result.deals.both, result.deals.one, result.deals.none) == (0, 12, 0)
    low, high = result.deals.ci95
    assert result.ci95[0] < low < 0.5 < high < result.ci95[1]
    assert result.return_error == 0


def test_counts_add_up_by_category_seat_and_deal() -> None:
    result = match(Chance(), Last(), 301, batch=100)
    found = result.as_dict()
    assert found["wins"] + found["losses"] == found["games"] == 301
    assert found["draws"] == 0
    assert set(found["categories"]) <= {
        f"{outcome} by {ending}" for outcome in ("win", "loss") for ending in ROUND.spec.endings[1:]
    }
    assert sum(found["categories"].values()) == 301
    assert {name: counts["games"] for name, counts in found["seats"].items()} == {
        "seats 0 and 2": 151,
        "seats 1 and 3": 150,
    }
    deals = found["deals"]
    assert sum(deals.values()) == 150  # the last deal was played once
    assert 0 <= result.wins - 2 * deals["both"] - deals["one"] <= 1
    assert np.isclose(result.mean_return, found["mean_return"])


def test_a_batch_never_parts_a_deal() -> None:
    whole, parts = match(Last(), Last(), 30), match(Last(), Last(), 30, batch=7)
    assert whole.deals.one == parts.deals.one == 15


def test_a_round_that_brings_nothing_is_won_all_the_same() -> None:
    """At their own level A the winners whose partner is last get no points."""
    outcome = np.array([1, -1], np.int8)
    record = Record(np.array([0, 1], np.int8), outcome, np.zeros(2), np.full(2, 3, np.int8), np.full(2, 90, np.int32))
    result = summary(ROUND, record, 1.0)
    assert (result.wins, result.draws, result.losses, result.mean_return) == (1, 0, 1, 0.0)
    assert result.categories == {"win by partner last": 1, "loss by partner last": 1}
    played = match(Last(), Last(), 600)
    lasts = played.categories["win by partner last"] + played.categories["loss by partner last"]
    assert played.wins + played.losses == 600
    assert lasts > 100


def test_a_match_ends_at_level_a_with_the_partner_not_last() -> None:
    result = match(Last(), Chance(), 12, game=MATCH)
    assert "partner last" not in " ".join(result.categories)
    assert result.mean_plies > 300
    assert abs(result.mean_return) <= 1


class Wrong(Chance):
    """Returns illegal actions."""

    def __init__(self, answer: Any) -> None:
        super().__init__("stubborn")
        self.answer = answer

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        return np.full(len(states), self.answer, getattr(self.answer, "dtype", None))


def test_an_illegal_action_names_the_agent_and_what_it_did() -> None:
    with pytest.raises(AgentError, match=r"^agent stubborn broke the rules: .*seat \d: PASS is not legal$"):
        match(Chance(), Wrong(np.zeros((), ROUND.action_dtype)), 8)


@pytest.mark.parametrize(("answer", "kind"), [(3, "int64"), (np.zeros((), [("x", np.int8)]), "record")])
def test_an_answer_that_is_no_action_record_names_the_agent(answer: Any, kind: str) -> None:
    with pytest.raises(
        AgentError, match=rf"agent stubborn returned {kind}\[\d+\] for \d+ games, not one action record"
    ):
        match(Wrong(answer), Chance(), 8)


def test_a_pair_is_seen_from_both_sides_and_all_pairs_play_the_same_deals() -> None:
    agents: dict[str, Any] = {"a": Last("a"), "b": Chance("b"), "c": Last("c")}
    pairs = play_pairs(ROUND, agents, 40, 3)
    assert list(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    told = standings_of(pairs)
    for one, other in pairs:
        here, there = told["table"][one][other], told["table"][other][one]
        assert here["win_rate"] + there["win_rate"] == 1
        assert here["ci95"] == pytest.approx([1 - bound for bound in reversed(there["ci95"])])
        assert (here["win_rate"], *here["ci95"]) == (pairs[one, other].win_rate, *pairs[one, other].deals.ci95)
    dealt = [
        {cards(state) for states, _ in agent.asked for state in states if state["decisions"] == 0}
        for agent in agents.values()
    ]
    assert dealt[0] == dealt[1] == dealt[2]
    assert len(dealt[0]) == 20
    assert [each["rating"] for each in told["ratings"]] == sorted((e["rating"] for e in told["ratings"]), reverse=True)


def test_a_tournament_tells_every_pair_and_the_ratings() -> None:
    found = tournament(["random", "greedy"], "guandan", 40, 5).found
    assert {"game", "agents", "games", "seed", "table", "pairs", "ratings", "seconds", "game_options"} <= set(found)
    assert found["game_options"] == {"length": "round", "situation": "drawn"}
    (pair,) = found["pairs"]
    assert (pair["agent"], pair["against"], pair["games"]) == ("random", "greedy", 40)
    assert found["table"]["greedy"]["random"]["win_rate"] > 0.6
    assert found["table"]["greedy"]["random"]["win_rate"] == pytest.approx(1 - pair["win_rate"])
    assert list(found["ratings"]) == ["greedy", "random"]


def test_a_tournament_of_two_players_counts_draws_for_nobody() -> None:
    found = tournament(["random", "rush"], "mini-geister", 60, 5, options={"ply_limit": 8}).found
    (pair,) = found["pairs"]
    assert pair["draws"] > 0
    assert found["table"]["rush"]["random"]["win_rate"] == pair["losses"] / 60
    assert "ci95_pairs" not in pair


def test_games_with_stakes_are_rated_by_returns_and_not_by_games_won() -> None:
    """`random` wins more hands of Leduc than an equilibrium does, and less money."""
    played = tournament(["random", "pretrained:leduc"], "leduc", 4000, 1)
    found = played.as_dict()
    (pair,) = found["pairs"]
    assert pair["wins"] > pair["losses"]
    assert pair["mean_return_ci95"][1] < 0
    assert played.agents == ["pretrained:leduc", "random"]
    low, high = found["ratings_ci95"]["pretrained:leduc"]
    score = (1 - pair["mean_return"] / 13) / 2
    assert found["ratings"]["pretrained:leduc"] == pytest.approx(200 * np.log10(score / (1 - score)), abs=0.1)
    error = pair["return_error"] / 26  # of the score
    assert (high - low) / 2 == pytest.approx(1.96 * 200 / np.log(10) * error / (score * (1 - score)), rel=0.02)
    cell = found["table"]["pretrained:leduc"]["random"]
    assert cell["mean_return"] == pytest.approx(-pair["mean_return"])
    assert cell["mean_return_ci95"] == pytest.approx([-end for end in reversed(pair["mean_return_ci95"])])
    text = describe_tournament(found)
    assert "return [95 % interval]" in text
    assert "%" not in text.split("interval]")[1], "no shares of games won"
    assert played.frame().loc["pretrained:leduc", "against random"] == cell["mean_return"]


def test_games_without_stakes_are_rated_by_games_won() -> None:
    assert "mean return" not in describe_tournament(tournament(["random", "rush"], "mini-geister", 10).as_dict())
    rounds = describe_tournament(tournament(["random", "greedy"], "guandan", 20).as_dict())
    assert "won, in %" in rounds, "the rules of GuanDan name the winners of a round, who have 1, 2 or 3 points"
    assert "mean return per game:\n  random against greedy: " in rounds


def test_intervals_of_ratings_allow_for_the_same_deals_in_all_matches() -> None:
    """Four agents that play alike: all ratings are 0, but the cards of the first one are the same in its matches."""

    def uniform(_: NDArray[np.float32], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.asarray(legal / legal.sum(axis=1, keepdims=True))

    covered = []
    for seed in range(30):
        agents = [policy_agent(uniform, "kuhn", name=name) for name in "abcd"]
        found = tournament(agents, "kuhn", 60, seed, report=lambda _: None).found
        covered += [low <= 0 <= high for low, high in found["ratings_ci95"].values()]
    assert np.mean(covered) > 0.9


def test_intervals_of_ratings_of_agents_that_differ_contain_those_of_many_games() -> None:
    def betting(share: float) -> Any:
        def policy(_: NDArray[np.float32], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
            return np.tile([1 - share, share], (len(legal), 1))

        return policy_agent(policy, "kuhn", name=f"bets {share}")

    def ratings(games: int, seed: int) -> dict[str, Any]:
        agents = [betting(share) for share in (0.2, 0.5, 0.8)]
        return tournament(agents, "kuhn", games, seed, report=lambda _: None).found

    true, covered = ratings(40_000, 1000)["ratings"], []
    for seed in range(40):
        found = ratings(100, seed)["ratings_ci95"]
        covered += [found[name][0] <= true[name] <= found[name][1] for name in true]
    assert 0.9 < np.mean(covered) < 1, "120 intervals, of three in a tournament"


def test_a_run_named_in_two_ways_is_one_agent(dmc_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(dmc_run.parent)
    link = dmc_run.parent / "link"
    link.symlink_to(dmc_run)
    for one, other in (
        (dmc_run.name, f"{dmc_run.name}/"),
        (dmc_run.name, str(dmc_run)),
        (f"./{dmc_run.name}@2", f"{dmc_run}@02"),
        (str(dmc_run), str(link)),
    ):
        with pytest.raises(UsageError) as caught:
            tournament(["random", one, other], "guandan", 2)
        assert str(caught.value) == f"{one} and {other} are the same agent: in a tournament each agent plays once"
    link.unlink()
    found = tournament([f"{dmc_run.name}@2", str(dmc_run)], "guandan", 2)
    assert found.as_dict()["agents"] == [f"{dmc_run.name}@2", str(dmc_run)]


class Paying(TreeGame):
    """A game that pays both players 1 in the end."""

    def returns(self, states: States) -> NDArray[np.float32]:
        return super().returns(states) + self.finished(states)[:, None].astype(np.float32)


def test_returns_that_add_up_to_another_constant_rate_as_those_of_zero_sum() -> None:
    game = kuhn()
    paying = Paying(game.name, game.chance, game.player, game.children, game.payoff, game.observation)
    for each in (game, paying):
        object.__setattr__(each, "spec", replace(each.spec, name="coins", max_return=3.0))
    plain, paid = (
        tournament(
            [
                policy_agent(lambda _, legal: legal / legal.sum(axis=1, keepdims=True), each, name="uniform"),
                policy_agent(lambda _, legal: np.eye(legal.shape[1])[legal.argmax(axis=1)], each, name="first"),
            ],
            each,
            400,
            seed=1,
            progress=False,
        ).as_dict()
        for each in (game, paying)
    )
    assert plain["ratings"] == pytest.approx(paid["ratings"])
    assert plain["pairs"][0].keys() == paid["pairs"][0].keys() - {"returns_sum"}
    for one, other in (("uniform", "first"), ("first", "uniform")):
        before, after = (found["table"][one][other] for found in (plain, paid))
        assert before["mean_return"] + 1 == pytest.approx(after["mean_return"])
        assert np.add(before["mean_return_ci95"], 1) == pytest.approx(after["mean_return_ci95"], abs=0.02)


def test_rules_are_the_commands_then_the_runs_with_a_length_of_their_own() -> None:
    bots = ("random", "greedy")
    assert match_rules("guandan", bots)[1] == {"length": "round", "situation": "drawn"}
    assert match_rules("guandan", bots, ("length=match",))[0] == MATCH
    drawn = match_rules("guandan", bots, ("length=match", "situation=drawn", "a_attempts=0"))[0]
    assert drawn == GuanDan(length="match", situation="drawn", a_attempts=0)
    assert match_rules("geister", bots)[1] == {"ply_limit": 300}
    assert match_rules("geister", bots, ("ply_limit=20", "forced_escape=false"))[1] == {
        "ply_limit": 20,
        "forced_escape": False,
    }


@pytest.mark.parametrize(
    ("game", "settings", "limit", "says"),
    [
        ("guandan", (), 100, "leave out --ply-limit"),
        ("guandan", ("lenght=match",), None, "no option of guandan named 'lenght'; did you mean length?"),
        ("guandan", ("a_attempts=often",), None, "option a_attempts of guandan expects an integer, got 'often'"),
        ("guandan", ("length=game",), None, "length must be round or match"),
        ("guandan", ("a_attempts=1", "a_attempts=2"), None, "option a_attempts of guandan is given twice"),
        ("guandan", ("length",), None, "'length' is not an option of guandan: write key=value, e.g. length=round"),
        ("geister", ("forced_escape=perhaps",), None, "expects true or false, got 'perhaps'"),
        ("geister", ("ply_limit=20",), 30, "--ply-limit and --option ply_limit"),
        ("guandn", ("length=match",), None, "no game named 'guandn'; did you mean guandan?"),
    ],
)
def test_options_that_a_game_does_not_take_are_refused_in_one_line(
    game: str, settings: tuple[str, ...], limit: int | None, says: str
) -> None:
    with pytest.raises(UsageError) as caught:
        match_rules(game, ("random",), settings, limit)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
