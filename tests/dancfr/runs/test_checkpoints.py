"""Checkpoints: the newest sound one counts, whatever was killed, cut, garbled or refused by the disk."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dancfr.errors import RunError, UsageError
from dancfr.runs import checkpoints
from dancfr.runs.checkpoints import CheckpointFailed, find_damage, latest, listed, seal, writing
from dancfr.runs.config import Config
from dancfr.runs.run import Run
from learners.storage import load_state, save_state
from tests.dancfr.full_disk import can_mount, small_disk


class Settings(Config):
    iterations: int = 5


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", "quick", "dream", Settings()) as made:
        yield made


def write(run: Run, iteration: int, size: int = 1000) -> None:
    with writing(run, iteration) as folder:
        save_state(folder / "buffer.safetensors", {"rows": np.full(size, iteration)}, {})
        (folder / "learners").mkdir()
        (folder / "learners" / "driver.json").write_text(json.dumps({"iteration": iteration}))


def iterations(run: Run) -> list[int]:
    return [checkpoint.iteration for checkpoint in listed(run)]


def stored(run: Run) -> list[str]:
    return sorted(path.name for path in (run.path / "checkpoints").iterdir())


def test_the_last_two_are_kept(run: Run) -> None:
    assert latest(run) is None
    for iteration in (10, 20, 30):
        write(run, iteration)
    assert stored(run) == ["000020", "000030"]
    newest = latest(run)
    assert newest is not None
    assert newest.iteration == 30
    assert load_state(newest.folder / "buffer.safetensors")[0]["rows"][0] == 30
    manifest = json.loads((newest.folder / "manifest.json").read_text())
    assert set(manifest["files"]) == {"buffer.safetensors", "learners/driver.json"}


def test_a_checkpoint_may_be_written_again(run: Run) -> None:
    write(run, 10, size=3)
    write(run, 10, size=5)
    assert stored(run) == ["000010"]
    newest = latest(run)
    assert newest is not None
    assert len(load_state(newest.folder / "buffer.safetensors")[0]["rows"]) == 5


def test_a_checkpoint_that_cannot_be_moved_leaves_the_one_in_its_place(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(run, 10, size=3)
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if path.name == "000010.partial":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(CheckpointFailed, match="the one of iteration 10 is intact"):
        write(run, 10, size=5)
    assert stored(run) == ["000010"]
    newest = latest(run)
    assert newest is not None
    assert len(load_state(newest.folder / "buffer.safetensors")[0]["rows"]) == 3


def cut(folder: Path) -> None:
    os.truncate(folder / "buffer.safetensors", 500)


def garble(folder: Path) -> None:
    data = bytearray((folder / "buffer.safetensors").read_bytes())
    data[-7] ^= 1
    (folder / "buffer.safetensors").write_bytes(data)


def lose_file(folder: Path) -> None:
    (folder / "learners" / "driver.json").unlink()


def lose_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def tear_manifest(folder: Path) -> None:
    os.truncate(folder / "manifest.json", 40)


def empty_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{}")


def take_for_another(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(seal({**manifest, "iteration": 7})))


DAMAGES = [cut, garble, lose_file, lose_manifest, tear_manifest, empty_manifest, take_for_another]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_passed_over_loudly(run: Run, capfd: pytest.CaptureFixture[str], damage) -> None:
    write(run, 10)
    write(run, 20)
    damage(run.path / "checkpoints" / "000020")
    found = latest(run)
    assert found is not None
    assert found.iteration == 10
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert line.startswith("WARNING: ")
    assert "000020" in line
    assert "falling back" in line
    write(run, 15)  # the run resumes from 10
    assert iterations(run) == [10, 15]


@pytest.mark.parametrize("place", [0, 150, -1], ids=["first", "middle", "last"])
def test_damage_is_found_in_every_block_of_a_file(run: Run, monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    monkeypatch.setattr(checkpoints, "_BLOCK", 100)
    write(run, 10)
    (checkpoint,) = listed(run)
    assert find_damage(checkpoint) is None
    data = bytearray((checkpoint.folder / "buffer.safetensors").read_bytes())
    data[place] ^= 1
    (checkpoint.folder / "buffer.safetensors").write_bytes(data)
    assert "its content has changed" in (find_damage(checkpoint) or "")


def test_a_damaged_checkpoint_is_none_of_those_that_are_kept(run: Run) -> None:
    for iteration in (10, 20):
        write(run, iteration)
    cut(run.path / "checkpoints" / "000020")
    latest(run)
    write(run, 30)
    assert stored(run) == ["000010", "000030"]


def test_checkpoints_that_the_run_has_gone_back_behind_are_removed(run: Run) -> None:
    for iteration in (10, 20, 15):
        write(run, iteration)
    assert stored(run) == ["000010", "000015"]


def test_every_flipped_bit_of_a_manifest_is_found(run: Run) -> None:
    """A digit of the configuration in it would otherwise look like an edit of the run's settings."""
    write(run, 10)
    (checkpoint,) = listed(run)
    manifest = checkpoint.folder / "manifest.json"
    whole = manifest.read_bytes()
    assert b'"config"' in whole
    passed = []
    for place in range(8 * len(whole)):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        manifest.write_bytes(data)
        if find_damage(checkpoint) is None and json.loads(data) != json.loads(whole):
            passed.append(data[place // 8 - 20 : place // 8 + 20])
    assert not passed
    manifest.write_bytes(whole)
    assert find_damage(checkpoint) is None


def test_a_manifest_of_version_0_2_is_intact_without_a_checksum(run: Run) -> None:
    write(run, 10)
    (checkpoint,) = listed(run)
    manifest = json.loads((checkpoint.folder / "manifest.json").read_text())
    del manifest["crc32"]
    (checkpoint.folder / "manifest.json").write_text(json.dumps(manifest))
    assert find_damage(checkpoint) is None


def test_if_all_are_damaged_the_run_does_not_start_over(run: Run) -> None:
    write(run, 10)
    write(run, 20)
    cut(run.path / "checkpoints" / "000010")
    lose_manifest(run.path / "checkpoints" / "000020")
    with pytest.raises(UsageError, match=r"every checkpoint of .*run is damaged .*not starting over") as caught:
        latest(run)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    assert iterations(run) == [10, 20], "nothing is removed"


def abort_while_writing(run: Run) -> None:
    with writing(run, 20) as folder:
        (folder / "half").write_text("x")
        raise KeyboardInterrupt


def test_an_exception_while_writing_leaves_nothing_behind(run: Run) -> None:
    write(run, 10)
    with pytest.raises(KeyboardInterrupt):
        abort_while_writing(run)
    assert stored(run) == ["000010"]


def test_a_folder_that_is_not_there_is_explained(run: Run) -> None:
    """As it is for an actor on a machine that does not share the folder of the run."""
    with (
        pytest.raises(CheckpointFailed, match="or a machine with actors does not share it"),
        writing(run, 10) as partial,
    ):
        (partial / "no such folder" / "learner.safetensors").write_bytes(b"")
    assert stored(run) == []


needs_mount = pytest.mark.skipif(not can_mount(), reason="may not mount a small disk")


@pytest.mark.parametrize("mount", [False, pytest.param(True, marks=needs_mount)], ids=["limit", "tmpfs"])
def test_a_full_disk_costs_only_the_new_checkpoint(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], mount: bool
) -> None:
    path = tmp_path / "disk" / "run"
    with small_disk(tmp_path / "disk", mount) as fill, Run.create(path, "quick", "dream", Settings()) as run:
        write(run, 10)
        run.append_metrics({"iteration": 10})
        fill(True)
        for _ in range(3):
            with pytest.raises(CheckpointFailed, match="the one of iteration 10 is intact") as caught:
                write(run, 20, size=300_000)
        assert "\n" not in str(caught.value)
        assert ("No space left on device" if mount else "File too large") in str(caught.value)
        assert stored(run) == ["000010"]
        with pytest.raises(RunError, match=r"cannot write .*p0-000020.safetensors: .*make room"):
            run.save_strategy(0, 20, {"w": np.zeros(300_000)}, {})
        long = "x" * 100_000
        run.append_metrics({"iteration": 19, "text": long})
        run.append_metrics({"iteration": 20})
        assert run.metrics.waiting == 2
        assert [row["iteration"] for row in run.read_metrics()] == [10]
        assert capfd.readouterr().err.count("rows wait in memory") == 1
        fill(False)
        newest = latest(run)
        assert newest is not None
        assert newest.iteration == 10
        write(run, 20)
        run.append_metrics({"iteration": 21})
        assert run.metrics.waiting == 0
        later = [{"iteration": 19, "text": long}, {"iteration": 20}, {"iteration": 21}]
        assert run.read_metrics()[1:] == later
        assert stored(run) == ["000010", "000020"]


@needs_mount
def test_a_full_disk_lets_no_run_start(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", mount=True) as fill:
        fill(True)
        with pytest.raises((RunError, UsageError), match="No space left on device"):
            Run.create(tmp_path / "disk" / "run", "quick", "dream", Settings())


KILLED = """
import os, signal, sys
from dancfr.runs.checkpoints import writing
from dancfr.runs.run import Run
with Run.open(sys.argv[1], writing=True) as run, writing(run, 20) as folder:
    (folder / "buffer.safetensors").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_killed_while_writing_leaves_the_last_checkpoint(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", "quick", "dream", Settings()) as run:
        write(run, 10)
    result = subprocess.run([sys.executable, "-c", KILLED, str(run.path)])
    assert result.returncode == -signal.SIGKILL
    with Run.open(run.path, writing=True) as again:
        assert stored(again) == ["000010", "000020.partial"]
        newest = latest(again)
        assert newest is not None
        assert newest.iteration == 10
        write(again, 30)
        assert stored(again) == ["000010", "000030"]


def test_no_module_of_ours_can_unpickle() -> None:
    """Neither pickle nor a function that unpickles silently is called anywhere in the four packages."""
    root = Path(checkpoints.__file__).parents[2]
    forbidden = ("import pickle", "torch.load(", "allow_pickle=True", "import joblib", "pickle.load", "np.load(")
    found = [
        f"{path.relative_to(root)}: {word}"
        for package in ("dancfr", "actors", "learners", "envs")
        for path in (root / package).rglob("*.py")
        for word in forbidden
        if word in path.read_text()
    ]
    assert found == []
