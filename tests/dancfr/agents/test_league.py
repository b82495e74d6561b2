"""Tests of `dancfr league` in one process: results, order of play, resumption, members, and refusals."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.agents.league.config import LeagueConfig, Member, Result
from dancfr.agents.league.driver import play_league
from dancfr.agents.league.fingerprint import fingerprint
from dancfr.agents.league.membership import LeagueRequest
from dancfr.agents.league.rounds import LEAST_BATCHES, next_batches
from dancfr.agents.league.standings import standings
from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from dancfr.report.league import FIGURE, draw, write_matrix
from learners.storage import load_state, save_state
from tests.dancfr.agents.league_files import played, standings_of
from tests.dancfr.outcomes import Command, refused

MINI = ("--game", "mini-geister", "--batch", "20", "--inline")


def league(folder: Path, **request: Any) -> dict[str, Any]:
    """Plays in this process, by default on Mini Geister in batches of 20 games."""
    base = {} if (folder / "league.json").exists() else {"game": "mini-geister", "batch": 20}
    return play_league(LeagueRequest(folder, **(base | request)), write_matrix)


def test_a_new_league_has_all_bots_and_leaves_standings_and_a_picture(command: Command, tmp_path: Path) -> None:
    outcome = command("league", "l", *MINI, "--games", "400", "--seed", "3", "--json")
    assert outcome.code == 0, outcome.err
    (line,) = outcome.out.splitlines()
    found = json.loads(line)
    assert {"folder", "game", "games", "games_now", "ratings", "table", "pairs", "fit", "next", "files"} <= set(found)
    assert (found["game"], found["seed"], found["games"], found["games_now"]) == ("mini-geister", 3, 400, 400)
    assert [each["agent"] for each in found["ratings"]] == ["rush", "heuristic", "random"]
    assert sum(each["rating"] for each in found["ratings"]) == pytest.approx(0)
    for each in found["ratings"]:
        low, high = each["ci95"]
        assert low < each["rating"] < high
    assert len(found["pairs"]) == 3
    assert sum(pair["games"] for pair in found["pairs"]) == 400
    for pair in found["pairs"]:
        assert pair["wins"] + pair["draws"] + pair["losses"] == pair["games"]
        here, there = (found["table"][one][other] for one, other in _both(pair))
        assert (here["games"], here["wins"], here["draws"]) == (pair["games"], there["losses"], there["draws"])
        assert here["win_rate"] == pair["win_rate"]
    rows = played(tmp_path / "l")
    assert [row["batch"] for row in rows] == list(range(20))
    assert all({counts["games"] for counts in row["seats"].values()} == {10} for row in rows)
    stored = standings_of(tmp_path / "l")
    assert {key: found[key] for key in stored} == stored
    assert (tmp_path / "l" / FIGURE).read_bytes().startswith(b"\x89PNG")
    shown = command("league", "l", "--games", "0")
    assert shown.code == 0
    assert "1  rush" in shown.out
    assert "scores differ from what the ratings expect by" in shown.out
    assert played(tmp_path / "l") == rows


def _both(pair: dict[str, Any]) -> list[tuple[str, str]]:
    return [(pair["agent"], pair["against"]), (pair["against"], pair["agent"])]


def test_in_geister_games_end_after_300_plies_as_in_evaluate(tmp_path: Path) -> None:
    found = league(tmp_path / "l", game="geister", add=("random", "rush"), games=20)
    assert found["game_options"] == {"ply_limit": 300}


def test_a_league_that_was_stopped_and_resumed_is_the_same_as_one_that_was_not(tmp_path: Path) -> None:
    whole = league(tmp_path / "whole", games=600, seed=5)
    for games in (20, 40, 200, 180, 160):
        parts = league(tmp_path / "parts", games=games, seed=5)
    assert played(tmp_path / "parts") == played(tmp_path / "whole")
    assert standings_of(tmp_path / "parts") == standings_of(tmp_path / "whole")
    assert (tmp_path / "parts" / FIGURE).read_bytes() == (tmp_path / "whole" / FIGURE).read_bytes()
    assert (parts["games"], parts["games_now"], whole["games_now"]) == (600, 160, 600)
    league(tmp_path / "other", games=600, seed=6)
    assert played(tmp_path / "other") != played(tmp_path / "whole")


def test_a_torn_line_is_left_out_and_its_games_are_played_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    league(tmp_path / "l", games=200)
    rows, file = played(tmp_path / "l"), tmp_path / "l" / "games.jsonl"
    file.write_bytes(file.read_bytes()[:-30])
    assert not capfd.readouterr().err
    found = league(tmp_path / "l", games=0)
    assert found["games"] == 180
    assert "1 lines cannot be read, and their games do not count" in capfd.readouterr().err
    league(tmp_path / "l", games=20)
    lines = file.read_text().splitlines()
    assert len(lines) == 11
    assert json.loads(lines[10])["wins"] == rows[9]["wins"]
    assert league(tmp_path / "l", games=0)["games"] == 200


def test_all_pairs_meet_before_any_meets_again(tmp_path: Path) -> None:
    config = _config("abcdef")
    rounds: list[Result] = []
    for _ in range(15):
        rounds.append(_result(next_batches(config, rounds)[0], 6))
    assert len({frozenset(result.agents) for result in rounds}) == 15


def _config(names: str, batch: int = 10) -> LeagueConfig:
    members = tuple(Member(name=name, fingerprint=name) for name in names)
    return LeagueConfig(game="kuhn", batch=batch, members=members)


def _result(batch: Any, wins: int) -> Result:
    return Result(**batch.about, games=batch.games, wins=wins, draws=0, losses=batch.games - wins)


def test_a_round_goes_on_where_it_was_left_unless_members_have_changed() -> None:
    config = _config("abc")
    first = next_batches(config, [])
    assert [batch.number for batch in first] == list(range(LEAST_BATCHES))
    results = [_result(batch, 7) for batch in first[:5]]
    assert next_batches(config, results) == first[5:]
    grown = next_batches(_config("abcd"), results)
    assert [batch.round for batch in grown] == [1] * LEAST_BATCHES
    assert [batch.number for batch in grown] == list(range(5, 5 + LEAST_BATCHES))
    assert {name for batch in grown[:3] for name in batch.agents} == set("abcd"), "d meets each of the others"
    results = [_result(batch, 7) for batch in first]
    assert {batch.round for batch in next_batches(config, results)} == {1}
    many = _config("abcdefghijkl")
    assert len(next_batches(many, [])) == 66 // 2


def test_games_go_where_they_tell_most(tmp_path: Path) -> None:
    """A newcomer among agents that have met often plays first."""
    league(tmp_path / "l", game="kuhn", games=0, add=("random", _kuhn(tmp_path, 1), _kuhn(tmp_path, 3)))
    league(tmp_path / "l", games=2000)
    found = league(tmp_path / "l", games=400, add=(_kuhn(tmp_path, 40),))
    newest = played(tmp_path / "l")[-20:]
    with_newcomer = sum(any("kuhn40" in name for name in row["agents"]) for row in newest)
    assert with_newcomer > 14
    assert len(found["pairs"]) == 6


def _kuhn(folder: Path, iterations: int) -> str:
    from dancfr.agents.solving import solve

    path = folder / f"kuhn{iterations}.safetensors"
    if not path.exists():
        solve("kuhn", "cfr", iterations, 0, out=path)
    return str(path)


def test_members_enter_and_leave_and_keep_their_games(tmp_path: Path) -> None:
    league(tmp_path / "l", games=160, add=("random", "rush"))
    assert league(tmp_path / "l", games=0, add=("heuristic", "rush"))["games"] == 160
    found = league(tmp_path / "l", games=160)
    assert len(found["pairs"]) == 3
    without = league(tmp_path / "l", games=0, remove=("rush",))
    assert without["games"] + without["games_not_counted"] == 320
    assert {each["agent"] for each in without["ratings"]} == {"random", "heuristic"}
    again = league(tmp_path / "l", games=0, add=("rush",))
    assert (again["games"], again["games_not_counted"]) == (320, 0)


def test_a_run_that_has_been_trained_on_starts_anew_and_its_former_version_can_be_kept(
    mini_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = Path(shutil.copytree(mini_run, tmp_path / "run"))
    league(tmp_path / "l", games=160, add=("random", "rush", f"{run}?threshold=0.5"))
    options = TrainOptions(inline=True, progress=False, resume=True)
    train(TrainRequest("mini-geister-dream", ("iterations=6",), run, "off", options))
    capfd.readouterr()
    found = league(tmp_path / "l", games=0)
    assert "run?threshold=0.5 has been trained on or plays by other settings: its" in capfd.readouterr().err
    own = next(each for each in found["ratings"] if each["agent"] == f"{run}?threshold=0.5")
    assert own["games"] == 0
    assert found["games"] + found["games_not_counted"] == 160
    found = league(tmp_path / "l", games=0, add=(f"{run}@4?threshold=0.5",))
    assert capfd.readouterr().err == "", "it is said once"
    assert (found["games"], found["games_not_counted"]) == (160, 0)
    assert len(league(tmp_path / "l", games=160)["pairs"]) == 6


def test_fingerprints_are_those_of_what_plays(mini_run: Path, tmp_path: Path) -> None:
    game = make_game("mini-geister")
    run = Path(shutil.copytree(mini_run, tmp_path / "run"))
    (tmp_path / "link").symlink_to(run)
    first = fingerprint(str(run), game)
    assert fingerprint("rush", game) == "rush"
    assert first == fingerprint(str(mini_run), game) == fingerprint(f"{tmp_path}/link/", game)
    assert first == fingerprint(f"{run}@4", game)
    assert fingerprint(f"{run}?threshold=0.5", game) == fingerprint(f"{run}?threshold=.50", game)
    others = [f"{run}@3", f"{run}?average=exact", f"{run}?threshold=0.5"]
    assert len({first, *(fingerprint(name, game) for name in others)}) == 4
    path = _kuhn(tmp_path, 2)
    before = fingerprint(path, game)
    shutil.copy(_kuhn(tmp_path, 3), path)
    assert fingerprint(path, game) != before


def test_an_agent_takes_part_once_whatever_its_name(mini_run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(mini_run)
    with pytest.raises(UsageError, match="are the same agent"):
        league(tmp_path / "l", add=(str(mini_run), str(tmp_path / "link")))
    assert not (tmp_path / "l").exists()


def test_a_member_that_is_gone_can_be_removed(mini_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(mini_run, tmp_path / "run"))
    league(tmp_path / "l", games=0, add=("random", "rush", str(run)))
    shutil.rmtree(run)
    with pytest.raises(UsageError, match=f"--remove {run}"):
        league(tmp_path / "l", games=0)
    league(tmp_path / "l", games=20, remove=(str(run),))


def test_an_illegal_action_ends_the_command_and_keeps_the_results(command: Command, tmp_path: Path) -> None:
    """A strategy without some infosets, which the agent misses sooner or later."""
    arrays, about = load_state(_kuhn(tmp_path, 3))
    save_state(tmp_path / "part.safetensors", {name: array[:-1] for name, array in arrays.items()}, about)
    strategies = [word for name in (_kuhn(tmp_path, 3), "part.safetensors") for word in ("--add", name)]
    outcome = command("league", "l", "--game", "kuhn", "--add", "random", *strategies, "--games", "2000", "--inline")
    assert outcome.code == 1, outcome.err
    assert "part.safetensors" in outcome.err.splitlines()[-1]
    assert "Traceback" not in outcome.err
    found = league(tmp_path / "l", games=400, remove=("part.safetensors",))
    assert found["games"] >= 400


def test_teams_play_every_deal_from_both_sides(tmp_path: Path) -> None:
    found = league(tmp_path / "l", game="guandan", games=80, add=("random", "greedy"))
    rows = played(tmp_path / "l")
    assert all(sum(row["deals"].values()) == 10 for row in rows)
    assert found["game_options"] == {"length": "round", "situation": "drawn"}
    here, there = found["table"]["greedy"]["random"], found["table"]["random"]["greedy"]
    assert here["win_rate"] == pytest.approx(1 - there["win_rate"])
    assert here["ci95"] == pytest.approx([1 - there["ci95"][1], 1 - there["ci95"][0]])
    assert [each["agent"] for each in found["ratings"]] == ["greedy", "random"]


def test_standings_are_sums_of_results_from_either_view() -> None:
    config = _config("ab")
    about: dict[str, Any] = {"round": 0, "games": 10}
    results = [
        Result(**about, batch=0, agents=("a", "b"), fingerprints=("a", "b"), wins=7, draws=2, losses=1),
        Result(**about, batch=1, agents=("b", "a"), fingerprints=("b", "a"), wins=3, draws=0, losses=7),
        Result(**about, batch=2, agents=("b", "c"), fingerprints=("b", "c"), wins=3, draws=0, losses=7),
    ]
    found = standings(config, results)
    (pair,) = found["pairs"]
    assert (pair["wins"], pair["draws"], pair["losses"]) == (14, 2, 4)
    assert pair["score"] == 15 / 20
    assert pair["expected"] == pytest.approx(15 / 20, abs=0.02)
    assert (found["games"], found["games_not_counted"]) == (20, 10)
    assert found["fit"]["worst"] is None
    assert found["next"] == [["a", "b"]]


def test_a_league_with_stakes_is_rated_by_returns(tmp_path: Path) -> None:
    """`random` wins more hands of Leduc than an equilibrium, and less money. All batches together are as one match."""
    found = league(tmp_path / "l", game="leduc", add=("random", "pretrained:leduc"), batch=400, games=4000)
    (pair,) = found["pairs"]
    results = [json.loads(line) for line in (tmp_path / "l" / "games.jsonl").read_text().splitlines()]
    assert found["stakes"] == 13
    assert pair["wins"] > pair["losses"]
    assert [each["agent"] for each in found["ratings"]] == ["pretrained:leduc", "random"]
    assert pair["mean_return"] == pytest.approx(np.mean([each["mean_return"] for each in results]))
    assert pair["score"] == pytest.approx((1 + pair["mean_return"] / 13) / 2)
    spread = np.mean([each["return_error"] * each["games"] ** 0.5 for each in results])  # of a game
    low, high = pair["mean_return_ci95"]
    assert (high - low) / 2 == pytest.approx(1.96 * spread / 4000**0.5, rel=0.05)
    plot = draw(found)
    assert plot.title == "Mean returns in leduc"
    again = league(tmp_path / "l", games=0)
    assert again["table"] == found["table"]


def test_the_picture_names_every_agent_with_its_rating(monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []
    from dancfr.report import league as module

    encode = module.png_of
    monkeypatch.setattr(module, "png_of", lambda figure: (figures.append(figure), encode(figure))[1])
    config = _config("abcd")
    results = [_result(batch, 6) for batch in next_batches(config, [])[:5]]
    found = standings(config, results)
    plot = draw(found)
    axis = figures[0].axes[0]
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert sorted(label[0] for label in labels) == list("abcd")
    assert all("±" in label for label in labels)
    cells = [text.get_text() for text in axis.texts]
    assert len(cells) == 2 * 2 * len(found["pairs"]) == 20
    assert set(cells) == {"60.0", "40.0", "10"}
    assert plot.alt.startswith("Win rates in kuhn.")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--game", "geistr"), "no game named 'geistr'; did you mean geister?"),
        (("--add", "random"), "a league needs at least 2 agents, got random"),
        (("--add", "random", "--add", "ruhs"), "no agent for geister named 'ruhs'; did you mean rush?"),
        (("--remove", "random"), "no member of l named 'random'"),
        (("--add", "pretrained:leduc"), "at least 2 agents, got pretrained:leduc"),
        (("--add", "pretrained:leduc", "--add", "rush"), "no agent for leduc named 'rush'"),
        (("--games", "-1"), "--games must be from 0"),
        (("--minutes", "0"), "--minutes must be more than 0"),
        (("--batch", "7"), "--batch must be an even number from 2 to 100,000, got 7"),
        (("--seed", "-1"), "--seed must be at least 0, got -1"),
        (("--workers", "0"), "--workers must be at least 1, got 0"),
        (("--inline", "--workers", "2"), "--inline runs in one process"),
        (("--option", "ply_limt=9"), "did you mean ply_limit?"),
        (("--game", "cheat", "--option", "players=3"), "a league needs a game of two sides, and cheat has 3 players"),
    ],
)
def test_wrong_use_is_one_line_and_starts_nothing(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in refused(command("league", "l", *arguments))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--game", "geister"), "--game geister differs from that of the league in l, mini-geister"),
        (("--seed", "4"), "--seed 4 differs from that of the league in l, 0"),
        (("--batch", "50"), "--batch 50 differs"),
        (("--option", "ply_limit=10"), "--option ply_limit 10 differs from that of the league in l, 30"),
        (("--remove", "heuristc"), "did you mean heuristic?"),
        (("--remove", "heuristic", "--remove", "rush"), "a league needs at least 2 agents, got random"),
    ],
)
def test_a_league_keeps_its_game_seed_and_batch(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    league(tmp_path / "l", games=0)
    before = (tmp_path / "l" / "league.json").read_bytes()
    assert expected in refused(command("league", "l", *arguments))
    assert (tmp_path / "l" / "league.json").read_bytes() == before
    assert command("league", "l", "--option", "ply_limit=30", "--games", "0", "--inline").code == 0, "what it has"


def test_a_folder_that_holds_something_else_is_left_alone(command: Command, tmp_path: Path) -> None:
    (tmp_path / "l").mkdir()
    (tmp_path / "l" / "notes").write_text("mine")
    assert "holds no league and is not empty" in refused(command("league", "l", "--games", "0"))
    assert "is a file" in refused(command("league", "l/notes", "--games", "0"))
    league(tmp_path / "m", games=20)
    good = (tmp_path / "m" / "league.json").read_text()
    for damaged, expected in (
        ("{", "it is not JSON"),
        (good.replace('"batch": 20', '"batch": 3'), "batch must be a multiple of 2, got 3"),
        (good.replace('"seed"', '"sead"'), "no key named 'sead'; did you mean seed?"),
    ):
        (tmp_path / "m" / "league.json").write_text(damaged)
        assert expected in refused(command("league", "m", "--games", "0"))
    (tmp_path / "m" / "league.json").write_text(good)
    with (tmp_path / "m" / "games.jsonl").open("a") as file:
        file.write('{"batch": 1}\n')
    assert "games.jsonl" in refused(command("league", "m", "--games", "0"))


def test_scores_of_a_league_are_those_of_its_pairs(tmp_path: Path) -> None:
    found = league(tmp_path / "l", games=160)
    for each in found["ratings"]:
        mine = [pair for pair in found["pairs"] if each["agent"] in (pair["agent"], pair["against"])]
        shares = [pair["score"] if pair["agent"] == each["agent"] else 1 - pair["score"] for pair in mine]
        expected = [pair["expected"] if pair["agent"] == each["agent"] else 1 - pair["expected"] for pair in mine]
        assert each["score"] == pytest.approx(np.mean(shares))
        assert np.mean(expected) == pytest.approx(np.mean(shares), abs=0.02)
        assert np.isfinite(each["rating"])
