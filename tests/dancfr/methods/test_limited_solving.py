"""Tests of depth-limited solving from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from dancfr.agents.solving import solve
from dancfr.errors import UsageError
from dancfr.methods import method_named
from tests.dancfr.methods.small_runs import small
from tests.dancfr.methods.table_runs import run_preset
from tests.dancfr.outcomes import Command


def solved(game: str, algorithm: str, iterations: int, *settings: str, **more: Any) -> dict[str, Any]:
    return solve(game, algorithm, iterations, settings=settings, report=lambda _: None, **more).as_dict()


def test_with_the_bottom_solved_the_trunk_of_kuhn_poker_is_an_equilibrium() -> None:
    found = solved("kuhn", "dl-cfr+", 500, "bottom=100")
    assert found["exploitability"] < 0.005
    assert found["nash_conv"] == 2 * found["exploitability"]
    assert found["value"] == pytest.approx(-1 / 18, abs=0.02)
    assert (found["limit"], found["limit_public_states"], found["infosets"]) == ("actions:1", 2, 6)
    assert [point for point, _ in found["curve"]] == [10, 100, 500]
    assert found["curve"][-1][1] == found["exploitability"]
    assert solved("kuhn", "dl-cfr+", 500, "bottom=100")["exploitability"] == found["exploitability"]


def test_without_values_it_is_none_and_cfr_d_comes_near_one() -> None:
    nothing = solved("leduc", "dl-cfr+", 300, "values=zero")
    near = solved("leduc", "cfr-d", 100, "bottom=50")
    assert nothing["exploitability"] > 4 * near["exploitability"]
    assert near["normalised"]["exploitability"] < 0.02


def test_what_is_found_is_a_strategy_that_plays(tmp_path: Path, command: Command) -> None:
    out = tmp_path / "kuhn.safetensors"
    run = ("solve", "kuhn", "--algorithm", "dl-cfr+", "--iterations", "100", "bottom=100", "--out", str(out), "--json")
    done = command(*run)
    assert done.code == 0
    found = json.loads(done.out)
    assert found["files"] == [str(out)]
    judged = command("evaluate", str(out), "--game", "kuhn", "--games", "100", "--exploitability", "--json")
    assert judged.code == 0
    assert json.loads(judged.out)["exploitability"] == pytest.approx(found["completed"]["exploitability"], abs=1e-9)


@pytest.mark.parametrize(
    ("game", "algorithm", "settings", "says"),
    [
        ("kuhn", "dl-cfr+", ("limit=foo",), "actions:N or chances:N"),
        ("kuhn", "dl-cfr+", ("limit=actions:9",), "no play of kuhn"),
        ("kuhn", "cfr-d", ("bottom=0",), "bottom must be at least 1, got 0"),
        ("kuhn", "dl-cfr+", ("values=zero", "bottom=5"), "solves no subgames: leave out bottom"),
        ("kuhn", "dl-cfr+", ("value=zero",), "option of dl-cfr"),
        ("kuhn", "dl-cfr+", ("values=/nowhere/at/all",), "holds no run"),
        ("mini-cheat", "dl-cfr+", (), "mini-cheat.*limit="),
        ("geister", "dl-cfr+", ("limit=actions:1",), "has no tree"),
        ("kuhn", "cfr+", ("values=zero",), "option"),
    ],
)
def test_what_cannot_be_solved_is_refused_in_a_line(
    game: str, algorithm: str, settings: tuple[str, ...], says: str
) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        solved(game, algorithm, 10, *settings)
    assert "\n" not in str(caught.value)


def test_it_starts_from_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave out warm_start"):
        solved("kuhn", "dl-cfr+", 10, warm_start=tmp_path / "some.safetensors")


def test_values_are_those_of_a_run_whatever_its_folder_is_called(tmp_path: Path) -> None:
    run_preset(tmp_path / "at@home", *small(method_named("value-functions"), "iterations=2"))
    found = [solved("kuhn", "dl-cfr+", 20, f"values={tmp_path / name}") for name in ("at@home", "at@home@2")]
    assert found[0]["exploitability"] == found[1]["exploitability"] > 0
    with pytest.raises(UsageError, match="at@home has nets of iterations 2, but not of 1"):
        solved("kuhn", "dl-cfr+", 20, f"values={tmp_path / 'at@home@1'}")
    with pytest.raises(UsageError, match="it has no options: leave out average"):
        solved("kuhn", "dl-cfr+", 20, f"values={tmp_path / 'at@home?average=last'}")
