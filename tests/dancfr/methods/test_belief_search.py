"""Tests of the driver for depth-limited sampling with nets: counts, chunks, agents, refusals."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.methods.belief_search.driver import tasks_of
from tests.dancfr.methods.table_runs import configured, rows, run_preset, stored, with_strategy
from tests.dancfr.outcomes import Command, refused

PRESET = "geister-belief-search-quick"
TINY = (
    "games=8",
    "states=60",
    "chunk=4",
    "network.width=16",
    "network.depth=2",
    "value_network.width=16",
    "value_network.depth=2",
    "advantage_training.minibatches=4",
    "policy_training.minibatches=4",
    "value_training.minibatches=4",
    "reservoir=20000",
    "policies=20000",
    "circular=5000",
    "evaluation.every=2",
    "evaluation.games=4",
    "evaluation.ply_limit=60",
    "evaluation.opponents=random,rush",
    "checkpoint_every=2",
    "policy_every=2",
    "uniform=0.5",
)


def tiny(*overrides: str) -> Any:
    return configured(PRESET, *TINY, *overrides)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of five iterations, inline and without interruption."""
    path = tmp_path_factory.mktemp("runs") / "reference"
    result = run_preset(path, PRESET, tiny("iterations=5"))
    assert result["iterations"] == 5
    assert set(result["metrics"]) == {f"average/{o}" for o in ("random", "rush")}
    return path


def test_the_record_counts_what_was_drawn(reference: Path) -> None:
    trained = [row for row in rows(reference) if row["kind"] == "train"]
    assert [row["iteration"] for row in trained] == [1, 2, 3, 4, 5]
    assert [("loss/policy" in row) for row in trained] == [True, False, True, False, True]
    assert all(row["search/states"] == 60 for row in trained)
    assert trained[-1]["samples/advantages"] > 5 * 60
    assert trained[-1]["samples/values"] > trained[-1]["samples/advantages"]
    assert list(stored(reference)) == [f"p0-{t:06d}.safetensors" for t in (2, 4, 5)]


def test_chunks_against_uniform_play_are_the_first_ones_with_either_player_in_turn() -> None:
    config = configured(PRESET, "games=40", "chunk=10", "uniform=0.5", "states=100")
    first, second = tasks_of(config, 1), tasks_of(config, 2)
    assert [task.uniform for task in first] == [1, 0, None, None]
    assert [task.uniform for task in second] == [0, 1, None, None]
    assert [(task.games, task.states) for task in first] == [(10, 25)] * 4
    assert len({task.seed for task in first + second}) == 8
    rare = [tasks_of(configured(PRESET, "games=40", "chunk=20", "uniform=0.1"), t) for t in range(1, 101)]
    assert sum(task.uniform is not None for tasks in rare for task in tasks) == 20, "no share is rounded away"
    uneven = tasks_of(configured(PRESET, "games=7", "chunk=3", "uniform=0", "states=7"), 1)
    assert [(task.games, task.states, task.uniform) for task in uneven] == [(3, 3, None), (3, 3, None), (1, 1, None)]


@pytest.mark.parametrize("uniform", [0.125, 0.25, 0.375, 0.625])
def test_uniform_play_falls_on_both_players_equally_often(uniform: float) -> None:
    config = configured(PRESET, "games=40", "chunk=10", f"uniform={uniform}")
    players = [task.uniform for t in range(1, 81) for task in tasks_of(config, t) if task.uniform is not None]
    assert len(players) == round(80 * 4 * uniform)
    assert players.count(0) == players.count(1)


def test_the_run_plays_as_an_agent(reference: Path, command: Command) -> None:
    match = ("--game", "geister", "--games", "20", "--seed", "1", "--ply-limit", "60", "--json")
    found = {}
    for name in ("", "@4", "?average=last", "?threshold=0", "?average=net&threshold=1"):
        outcome = command("evaluate", f"{reference}{name}", "--against", "random", *match)
        assert outcome.code == 0, outcome.err
        found[name] = json.loads(outcome.out)["mean_plies"]
    assert len(set(found.values())) >= 4, found
    wrong = command("evaluate", f"{reference}?average=paper", "--against", "random", *match)
    assert "there are: last, net" in refused(wrong)
    chosen = command("evaluate", str(reference), "--game", "geister", "--option", "random_setup=false", "--games", "20")
    assert chosen.code == 0, chosen.err  # its colours are drawn, as in training


def test_mini_geister_can_be_trained_too(tmp_path: Path) -> None:
    config = tiny("iterations=2", "game=mini-geister", "evaluation.opponents=rush", "evaluation.games=4")
    result = run_preset(tmp_path / "mini", PRESET, config)
    assert set(result["metrics"]) == {"average/rush"}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("game=leduc",), "geister or mini-geister .*leduc"),
        (("game_options.random_setup=false",), "random_setup must be true"),
        (("game_options.history=true",), "history must be false"),
        (("network.outputs=squares",), "has outputs"),
        (("network.trunk=conv",), "has no planes encoding"),
        (("network.outputs=value",), "network.outputs must be move or square"),
        (("uniform=1",), "uniform"),
        (("uniform=0.5", "games=4"), "games=4 and chunk=4"),
        (("evaluation.ply_limit=65535",), "evaluation.ply_limit"),
        (("value_network.outputs=move",), "value_network.outputs must be value"),
        (("reservoir=100",), "reservoir must be at least advantage_training.batch"),
        (("search.depth=0",), "search.depth"),
        (("search.leaves=both",), "search.leaves"),
        (("evaluation.opponents=greedy",), "greedy"),
        (("curriculum.option=ply_limit", "curriculum.values=10", "curriculum.iterations=2"), "curriculum.option"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        tiny(*overrides)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy.out.b": np.zeros(3, np.float32)}, r"policy.out.b .*float32\[3\]"),
        ({"extra.w": np.zeros(1, np.float32)}, "extra.w"),
        ({"advantage.out.b": None}, "advantage.out.b .*missing"),
    ],
)
def test_nets_that_do_not_fit_are_refused(
    reference: Path, tmp_path: Path, command: Command, change: dict[str, Any], message: str
) -> None:
    run = str(with_strategy(reference, tmp_path, change))
    outcome = command("evaluate", run, "--game", "geister", "--against", "random", "--games", "2")
    assert re.search(message, refused(outcome))
