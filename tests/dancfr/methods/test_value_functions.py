"""Tests of the driver for value functions: shared and held-out samples, evaluations, refusals."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.errors import RunError, UsageError
from dancfr.games.registry import make_game
from dancfr.methods.launch import _fresh_start
from dancfr.methods.value_functions.data import MANIFEST
from dancfr.methods.value_functions.driver import tasks_of
from dancfr.runs.run import Run
from envs.goofspiel import Goofspiel
from envs.tree import compile_tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.storage import load_state
from learners.value_functions.exploitability import TrunkEvaluator
from learners.value_functions.learner import validation_losses
from learners.value_functions.network import NetValues, RangeValueNet
from learners.value_functions.solver import DepthLimitedSolver
from learners.value_functions.trunks import plans_of
from tests.dancfr.methods.table_runs import configured, run_preset, stored
from tests.dancfr.outcomes import Command, Outcome
from tests.learners.value_functions.oracle import cut

PRESET = "goofspiel5-values"
TINY = (
    "game=goofspiel",
    "game_options.cards=3",
    "limit=actions:2",
    "strategies=30",
    "asked=6",
    "more=5",
    "chunk=8",
    "held=4",
    "solving.iterations=60",
    "solving.asked_iterations=10",
    "solving.starts=3",
    "network.width=16",
    "network.depth=2",
    "training.batch=16",
    "training.minibatches=6",
    "evaluation.every=2",
    "evaluation.iterations=15",
    "checkpoint_every=2",
    "capacity=500",
)


def tiny(*overrides: str) -> Any:
    return configured(PRESET, *TINY, *overrides)


def record(path: Path, kind: str) -> list[dict[str, Any]]:
    """Returns the rows of a kind, including times."""
    found = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    return [row for row in found if row["kind"] == kind]


def saved(path: Path, name: str) -> dict[str, np.ndarray]:
    """Returns a file of the newest checkpoint."""
    return load_state(sorted(path.rglob(name))[-1])[0]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four iterations, inline and without interruption."""
    path = tmp_path_factory.mktemp("runs") / "reference"
    result = run_preset(path, PRESET, tiny("iterations=4"))
    assert result["iterations"] == 4
    return path


def test_the_record_counts_samples(reference: Path) -> None:
    trained = record(reference, "train")
    assert [row["iteration"] for row in trained] == [1, 2, 3, 4]
    assert [row["solving/samples"] for row in trained] == [3 * 30, 3 * 11, 3 * 11, 3 * 11]
    assert [row["samples/values"] for row in trained] == [90, 123, 156, 189]
    assert all(0 <= row["solving/gap"] < 0.01 for row in trained)
    assert all(row["solving/worker_seconds"] > 0 for row in trained)
    assert list(stored(reference)) == ["p0-000002.safetensors", "p0-000004.safetensors"]


def test_chunks_have_seeds_of_their_own_and_random_strategies_come_first() -> None:
    config = tiny("seed=5", "iterations=4")
    first, second, third = (list(tasks_of(config, t)) for t in (1, 2, 3))
    assert [(task.strategies, task.kind) for task in first] == [(8, "random")] * 3 + [(6, "random")]
    assert [(task.strategies, task.kind) for task in second] == [(5, "random"), (6, "asked")]
    assert [task.seed for task in second] == [(5, 2, 0), (5, 2, 1)]
    assert len({task.seed for task in first + second + third}) == 8
    assert [task.seed[0] for task in tasks_of(tiny("seed=5", "data_seed=9"), 1)] == [9] * 4
    assert not list(tasks_of(tiny("asked=0", "more=0"), 2))


def test_a_resume_without_its_samples_solves_them_again(reference: Path, tmp_path: Path) -> None:
    """Existing samples in the folder save work and do not change results."""
    path = tmp_path / "resumed"
    run_preset(path, PRESET, tiny("iterations=2"))
    for shard in (path / "data").glob("shard-*"):
        shard.unlink()
    run_preset(path, PRESET, tiny("iterations=4"), resume=True)
    assert stored(path) == stored(reference)


