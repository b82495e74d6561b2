"""Tests of the driver for belief tables: counts, win rates, refusals."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.runs.checkpoints import seal
from dancfr.runs.renamed import with_current_names
from tests.dancfr.methods.table_runs import configured, rows, run_preset, stored, with_strategy
from tests.dancfr.outcomes import Command, refused

PRESET = "mini-geister-belief-tables"
TINY = ("evaluation.every=4", "evaluation.games=40", "checkpoint_every=3", "tables.states=64")


def tiny(*overrides: str) -> Any:
    return configured(PRESET, *TINY, *overrides)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eight iterations, inline and without interruption."""
    path = tmp_path_factory.mktemp("runs") / "reference"
    result = run_preset(path, PRESET, tiny("iterations=8"))
    assert result["iterations"] == 8
    assert set(result["metrics"]) == {f"average/{o}" for o in ("random", "heuristic", "rush")}
    return path


def test_the_record_counts_nodes(reference: Path) -> None:
    trained = [row for row in rows(reference) if row["kind"] == "train"]
    assert [row["iteration"] for row in trained] == list(range(1, 9))
    assert trained[-1]["samples/nodes"] == sum(row["tables/nodes"] for row in trained)
    assert list(stored(reference)) == [f"p0-{t:06d}.safetensors" for t in (3, 6, 8)]
    played = [row for row in rows(reference) if row["kind"] == "evaluation"]
    assert [(row["iteration"], row["opponent"]) for row in played] == [
        (t, opponent) for t in (4, 8) for opponent in ("random", "heuristic", "rush")
    ]
    assert all(sum(row["categories"].values()) == 40 for row in played)


def test_full_method_beats_its_ablations(tmp_path: Path) -> None:
    """400 iterations, seed 1, 4000 games: against `heuristic` the order of paper 002, against `random` above 60 %."""
    found = {}
    for name, override in {
        "full": "tables.depth=3",
        "no belief": "tables.belief=none",
        "no baseline": "tables.baseline=false",
        "dream": "tables.method=dream",
    }.items():
        settings = ("iterations=400", "evaluation.every=400", "evaluation.games=4000", override)
        result = run_preset(tmp_path / name, PRESET, configured(PRESET, *settings))
        found[name] = result["metrics"]
    assert found["full"]["average/random"] > 0.6
    for name in ("no baseline", "dream"):
        assert found["full"]["average/heuristic"] > found[name]["average/heuristic"] + 0.03, found


def test_a_run_from_before_the_choice_of_updates_continues_by_search(tmp_path: Path, command: Command) -> None:
    """Its config.json and its checkpoints lack the setting."""
    whole, older = tmp_path / "whole", tmp_path / "older"
    run_preset(whole, PRESET, tiny("iterations=6", "tables.updates=search"))
    run_preset(older, PRESET, tiny("iterations=3", "tables.updates=search"))
    for file in (older / "config.json", *older.glob("checkpoints/*/manifest.json")):
        about = json.loads(file.read_text())
        del about["config"]["tables"]["updates"]
        file.write_text(json.dumps(about if file.name == "config.json" else seal(about)))
    words = ("train", PRESET, *TINY, "iterations=6", "--inline", "--wandb", "off", "--run-dir", str(older))
    assert "tables.updates" in refused(command(*words, "tables.updates=pass", "--resume"))
    outcome = command(*words, "--resume")
    assert outcome.code == 0, outcome.err
    assert stored(older) == stored(whole)


@pytest.mark.parametrize(("method", "updates"), [("depth-limited", "search"), ("dream", None)])
def test_settings_of_an_older_run(method: str, updates: str | None) -> None:
    info = {"preset": PRESET, "method": "belief-tables", "config": {"tables": {"method": method}}}
    assert with_current_names(info)["config"]["tables"].get("updates") == updates


def test_the_run_plays_as_an_agent(reference: Path, tmp_path: Path, command: Command) -> None:
    longer = tmp_path / "longer"  # `random` wins 45.5 % against itself, and eight small iterations hardly teach more
    run_preset(longer, PRESET, tiny("iterations=60", "evaluation.every=0"))
    match = ("--game", "mini-geister", "--games", "4000", "--seed", "1", "--json")
    outcome = command("evaluate", str(longer), "--against", "random", *match)
    assert outcome.code == 0, outcome.err
    assert 0.5 < json.loads(outcome.out)["win_rate"] < 0.9
    outcome = command("evaluate", str(reference), "--against", "random", *match)
    assert outcome.code == 0, outcome.err
    assert command("evaluate", f"{reference}@3", "--against", "random", *match).out != outcome.out
    for name, said in (
        ("?average=last", "there are: exact"),
        ("?threshold=0.5", "no option named 'threshold'"),
    ):
        assert said in refused(command("evaluate", f"{reference}{name}", "--against", "random", *match))
    chosen = command(
        "evaluate", str(reference), "--game", "mini-geister", "--option", "random_setup=false", "--games", "20"
    )
    assert chosen.code == 0, chosen.err  # its colours are drawn, as in training


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("game=geister",), "mini-geister, .*geister"),
        (("game=leduc", "evaluation.opponents=random"), "mini-geister, .*leduc"),
        (("game_options.random_setup=false",), "random_setup=true"),
        (("tables.depth=7",), "tables.depth"),
        (("tables.belief=bayes",), "tables.belief"),
        (("tables.method=cfr",), "tables.method"),
        (("tables.explore=0.1",), "explore must be left out with method=depth-limited"),
        (("tables.method=dream", "tables.depth=2", "tables.updates=search"), "depth, updates must be left out"),
        (("tables.method=outcome-sampling", "tables.decay=0.2"), "decay must be left out with method=outcome-sampling"),
        (("evaluation.opponents=greedy",), "greedy"),
        (
            ("curriculum.option=ply_limit", "curriculum.values=10", "curriculum.iterations=2"),
            "curriculum.option",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        tiny(*overrides)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": np.ones((3, 8), np.float32)}, "rows must be"),
        ({"extra": np.zeros(1)}, "has rows and policy, not"),
    ],
)
def test_a_strategy_that_is_none_is_refused(
    reference: Path, tmp_path: Path, command: Command, change: dict[str, Any], message: str
) -> None:
    run = str(with_strategy(reference, tmp_path, change))
    outcome = command("evaluate", run, "--game", "mini-geister", "--against", "random", "--games", "2")
    assert re.search(message, refused(outcome))
