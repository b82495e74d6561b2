"""Whole searches on Kuhn poker in this process: their runs, refusals, and trials that end early."""

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from actors.dream import external_sampling
from dancfr.errors import RunError, UsageError
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from dancfr.report.history import History
from dancfr.runs.lock import take_lock
from dancfr.runs.run import Run
from dancfr.tuning import trial as trials
from dancfr.tuning.study import Plan, open_study
from dancfr.tuning.trial import Task, run_trial
from learners.training import TrainingDiverged
from tests.dancfr.outcomes import Command, refused
from tests.dancfr.tuning.searches import ITERATIONS, PRESET, SETTINGS, arguments, write_space

OPTIONS = TrainOptions(inline=True, progress=False)


def found(command: Command, *words: str) -> dict[str, Any]:
    """The object that a search prints."""
    outcome = command(*words, "--inline", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("game=kuhn: options, curriculum and opponents of leduc are left out") == 1
    result: dict[str, Any] = json.loads(outcome.out)
    return result


def test_search_leaves_runs_a_comparison_and_a_page(command: Command, tmp_path: Path) -> None:
    space, folder = write_space(tmp_path), tmp_path / "search"
    first = ("--space", space, "--trials", "3", "--seeds", "2", "--report-seeds", "2")
    result = found(command, *arguments(folder, *first))
    assert (result["metric"], result["direction"], result["seeds"]) == ("exploitability", "minimised", [101, 102])
    assert [each["state"] for each in result["trials"]] == ["complete"] * 3
    best = result["best"]
    assert best["value"] == min(each["value"] for each in result["trials"])
    assert best["command"].startswith(f"dancfr train {PRESET} game=kuhn")
    assert best["command"].endswith(" ".join(best["overrides"]))

    values = []
    for seed in (101, 102):
        run = folder / "trials" / str(best["number"]) / f"seed{seed}"
        config = Run.open(run).info["config"]
        assert config["seed"] == seed
        assert config["network"]["width"] == best["settings"]["network.width"]
        values.append(History.read(run).nash_conv()[1][-1])
    assert best["value"] == pytest.approx(sum(values) / 2)

    comparison = result["comparison"]
    assert comparison["seeds"] == [1, 2]
    for each, width in (("best", best["settings"]["network.width"]), ("preset", 128)):
        runs = [Run.open(path).info["config"] for path in comparison[each]["runs"]]
        assert [(run["seed"], run["iterations"], run["network"]["width"]) for run in runs] == [
            (seed, ITERATIONS, width) for seed in (1, 2)
        ]
        low, high = comparison[each]["ci95"]
        assert low < comparison[each]["mean"] < high
        assert comparison[each]["mean"] == pytest.approx(sum(comparison[each]["values"]) / 2)
    page = (folder / "tune.html").read_text()
    assert best["command"] in page
    assert "preset&#39;s own settings" in page
    assert result["files"] == [str(folder / "tune.html"), str(folder / "figures" / "trials.png")]

    status = command("status", str(folder / "trials" / "0" / "seed101"))
    assert status.code == 0, status.err
    again = found(command, "tune", PRESET, "--folder", str(folder), "--device", "cpu", "--resume", "--trials", "4")
    assert again["trials"][:3] == result["trials"]
    assert len(again["trials"]) == 4


def test_the_same_seed_finds_the_same(command: Command, tmp_path: Path) -> None:
    space = write_space(tmp_path)
    given = ("--space", space, "--trials", "2", "--report-seeds", "0", "--metric", "wins:random")
    one, two = (found(command, *arguments(tmp_path / name, *given)) for name in ("one", "two"))
    assert (one["direction"], one["comparison"]) == ("maximised", None)
    for result in (one, two):
        for each in result["trials"]:
            del each["seconds"]
    assert one["trials"] == two["trials"]


def test_people_read_counts_the_best_settings_and_intervals(command: Command, tmp_path: Path) -> None:
    given = ("--space", write_space(tmp_path), "--trials", "1", "--report-seeds", "2", "--inline")
    outcome = command(*arguments(tmp_path / "search", *given))
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == f"{tmp_path / 'search'}: 1 complete"
    assert lines[1].startswith("best: trial 0, NashConv ")
    assert lines[1].endswith("(1 seed)")
    assert lines[2].startswith(f"  dancfr train {PRESET} game=kuhn ")
    assert lines[3] == "trained again with 2 new seeds and the same budget, NashConv:"
    assert lines[4].startswith("  best settings: ")
    assert "(95 % interval " in lines[5]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((), "a search needs --space FILE and --trials N"),
        (("--space", "nope.toml", "--trials", "2"), "cannot read nope.toml: No such file or directory"),
        (("--space", "{}", "--trials", "0"), "--trials: input should be greater than or equal to 1, got 0"),
        (("--space", "{}", "--trials", "2", "--keep", "0"), "--keep: input should be greater than 0, got 0"),
        (("--space", "{}", "--trials", "2", "--minutes", "0"), "--minutes must be greater than 0, got 0"),
        (("--space", "{}", "--trials", "2", "--metric", "wins:rush"), "it produces exploitability, wins:random"),
        (("--space", "{}", "--trials", "2", "seed=3"), "seed: the seeds of a search are given by --seeds"),
        (("--space", "{}", "--trials", "2", "network.width=64"), "network.width is in {} and given as a setting"),
        (("--space", "{}", "--trials", "2", "gamez=4"), "no key named 'gamez'"),
        (("--space", "{}", "--trials", "2", "--parallel", "2"), "--parallel needs Ray: leave out --inline"),
        (("--space", "{}", "--trials", "2", "--parallel", "0"), "--parallel must be at least 1, got 0"),
        (("--resume",), "holds no search: leave out --resume to start one"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_made(
    command: Command, tmp_path: Path, more: tuple[str, ...], says: str
) -> None:
    space = write_space(tmp_path)
    line = refused(command(*arguments(tmp_path / "search", "--inline", *(word.format(space) for word in more))))
    assert says.format(space) in line
    assert not (tmp_path / "search").exists()


def test_a_missing_optuna_is_named(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    space = write_space(tmp_path)
    line = refused(command(*arguments(tmp_path / "search", "--inline", "--space", space, "--trials", "2")))
    assert "this needs optuna, which is not installed: pip install 'dancfr[tune]'" in line


def test_a_folder_in_use_is_refused(command: Command, tmp_path: Path) -> None:
    space, folder = write_space(tmp_path), tmp_path / "search"
    given = ("--space", space, "--trials", "1", "--report-seeds", "0")
    found(command, *arguments(folder, *given))
    assert "already holds a search: continue it with --resume" in refused(command(*arguments(folder, *given)))
    resumed = ("tune", PRESET, "--folder", str(folder), "--resume", "--inline", "--device", "cpu")
    line = refused(command(*resumed, "--metric", "wins:random"))
    assert "has another metric: exploitability, not wins:random; leave that out" in line
    assert "has another preset: leduc-policy-gradient, not" in refused(
        command("tune", "leduc-dream", "--folder", str(folder), "--resume", "--inline", "--device", "cpu")
    )
    write_space(tmp_path, '"network.width" = {choices = [16, 64]}')
    assert "has another space; leave that out" in refused(command(*resumed, "--space", space))
    line = refused(command(*resumed[:2], "games=64", *resumed[2:]))
    assert "has other settings: game=kuhn" in line
    assert "not games=64; leave that out" in line
    found(command, *resumed, "--trials", "2")
    assert "has begun 2 trials: --trials must be that many or more" in refused(command(*resumed, "--trials", "1"))
    (folder / "study.jsonl").write_text('{"op_code": 99}\n')
    assert "study.jsonl is damaged" in refused(command(*resumed))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert "is not empty: choose another folder" in refused(command(*arguments(tmp_path / "full", *given)))


def planned(folder: Path, **changes: Any) -> Plan:
    """A search in a folder, of which nothing is trained yet."""
    folder.mkdir()
    space = {"network.width": {"choices": [16, 32]}}
    plan = Plan(preset=PRESET, overrides=SETTINGS, space=space, metric="exploitability", trials=9, **changes)
    plan.write(folder)
    return plan


def test_a_trial_worse_than_others_ends_after_an_evaluation(tmp_path: Path) -> None:
    import optuna

    folder = tmp_path / "search"
    plan = planned(folder)
    study = open_study(folder, plan)
    for _ in range(4):
        distributions = plan.space_of_settings("").distributions()
        values = {2: 1e-9, 4: 1e-9}
        made = {"params": {"network.width": 16}, "distributions": distributions, "intermediate_values": values}
        study.add_trial(optuna.trial.create_trial(value=1e-9, **made))
    outcome = run_trial(folder, Task(4), OPTIONS, lambda _: None)
    assert outcome is not None
    assert (outcome["number"], outcome["state"]) == (4, "pruned")
    run = folder / "trials" / "4" / "seed101"
    history = History.read(run)
    assert history.nash_conv()[0].tolist() == [2.0]
    assert outcome["value"] == history.nash_conv()[1][0]

    options = TrainOptions(inline=True, progress=False, resume=True)
    assert train(TrainRequest(PRESET, (), run, "off", options))["iterations"] == ITERATIONS


def test_all_trials_are_kept_if_asked_to(tmp_path: Path) -> None:
    import optuna

    folder = tmp_path / "search"
    plan = planned(folder, keep=100)
    study = open_study(folder, plan)
    distributions = plan.space_of_settings("").distributions()
    for _ in range(4):
        made = {"params": {"network.width": 16}, "distributions": distributions, "intermediate_values": {2: 1e-9}}
        study.add_trial(optuna.trial.create_trial(value=1e-9, **made))
    outcome = run_trial(folder, Task(4), OPTIONS, lambda _: None)
    assert outcome is not None
    assert outcome["state"] == "complete"


def test_a_trial_that_diverges_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "search"
    plan = planned(folder)

    def diverge(request: TrainRequest) -> dict[str, Any]:
        raise RunError("the loss of fit 1 is nan") from TrainingDiverged()

    with monkeypatch.context() as patch:
        patch.setattr(trials, "train", diverge)
        outcome = run_trial(folder, Task(0), OPTIONS, lambda _: None)
    assert outcome is not None
    assert outcome.pop("seconds") < 60
    assert outcome == {"number": 0, "state": "failed", "value": None}
    kept = run_trial(folder, Task(1), OPTIONS, lambda _: None)
    assert kept is not None
    assert (kept["number"], kept["state"]) == (1, "complete")
    assert open_study(folder, plan).trials[0].user_attrs["cause"] == "the loss of fit 1 is nan"


@pytest.mark.parametrize(
    ("setting", "choices", "why"),
    [
        ("network.width", [-1, -2], "network.width"),
        ("reservoir", [10**15, 10**16], "the buffers would take"),
        ("chunk", [8, 16], "external sampling has more than 10 decisions"),
    ],
)
def test_a_trial_whose_settings_are_refused_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, choices: list[int], why: str
) -> None:
    monkeypatch.setattr(external_sampling, "MOST_NODES", 10)
    settings = ("game=kuhn", "evaluation.exploitability=true", "sampling.method=external", "baseline=false")
    space = {setting: {"choices": choices}}
    plan = Plan(preset="leduc-dream-quick", overrides=settings, space=space, metric="exploitability", trials=1)
    plan.write(tmp_path)
    outcome = run_trial(tmp_path, Task(0), OPTIONS, lambda _: None)
    assert outcome is not None
    assert outcome["state"] == "failed"
    assert why in open_study(tmp_path, plan).trials[0].user_attrs["cause"]


def test_a_trial_whose_folder_cannot_be_made_is_left_to_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "search"
    plan = planned(folder)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    make = Path.mkdir

    def fail(path: Path, *arguments: Any, **options: Any) -> None:
        if path.name == "seed101":
            raise full
        make(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", fail)
        with pytest.raises(UsageError, match=r"cannot write to the run folder .*: No space left on device"):
            run_trial(folder, Task(0), OPTIONS, lambda _: None)
    assert [trial.state.name for trial in open_study(folder, plan).trials] == ["RUNNING"]
    resumed = run_trial(folder, Task(0, 0), OPTIONS, lambda _: None)
    assert resumed is not None
    assert resumed["state"] == "complete"


def test_a_trial_in_use_by_another_process_is_left_to_be_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "search"
    plan = planned(folder)
    run = folder / "trials" / "0" / "seed101"
    run.mkdir(parents=True)
    lock = take_lock(run)
    try:
        with pytest.raises(UsageError, match="is in use by"):
            run_trial(folder, Task(0), OPTIONS, lambda _: None)
    finally:
        lock.release()
    assert [trial.state.name for trial in open_study(folder, plan).trials] == ["RUNNING"]


def test_a_failure_that_is_not_the_settings_ends_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "search"
    plan = planned(folder)

    def fail(request: TrainRequest) -> dict[str, Any]:
        raise RunError("the disk is full")

    monkeypatch.setattr(trials, "train", fail)
    with pytest.raises(RunError, match="the disk is full"):
        run_trial(folder, Task(0), OPTIONS, lambda _: None)
    assert [trial.state.name for trial in open_study(folder, plan).trials] == ["RUNNING"]


def test_a_search_that_was_killed_before_its_plan_was_written_starts_again(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "search"
    (folder / "figures").mkdir(parents=True)
    (folder / "run.lock").touch()
    (folder / ".tune.json.17.partial").touch()
    given = ("--space", write_space(tmp_path), "--trials", "1", "--report-seeds", "0")
    assert len(found(command, *arguments(folder, *given))["trials"]) == 1


def test_a_wrong_mode_of_wandb_costs_no_trial(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "sometimes")
    given = ("--space", write_space(tmp_path), "--trials", "2", "--inline")
    line = refused(command(*arguments(tmp_path / "search", *given)))
    assert "the W&B mode must be online, offline or off, got 'sometimes'" in line
    assert not (tmp_path / "search").exists()
