"""Harm to the files of a run: damage, a full disk, a second process, other settings, a torn record."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dancfr.runs import checkpoints
from dancfr.runs.run import Run
from tests.dancfr.full_disk import can_mount, small_disk
from tests.faults.commands import assert_refused, contents, copy_of, dancfr, training_of
from tests.faults.training import assert_as_if_undisturbed, calm_run, rows, strategies, training

Capture = pytest.CaptureFixture[str]
STOPPED, LONGER = 7, 9
EVERY = 3
"""Iterations between two checkpoints of the harness' trainings."""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended after iteration 7, with checkpoints of 6 and 7."""
    path = calm_run(tmp_path_factory.mktemp("files") / "stopped", STOPPED)
    assert sorted(os.listdir(path / "checkpoints")) == ["000006", "000007"]
    return path


def flip_a_byte(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("name", ["buffer-advantages-1.safetensors", "driver.json", "manifest.json"])
def test_one_flipped_byte_in_the_newest_checkpoint_costs_what_followed_the_one_before(
    stopped: Path, calm: Path, tmp_path: Path, capfd: Capture, name: str
) -> None:
    run = copy_of(stopped, tmp_path)
    flip_a_byte(run / "checkpoints" / "000007" / name)
    outcome = dancfr(capfd, *training_of(run, f"iterations={LONGER}", "--resume"))
    assert outcome.code == 0, outcome.err
    (warning,) = (line for line in outcome.err.splitlines() if line.startswith("WARNING: "))
    assert f"checkpoints/000007/{name}" in warning
    assert warning.endswith("falling back to the checkpoint before it")
    assert "resumed after iteration 6" in outcome.err, "one iteration is done again; an interval has three"
    assert_as_if_undisturbed(run, calm)
    assert len(rows(run, "train")) == LONGER


def test_if_every_checkpoint_is_damaged_nothing_is_begun_anew_and_nothing_changed(
    stopped: Path, tmp_path: Path, capfd: Capture
) -> None:
    run = copy_of(stopped, tmp_path)
    for name in ("000006", "000007"):
        flip_a_byte(run / "checkpoints" / name / "learner-advantages.safetensors")
    before = contents(run)
    outcome = dancfr(capfd, *training_of(run, f"iterations={LONGER}", "--resume"))
    line = assert_refused(outcome)
    assert "every checkpoint of" in line
    assert "not starting over: restore" in line
    assert outcome.err.count("WARNING: ") == 2
    after = contents(run)
    assert [name for name in before if after.get(name) != before[name]] == []
    assert after.keys() == before.keys()
    again = dancfr(capfd, *training_of(run, f"iterations={LONGER}"))
    assert "already holds a run: continue it with --resume" in assert_refused(again)
    assert contents(run) == before


SMALL = (
    "network.width=16",
    "baseline_network.width=16",
    "reservoir=200",
    "circular=200",
    "advantage_training.minibatches=5",
)
"""A strategy of 30 kB, a checkpoint of half a megabyte."""


@pytest.fixture(scope="module")
def small_calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return calm_run(tmp_path_factory.mktemp("files") / "small", 12, *SMALL)


needs_mount = pytest.mark.skipif(not can_mount(), reason="may not mount a small disk")


def leave(room: int, disk: Path) -> None:
    """Gives some of a full disk's bytes back."""
    filler = disk / ".filler"
    os.truncate(filler, filler.stat().st_size - room)


@pytest.mark.parametrize("mount", [False, pytest.param(True, marks=needs_mount)], ids=["limit", "tmpfs"])
def test_after_three_checkpoints_that_do_not_fit_a_run_ends_and_with_room_again_goes_on(
    small_calm: Path, tmp_path: Path, capfd: Capture, mount: bool
) -> None:
    """There is room for rows and for strategies, not for a checkpoint."""
    disk = tmp_path / "disk"
    run = disk / "run"
    with small_disk(disk, mount) as fill:
        assert dancfr(capfd, *training_of(run, *SMALL, "iterations=4")).code == 0
        intact = kept_state(run)
        fill(True)
        if mount:
            leave(200_000, disk)
        outcome = dancfr(capfd, *training_of(run, *SMALL, "checkpoint_every=1", "iterations=12", "--resume"))
        line = assert_refused(outcome, code=1)
        assert line.startswith("dancfr: 3 checkpoints in a row could not be written: cannot write the checkpoint of")
        assert ("No space left on device" if mount else "File too large") in line
        assert "the one of iteration 4 is intact" in line
        assert outcome.err.count("cannot write the checkpoint of iteration") == 3, "each is told"
        assert [row["iteration"] for row in rows(run, "train")] == [1, 2, 3, 4, 5, 6, 7], "it continued until the third"
        assert kept_state(run) == intact
        assert go_on(fill, run, capfd) == 4
        assert_as_if_undisturbed(run, small_calm)
        assert len(rows(run, "train")) == 12


@needs_mount
def test_a_disk_without_room_for_a_strategy_ends_a_run_at_once(
    small_calm: Path, tmp_path: Path, capfd: Capture
) -> None:
    disk = tmp_path / "disk"
    run = disk / "run"
    with small_disk(disk, mount=True) as fill:
        assert dancfr(capfd, *training_of(run, *SMALL, "iterations=4")).code == 0
        intact = kept_state(run)
        fill(True)
        leave(16384, disk)  # for config.json and rows, not for a strategy
        line = assert_refused(dancfr(capfd, *training_of(run, *SMALL, "iterations=12", "--resume")), code=1)
        assert "p0-000005.safetensors: No space left on device; make room and continue with --resume" in line
        assert kept_state(run) == intact
        assert go_on(fill, run, capfd) == 4
        assert_as_if_undisturbed(run, small_calm)


def kept_state(run: Path) -> dict[str, bytes]:
    """The newest checkpoint's files, which are whole."""
    newest = checkpoints.listed(Run.open(run))[-1]
    assert checkpoints.find_damage(newest) is None
    assert list((run / "checkpoints").glob("*.partial")) == []
    return contents(newest.folder)


def go_on(fill: Callable[[bool], None], run: Path, capfd: Capture) -> int:
    """With room again the run is resumed and ends; returns the iteration that it resumes from."""
    fill(False)
    outcome = dancfr(capfd, *training_of(run, *SMALL, "iterations=12", "--resume"))
    assert outcome.code == 0, outcome.err
    (told,) = (line for line in outcome.err.splitlines() if line.startswith("resumed after iteration "))
    return int(told.split()[3].rstrip(",;:"))


def test_the_same_run_started_twice_is_refused_and_the_first_is_not_disturbed(
    calm: Path, tmp_path: Path, capfd: Capture
) -> None:
    with training(tmp_path / "run", "iterations=14", "--inline") as first:
        first.reach(1)
        for more in (["iterations=14"], ["iterations=20", "--resume"]):
            line = assert_refused(dancfr(capfd, *training_of(first.path, *more)))
            assert f"is in use by process {first.process.pid} on" in line
            assert first.process.poll() is None
        assert first.end() == 0, first.told()
    assert_as_if_undisturbed(first.path, calm)
    assert len(rows(first.path, "train")) == 14
    assert "resumed" not in json.loads((first.path / "config.json").read_text())


@pytest.mark.parametrize(
    ("settings", "difference"),
    [
        (("seed=2",), "seed: 1 -> 2"),
        (("network.width=64",), "network.width: 128 -> 64"),
        (("game_options.ply_limit=50",), "game_options: "),
        (("reservoir=10000", "traversals=48"), "traversals: 96 -> 48 (and 1 more)"),
        (("seed=2", "iterations=20", "resources.recoveries=1"), "seed: 1 -> 2:"),
    ],
)
def test_a_changed_configuration_is_refused_with_the_difference(
    stopped: Path, tmp_path: Path, capfd: Capture, settings: tuple[str, ...], difference: str
) -> None:
    run = copy_of(stopped, tmp_path)
    before = contents(run)
    line = assert_refused(dancfr(capfd, *training_of(run, *settings, "--resume")))
    assert f"a resumed run keeps its configuration, and this would change {difference}" in line
    assert "--allow-changes (without it, only " in line
    free = line.partition("only ")[2].removesuffix(" may change)").split(", ")
    assert {"checkpoint_every", "evaluation", "iterations", "minutes"} < set(free)
    assert contents(run) == before


def test_a_changed_configuration_that_is_meant_is_noted_and_keeps_what_was_done(
    stopped: Path, tmp_path: Path, capfd: Capture
) -> None:
    run = copy_of(stopped, tmp_path)
    words = training_of(run, "traversals=48", f"iterations={LONGER}", "--resume", "--allow-changes")
    outcome = dancfr(capfd, *words)
    assert outcome.code == 0, outcome.err
    assert "resumed after iteration 7" in outcome.err
    assert [row["iteration"] for row in rows(run, "train")] == list(range(1, LONGER + 1))
    assert rows(run)[:STOPPED] == rows(stopped)
    before, after = strategies(stopped), strategies(run)
    assert {name: after[name] for name in before} == before
    assert len(after) == LONGER
    (entry,) = json.loads((run / "config.json").read_text())["resumed"]
    assert entry["changes"] == ["iterations: 7 -> 9", "traversals: 96 -> 48"]


@pytest.mark.parametrize("setting", ["network.width=64", "resources.buffer_shards=2"])
def test_a_change_that_no_checkpoint_fits_is_refused_and_does_not_stay(
    stopped: Path, tmp_path: Path, capfd: Capture, setting: str
) -> None:
    run = copy_of(stopped, tmp_path)
    before = contents(run)
    words = training_of(run, setting, f"iterations={LONGER}", "--resume", "--allow-changes")
    assert "does not match the settings" in assert_refused(dancfr(capfd, *words))
    assert contents(run) == before, "else the run could not be resumed without a change back"


def edit(run: Path, **changes: object) -> None:
    """Changes the configuration in a run's config.json; None removes a key."""
    file = run / "config.json"
    info = json.loads(file.read_text())
    info["config"] = {key: value for key, value in (info["config"] | changes).items() if value is not None}
    file.write_text(json.dumps(info))


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"seed": 2}, "seed: 1 -> 2"),
        ({"traversals": None}, "traversals: 96 -> "),
        ({"updates": "simultaneous", "seed": 2, "iterations": 20}, "seed: 1 -> 2 (and 1 more)"),
    ],
)
def test_an_edited_configuration_is_refused_with_the_difference(
    stopped: Path, tmp_path: Path, capfd: Capture, changes: dict[str, object], difference: str
) -> None:
    """Else the configuration would tell of another training than that of the iterations done."""
    run = copy_of(stopped, tmp_path)
    edit(run, **changes)
    before = contents(run)
    line = assert_refused(dancfr(capfd, *training_of(run, f"iterations={LONGER}", "--resume")))
    assert f"config.json has been edited since the newest checkpoint: {difference}" in line
    assert contents(run) == before


