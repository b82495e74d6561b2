"""Odd rows of metrics.jsonl, of another program or a person: `dancfr status` and `--resume` pass over them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dancfr.outcomes import Command
from tests.dancfr.watch.test_status import train_row, trained, win


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "evaluation", "iteration": 4, "win_rate": 0.5},
        win(12, "random", 4) | {"policy": 7},
        win(12, "random", 4) | {"opponent": ["random"]},
        win(12, "random", 4) | {"win_rate": None},
        {"kind": "exploitability", "iteration": 4, "nash_conv": 0.5},
    ],
)
def test_an_odd_row_is_passed_over(row: dict[str, Any], tmp_path: Path, command: Command) -> None:
    with trained(tmp_path / "run", iterations=12, saved=10) as run:
        pass
    before = command("status", "run", "run").out
    run.metrics.append(row)
    assert command("status", "run", "run").out == before


@pytest.mark.parametrize("key", ["ci95", "games", "wins", "mean_return", "stakes"])
@pytest.mark.parametrize("value", ["x", None, ["x", 1]])
def test_an_odd_value_of_an_evaluation_is_passed_over(key: str, value: Any, tmp_path: Path, command: Command) -> None:
    with trained(tmp_path / "run", iterations=12, saved=10) as run:
        run.metrics.append(win(12, "random", 4) | {"mean_return": 0.5, "stakes": 2} | {key: value})
    (told,) = json.loads(command("status", "run", "--json").out)["evaluations"]
    assert (told["iteration"], told["win_rate"], told[key]) == (12, 0.4, None)
    for runs in (("run",), ("run", "run")):
        assert "random" in command("status", *runs).out


@pytest.mark.parametrize("key", ["elapsed_s", "workers/died", "samples/values", "buffer/fill"])
@pytest.mark.parametrize("value", ["x", None, [1]])
def test_an_odd_value_of_a_training_row_is_passed_over(key: str, value: Any, tmp_path: Path, command: Command) -> None:
    with trained(tmp_path / "run", iterations=12, saved=10) as run:
        run.metrics.append({"kind": "train"} | train_row(13) | {"workers/died": 1, key: value})
        run.metrics.append({"kind": "event", "iteration": 13, "event": "recovery", "lost_iterations": "x"})
    told = json.loads(command("status", "run", "--json").out)
    assert told["iteration"] == 13
    assert told["elapsed_s"] == (24 if key == "elapsed_s" else 26)
    assert command("status", "run").code == 0


def test_a_run_with_odd_rows_is_resumed(tmp_path: Path, command: Command) -> None:
    words = ("train", "leduc-policy-gradient", "game=kuhn", "games=64", "chunk=64", "checkpoint_every=1")
    words += ("evaluation.every=2", "evaluation.games=4", "--run-dir", "run", "--inline", "--device", "cpu")
    assert command(*words, "iterations=2").code == 0
    odd = (
        {"kind": "train"},
        {"kind": "train", "iteration": 2, "elapsed_s": "x"},
        {"kind": "evaluation", "iteration": 2},
        {"kind": "evaluation", "iteration": 2, "policy": "average", "opponent": "random", "win_rate": None},
        {"kind": "exploitability", "iteration": 2, "policy": "average"},
    )
    with (tmp_path / "run" / "metrics.jsonl").open("a") as record:
        record.writelines(f"{json.dumps(row)}\n" for row in odd)
    resumed = command(*words, "iterations=3", "--resume")
    assert resumed.code == 0, resumed.err
    assert "3 iterations" in resumed.out