def test_samples_that_are_there_are_not_solved_again(reference: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    config = ("iterations=2", "asked=0", f"data={shared}")
    run_preset(tmp_path / "first", PRESET, tiny(*config))
    before = {file.name: file.read_bytes() for file in shared.glob("shard-*")}
    assert len(before) == 5
    run_preset(tmp_path / "second", PRESET, tiny(*config))
    assert [row["solving/worker_seconds"] for row in record(tmp_path / "second", "train")] == [0, 0]
    assert {file.name: file.read_bytes() for file in shared.glob("shard-*")} == before
    assert stored(tmp_path / "second") == stored(tmp_path / "first")
    assert not list((tmp_path / "second" / "data").glob("shard-*"))
    other = tiny(*config, "seed=2", "network.depth=1", "data_seed=1")
    run_preset(tmp_path / "third", PRESET, other)
    assert [row["solving/worker_seconds"] for row in record(tmp_path / "third", "train")] == [0, 0]
    assert {file.name: file.read_bytes() for file in shared.glob("shard-*")} == before
    assert stored(tmp_path / "third") != stored(tmp_path / "first")
    listed = json.loads((shared / MANIFEST).read_text())["shards"]
    assert [shard["file"] for shard in listed] == sorted(before)


def test_what_nets_ask_for_stays_with_the_run(reference: Path, tmp_path: Path) -> None:
    shared, path = tmp_path / "shared", tmp_path / "run"
    run_preset(path, PRESET, tiny("iterations=4", f"data={shared}"))
    assert stored(path) == stored(reference), "the folder of the samples does not matter"
    assert {shard.name.split("-")[-1] for shard in shared.glob("shard-*")} == {
        f"random{count}.safetensors" for count in (8, 6, 5)
    }
    assert sorted(shard.name for shard in (path / "data").glob("shard-*")) == [
        f"shard-{tiny().seed}-{t:06d}-0001-asked6.safetensors" for t in (2, 3, 4)
    ]


@pytest.mark.parametrize(("first", "second"), [(12, 16), (16, 12)])
def test_a_folder_may_serve_runs_of_different_size(tmp_path: Path, first: int, second: int) -> None:
    """The runs' last chunks may differ in length; each run gets the same samples as alone."""
    config = ("iterations=1", "asked=0", "evaluation.every=1", "checkpoint_every=1")
    run_preset(tmp_path / "first", PRESET, tiny(*config, f"strategies={first}", f"data={tmp_path / 'shared'}"))
    run_preset(tmp_path / "second", PRESET, tiny(*config, f"strategies={second}", f"data={tmp_path / 'shared'}"))
    run_preset(tmp_path / "alone", PRESET, tiny(*config, f"strategies={second}"))
    (row,) = record(tmp_path / "second", "train")
    assert row["solving/samples"] == 3 * second
    assert stored(tmp_path / "second") == stored(tmp_path / "alone")


def test_one_strategy_of_so_many_is_held_out(reference: Path) -> None:
    """Training and held-out samples are disjoint and together all solved samples."""
    held, shown = saved(reference, "held-out.safetensors")["rows"], saved(reference, "buffer-values.safetensors")
    solved = np.concatenate([load_state(shard)[0]["rows"] for shard in sorted((reference / "data").glob("shard-*"))])
    (shown,) = [array for array in shown.values() if array.dtype == solved.dtype]
    as_bytes = lambda rows: sorted(row.tobytes() for row in rows)  # noqa: E731
    assert len(solved) == 189
    assert as_bytes(np.concatenate([held, shown])) == as_bytes(solved)
    first = [i for i in range(30) if i % 4 == 3]
    chunks = [[i for i in range(8 * c, 8 * c + n) if i % 4 == 3] for c, n in ((0, 5), (1, 6))]
    assert len(held) == 3 * (len(first) + 3 * sum(map(len, chunks)))
    assert np.bincount(held["public"]).tolist() == [len(held) // 3] * 3, "strategy by strategy"


def test_a_public_state_can_be_left_out(tmp_path: Path) -> None:
    """The unseen public state is excluded from training and is the only one in validation."""
    path = tmp_path / "run"
    run_preset(path, PRESET, tiny("iterations=2", "unseen=1"))
    held, arrays = saved(path, "held-out.safetensors")["rows"], saved(path, "buffer-values.safetensors")
    (shown,) = [array for array in arrays.values() if array.dtype == held.dtype]
    assert set(held["public"].tolist()) == {1}
    assert set(shown["public"].tolist()) == {0, 2}
    assert len(held) == 30 + 11
    assert record(path, "exploitability")[-1]["validation/huber"] > 0


def test_the_evaluation_is_of_the_net_that_was_kept(reference: Path) -> None:
    """Recomputes the row from the files: exploitability of the trunk of DL-CFR+ with the net, and held-out errors."""
    split = cut(Goofspiel(3), "actions:2")
    held = saved(reference, "held-out.safetensors")["rows"]
    row = record(reference, "exploitability")[-1]
    assert (row["iteration"], row["policy"], row["max_utility"]) == (4, "trunk", 4)
    weights, _ = load_state(reference / "strategies" / "p0-000004.safetensors")
    net = RangeValueNet.load(split.encoding, tiny().network, weights)
    for name, value in validation_losses(net, held).items():
        assert row[f"validation/{name}"] == pytest.approx(value, rel=1e-5)
    solver = DepthLimitedSolver(split, NetValues(split, net))
    solver.run(15)
    found = TrunkEvaluator(split).evaluate(plans_of(split.trunk, solver.average_policies())).exploitability[0]
    assert row["exploitability"] == pytest.approx(found, abs=1e-6)
    assert row["nash_conv"] == pytest.approx(2 * found, abs=1e-6)
    assert row["normalised_exploitability"] == pytest.approx(found / 4, abs=1e-6)


@pytest.mark.parametrize(
    "game",
    [
        ("game=kuhn", "limit=actions:1"),
        ("game=kuhn", "limit=chances:2"),
        ("game=leduc", "strategies=8", "solving.iterations=20"),
    ],
    ids=lambda overrides: "-".join(overrides[:2]),
)
def test_other_games_can_be_trained_too(tmp_path: Path, game: tuple[str, ...]) -> None:
    kept = [override for override in TINY if not override.startswith(("game", "limit"))]
    result = run_preset(tmp_path / "run", PRESET, configured(PRESET, *kept, *game, "iterations=2"))
    assert result["iterations"] == 2
    trunk = record(tmp_path / "run", "exploitability")[-1]["exploitability"]
    rules = make_game(game[0].removeprefix("game="))
    agent: Any = make_agent(str(tmp_path / "run"), rules)
    form = sequence_form(compile_tree(rules))
    whole = evaluate_policy(form, agent.tree_policy(form.tree)).exploitability
    assert 0 < trunk <= whole + 1e-9, "below the trunk the evaluation plays optimally, the agent does not"


def test_a_preset_can_be_trained_on_another_game() -> None:
    """As docs and CONTRIBUTING.md say of all presets: `game=` is enough."""
    assert configured(PRESET, "game=leduc").evaluation.opponents == ()


def test_a_net_of_some_size_makes_a_good_trunk(tmp_path: Path) -> None:
    """Goofspiel with 3 cards, from 200 strategies: the trunk is within 2 % of the largest return."""
    settings = (
        "strategies=200",
        "asked=0",
        "more=0",
        "chunk=64",
        "capacity=1000",
        "iterations=2",
        "solving.iterations=300",
    )
    net = ("network.width=64", "training.minibatches=300", "training.batch=128", "evaluation.iterations=300")
    run_preset(tmp_path / "run", PRESET, tiny(*settings, *net))
    row = record(tmp_path / "run", "exploitability")[-1]
    assert row["normalised_exploitability"] < 0.02
    assert row["validation/l1"] < 0.1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("limit=rounds:2",), "actions:N or chances:N"),
        (("limit=actions:9",), "choose a lower depth limit"),
        (("limit=chances:1",), "choose a lower depth limit"),
        (("unseen=3",), "unseen .*got 3: goofspiel has 3 at actions:2"),
        (("unseen=0", "limit=actions:1"), "has 1 at actions:1"),
        (("unseen=-1",), "unseen"),
        (("capacity=15",), "capacity must be at least training.batch"),
        (("loss=mse",), "loss"),
        (("held=1",), "held"),
        (("strategies=1",), "strategies"),
        (("chunk=0",), "chunk"),
        (("network.depth=0",), "network.depth"),
        (("solving.tolerance=0",), "solving.tolerance"),
        (("solving.pure=1.5",), "solving.pure"),
        (("evaluation.every=0",), "evaluation.every must be at least 1"),
        (("held=31",), "held must be at most .*got 31"),
        (("evaluation.opponents=random",), "evaluation.opponents"),
        (("curriculum.option=cards", "curriculum.values=3", "curriculum.iterations=2"), "curriculum.option"),
        (("game=geister", "game_options={}"), "."),
        (("game=cheat", "game_options={}"), "."),
        (("game=guandan", "game_options={}"), "."),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        tiny(*overrides)
    assert "\n" not in str(caught.value)


def told(outcome: Outcome) -> str:
    """Returns the single error line after the lines about starting."""
    assert outcome.code == 2, outcome
    (line,) = [
        line
        for line in outcome.err.splitlines()
        if not line.startswith(("starting ", "training ", "resumed ", "compiled ", "compiling ", "game="))
    ]
    assert line.startswith("dancfr: ")
    return line


def test_samples_of_other_settings_are_refused(tmp_path: Path, command: Command) -> None:
    shared = tmp_path / "shared"
    train = ("train", PRESET, *TINY, "iterations=1", "asked=0", f"data={shared}", "--inline", "--run-dir")
    assert command(*train, "one").code == 0
    for change, message in (
        ("solving.iterations=61", "solving is"),
        ("chunk=9", "chunk is 8 there and 9 here"),
        ("limit=actions:4", "limit is actions:2 there and actions:4 here"),
        ("game_options.cards=4", "game_options is"),
    ):
        said = told(command(*train, f"run-{change}", change))
        assert message in said
        assert str(shared) in said
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "thesis.tex").write_text("")
    said = told(command(*train, "three", f"data={tmp_path / 'papers'}"))
    assert "other files than samples" in said