def test_an_edited_configuration_that_is_meant_is_noted(stopped: Path, tmp_path: Path, capfd: Capture) -> None:
    run = copy_of(stopped, tmp_path)
    edit(run, seed=2, iterations=LONGER)
    outcome = dancfr(capfd, *training_of(run, "--resume", "--allow-changes"))
    assert outcome.code == 0, outcome.err
    entries = json.loads((run / "config.json").read_text())["resumed"]
    assert [entry["changes"] for entry in entries] == [["seed: 1 -> 2", f"iterations: 7 -> {LONGER}"]]
    shutil.rmtree(run / "checkpoints" / "000009")  # as if it had been killed before its first checkpoint
    outcome = dancfr(capfd, *training_of(run, "--resume"))
    assert outcome.code == 0, outcome.err
    assert "resumed after iteration 7" in outcome.err, "a noted change is not an edit"


def test_a_longer_run_and_other_resources_are_no_change(
    stopped: Path, calm: Path, tmp_path: Path, capfd: Capture
) -> None:
    run = copy_of(stopped, tmp_path)
    free = ("checkpoint_every=2", "resources.recoveries=1", "resources.worker_cpus=0.5", "minutes=60")
    outcome = dancfr(capfd, *training_of(run, f"iterations={LONGER}", *free, "--resume"))
    assert outcome.code == 0, outcome.err
    assert_as_if_undisturbed(run, calm)
    assert len(rows(run, "train")) == LONGER
    (entry,) = json.loads((run / "config.json").read_text())["resumed"]
    assert set(entry["changes"]) == {
        "iterations: 7 -> 9",
        "minutes: none -> 60.0",
        "checkpoint_every: 3 -> 2",
        "resources.worker_cpus: 1.0 -> 0.5",
        "resources.recoveries: 5 -> 1",
    }


def test_a_row_that_a_kill_has_torn_is_written_once_and_whole_when_the_run_goes_on(
    stopped: Path, calm: Path, tmp_path: Path, capfd: Capture
) -> None:
    """The process was killed while it wrote the row of iteration 7, so there is no checkpoint of 7 either."""
    run = copy_of(stopped, tmp_path)
    shutil.rmtree(run / "checkpoints" / "000007")
    record = run / "metrics.jsonl"
    *whole, last = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join(whole) + last[: len(last) // 2])
    for reader in (("status", str(run), "--json"), ("report", str(run), "--out", str(tmp_path / "report"))):
        assert dancfr(capfd, *reader).code == 0, "whoever reads it passes over the torn line"
    outcome = dancfr(capfd, *training_of(run, f"iterations={LONGER}", "--resume"))
    assert outcome.code == 0, outcome.err
    assert "resumed after iteration 6" in outcome.err
    assert_as_if_undisturbed(run, calm)
    assert [row["iteration"] for row in rows(run)] == list(range(1, LONGER + 1))
    lines = record.read_bytes().splitlines(keepends=True)
    assert all(json.loads(line) and line.endswith(b"\n") for line in lines), "the torn line is gone"
    assert len(strategies(run)) == LONGER
