"""Tests of the starts of `dancfr exploit`: which continue, the cost and schedule of each, and bounds that show it."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.exploit import ExploitRequest, exploit
from dancfr.evaluation.effort import count, describe_curve, describe_effort
from dancfr.games.registry import make_game
from dancfr.methods.best_response.config import FRESH, BestResponseConfig
from dancfr.methods.best_response.starts import Effort, read_efforts, survivors
from dancfr.runs.run import Run
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.settings import PolicyTrainingSettings
from tests.dancfr.outcomes import refused

SMALL = ("rows=2048", "chunk=1024", "training.batch=128", "network.width=32")
OWN = "pretrained:geister-own-view"


def config(*starts: str, fair: int = 1000) -> BestResponseConfig:
    return BestResponseConfig(starts=starts, fair=fair)


@pytest.mark.parametrize(
    ("starts", "values", "decisions", "halvings", "kept"),
    [
        (("a", "b", FRESH), (0.5, 0.2, -0.9), (1, 1, 1), 0, [0, 1, 2]),  # before the first halving
        (("a", "b", FRESH), (0.5, 0.2, -0.9), (500, 500, 999), 1, [0, 1, 2]),  # the fresh one beside the better half
        (("a", "b", FRESH), (0.5, 0.2, -0.9), (500, 500, 999), 2, [0, 2]),
        (("a", "b", FRESH), (0.5, 0.2, -0.9), (500, 500, 1000), 2, [0]),  # after a fair number of decisions
        (("a", "b", FRESH), (0.5, 0.2, 0.9), (500, 500, 999), 2, [2]),
        ((FRESH, "a", FRESH), (-0.9, 0.5, -0.8), (5, 5, 5), 2, [1, 2]),  # the best of the fresh ones only
        ((FRESH, FRESH), (0.1, 0.3), (5, 5), 1, [1]),  # fresh ones compare fairly with each other
        (("a", "b"), (0.1, 0.3), (5, 5), 1, [1]),
    ],
)
def test_a_fresh_start_is_kept_until_it_has_had_its_share(
    starts: tuple[str, ...], values: tuple[float, ...], decisions: tuple[int, ...], halvings: int, kept: list[int]
) -> None:
    every = range(len(starts))
    assert survivors(config(*starts), every, dict(enumerate(values)), decisions, halvings) == kept


def test_what_is_no_longer_trained_does_not_come_back() -> None:
    assert survivors(config("a", "b", FRESH), [0, 2], {0: 0.5, 1: 0.9, 2: -0.9}, (500, 500, 999), 1) == [0, 2]


@pytest.mark.parametrize("fair", [0, 3_000_000])
def test_against_geister_the_fresh_start_plays_as_long_as_is_fair(fair: int) -> None:
    """The other start is far better at first. A start that is dropped has no later points, the other has."""
    overrides = ("rows=512", "chunk=256", *SMALL[2:], "halve=[0.4]", f"fair={fair}")
    request = ExploitRequest(
        OWN, "geister", games=700, seed=1, eval_games=200, starts=(OWN, FRESH), overrides=overrides
    )
    found = exploit(request)
    own, fresh = (each["curve"] for each in found["start_curves"])
    assert [each["start"] for each in found["start_curves"]] == [OWN, FRESH]
    assert own[-1][2] > fresh[-1][2] + 0.2
    assert (len(fresh) == len(own)) is (fair > 0)
    assert own[-1][0] + fresh[-1][0] == found["decisions"]
    for curve in (own, fresh):
        assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(curve))
    assert found["budget"] == {"minutes": None, "games": 700}
    assert found["cpu_seconds"] > own[-1][1] + fresh[-1][1]
    points = {(each[0], each[1]) for curve in (own, fresh) for each in curve}
    assert set(zip(found["chosen_decisions"], found["chosen_cpu_seconds"], strict=True)) <= points


def test_efforts_survive_a_resume(tmp_path: Path, command: Any) -> None:
    out = tmp_path / "response"
    begun = ["exploit", "random", "--game", "kuhn", "--seed", "3", "--eval-games", "40", "--out", str(out), *SMALL]
    assert command(*begun, "--games", "6000").code == 0
    found = json.loads(command(*begun[:-4], "--games", "12000", "--resume", "--json").out)
    assert sum(each["curve"][-1][0] for each in found["start_curves"]) == found["decisions"] > 12_000
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    looks = [row for row in rows if "response/value" in row]
    assert looks
    for row in looks:
        assert row["response/value"] == max(row[key] for key in row if key.startswith("response/start"))


def test_a_point_of_the_curve_plays_the_best_response_at_it(tmp_path: Path, command: Any) -> None:
    out, kuhn = tmp_path / "response", make_game("kuhn")
    begun = ["exploit", "random", "--game", "kuhn", "--seed", "3", "--eval-games", "40", "--out", str(out), *SMALL]
    assert command(*begun, "--games", "6000").code == 0
    run = Run.open(out)
    compared = set()
    for t in {file.iteration for file in run.list_strategies()}:
        loaded = {
            file.player: run.load_strategy(file.player, t) for file in run.list_strategies() if file.iteration == t
        }
        best = max(loaded, key=lambda member: loaded[member][1]["value"])
        agent = make_agent(f"{out}@{t}", kuhn)
        assert isinstance(agent, PolicyAgent)
        assert all((agent.weights[0][name] == array).all() for name, array in loaded[best][0].items())
        compared |= {best} if len(loaded) > 1 else set()
    assert compared == {0, 1}, "either start is the better one at some point"


def test_the_exact_value_beside_a_continued_response_is_of_its_rules(tmp_path: Path, command: Any) -> None:
    rest = ["--eval-games", "40", "--beside-exact", "--out", str(tmp_path / "response"), "--json"]
    begun = ["exploit", "random", "--game", "mini-geister", "--ply-limit", "8", "--games", "400", "--seed", "1", *SMALL]
    first = json.loads(command(*begun, *rest).out)
    again = json.loads(command("exploit", "random", "--games", "800", "--resume", *rest).out)
    assert (again["games"], again["exact_exploitability"]) == (800, first["exact_exploitability"])


def test_schedules_follow_a_budget_of_games(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    real = PolicyTrainingSettings.at

    def told(self: PolicyTrainingSettings, name: Any, *where: Any) -> float:
        value = real(self, name, *where)
        rates.extend([value] if name == "learning_rate" else [])
        return value

    monkeypatch.setattr(PolicyTrainingSettings, "at", told)
    overrides = (*SMALL, "training.learning_rate=0.01", "training.learning_rate_end=0.001", "training.schedule=none")
    exploit(ExploitRequest("random", "kuhn", games=8000, seed=1, eval_games=40, overrides=overrides))
    assert 0.009 < rates[0] < 0.01
    assert all(before >= after for before, after in pairwise(rates[1::2]))
    assert rates[-1] < 0.002


def test_efforts_of_older_checkpoints_are_estimated_by_iterations() -> None:
    """Response 1 was dropped after iteration 10 of 30: 40 shares of 100 decisions in all."""
    candidates = [[0, 1, 5, [0.1, 0.2]], [1, 1, 5, [0.1, 0.2]], [0, 10, 50, [0.1, 0.2]], [1, 10, 50, [0.1, 0.2]]]
    state = {"candidates": candidates, "trained": [0], "iteration": 30, "samples": 4000, "seconds": 80.0}
    efforts, points = read_efforts(state, 2)
    assert efforts == [Effort(3000, 60.0), Effort(1000, 20.0)]
    assert points == [Effort(100, 2.0), Effort(100, 2.0), Effort(1000, 20.0), Effort(1000, 20.0)]


def test_a_bound_of_a_known_agent_is_not_the_share_of_the_response(command: Any) -> None:
    """The agent meets itself, and wins by chance; the response is hardly trained."""
    arguments = ["exploit", "pretrained:leduc", "--games", "2", "--eval-games", "400", "--seed", "1"]
    arguments += ["--known", "pretrained:leduc", "--beside-exact", *SMALL]
    found = json.loads(command(*arguments, "--json").out)
    assert found["bound_by"] == "pretrained:leduc"
    assert found["exploitability_lower_bound"] == found["known"]["pretrained:leduc"]["value"] > found["value"]
    assert found["value"] < 0 == found["found_share"]
    (line,) = [line for line in command(*arguments).out.splitlines() if line.startswith("pretrained:leduc wins +")]
    assert "which is the bound" in line


def test_a_bound_is_shown_with_its_cost_and_beside_the_exact_value(tmp_path: Path, command: Any) -> None:
    out = tmp_path / "response"
    arguments = ["exploit", "random", "--game", "kuhn", "--games", "20000", "--eval-games", "4000", "--seed", "1"]
    arguments += ["--beside-exact", *SMALL]
    found = json.loads(command(*arguments, "--out", str(out), "--json").out)
    assert found["exact_exploitability"] == pytest.approx(11 / 24)
    assert found["found_share"] == pytest.approx(found["exploitability_lower_bound"] / found["exact_exploitability"])
    assert found["exploitability_at_least"] <= found["exact_exploitability"]
    stored = json.loads((out / "exploit.json").read_text())
    assert stored["exact_exploitability"] == found["exact_exploitability"]
    assert stored["start_curves"] == found["start_curves"]
    text = command(*arguments).out
    assert f"{describe_effort(found['cpu_seconds'] / 60, found['decisions']).split(', ')[1]}, all starts" in text
    assert "exactly it is 0.4583: the response wins " in text
    assert text.count("\nfresh  ") == 2
    told = refused(command("exploit", "random", "--game", "geister", "--games", "50", "--beside-exact"))
    assert "geister has no tree" in told
    assert "trains nothing" in refused(
        command("exploit", "rush", "--game", "mini-geister", "--exact", "--beside-exact")
    )


def test_costs_are_told_in_words() -> None:
    assert describe_effort(10.04, 27_644_309) == "10 CPU minutes, 27.6 million decisions"
    assert describe_effort(None, None) == "CPU time not recorded, decisions not recorded"
    assert count(999_999) == "999,999"
    curve = [[number * 1000, number, number / 10] for number in range(11)]
    assert describe_curve(curve, 3) == "+0.00 (0), +0.50 (5,000), +1.00 (10,000)"
    assert describe_curve(curve[:1]) == "+0.00 (0)"
    assert describe_curve([]) == ""


def test_a_folder_whose_name_is_like_fresh_keeps_its_own_error(
    tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("exploit", "random", "--game", "kuhn", "--start", "fresh-1")
    assert "no start named 'fresh-1'; did you mean fresh?" in refused(command(*asked))
    (tmp_path / "fresh-1").mkdir()
    assert "fresh-1 holds no run" in refused(command(*asked))