def test_a_damaged_shard_is_told_in_a_line(tmp_path: Path, command: Command) -> None:
    shared = tmp_path / "shared"
    train = ("train", PRESET, *TINY, "iterations=1", "asked=0", f"data={shared}", "--inline", "--run-dir")
    assert command(*train, "one").code == 0
    shard = min(shared.glob("shard-*"))
    shard.write_bytes(shard.read_bytes()[:-7])
    assert f"{shard} is damaged" in told(command(*train, "two"))
    shard.unlink()
    assert command(*train, "three").code == 0, "it is made again, as the message says"
    assert stored(tmp_path / "three") == stored(tmp_path / "one")


def test_what_is_solved_outlives_a_training_that_fails(tmp_path: Path, command: Command) -> None:
    """A run that fails before its first iteration is removed, unless it has samples to resume from."""
    settings = (*TINY, "iterations=1", "asked=0")
    assert command("train", PRESET, *settings, "--inline", "--run-dir", str(tmp_path / "whole")).code == 0
    path = tmp_path / "failed"
    run = Run.create(path, PRESET, "value-functions", tiny("iterations=1", "asked=0"))
    (path / "data").mkdir()
    for shard in sorted((tmp_path / "whole" / "data").glob("shard-*"))[:-1]:
        shutil.copy(shard, path / "data")
    with pytest.raises(RunError, match="no room"), run, _fresh_start(run, resumed=False):
        raise RunError("no room")
    assert command("train", PRESET, "--inline", "--run-dir", str(path), "--resume").code == 0
    assert stored(path) == stored(tmp_path / "whole")


def test_relative_folders_are_found_from_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert tiny("data=there").data == str(tmp_path / "there")
