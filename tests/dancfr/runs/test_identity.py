"""A copy of a run is a run of its own; a run that is moved, renamed or mounted elsewhere stays the same."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dancfr.runs.config import Config
from dancfr.runs.run import Run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    with Run.create(tmp_path / "runs" / "r9", "quick", "dream", Config()):
        return tmp_path / "runs" / "r9"


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        assert Path(folder).stat().st_dev != tmp_path.stat().st_dev
        yield Path(folder)


def resumed(path: Path) -> Path | None:
    """Resumes a run and returns the folder of which it is a copy, if it is one."""
    before = json.loads((path / "config.json").read_text())
    (path / "wandb.json").write_text("{}")
    with Run.open(path, writing=True) as run:
        run.resume_as("quick", "dream", Config())
        run.confirm_resume()
    after = json.loads((path / "config.json").read_text())
    new = after.get("origin") != before.get("origin")
    assert (after.get("id") != before.get("id")) == new
    assert (path / "wandb.json").exists() == (not new)
    assert after["home"]["path"] == str(path.resolve())
    return Path(after["origin"]["path"]) if new else None


def test_moved_run_stays_the_same(run: Path, tmp_path: Path, other_disk: Path) -> None:
    assert resumed(run) is None
    renamed = run.rename(run.with_name("renamed"))
    assert resumed(renamed) is None
    (tmp_path / "link").symlink_to(renamed)
    assert resumed(tmp_path / "link") is None
    moved = Path(shutil.move(renamed, other_disk / "moved"))
    assert resumed(moved) is None
    assert resumed(moved) is None


@pytest.mark.parametrize("first", ["copy", "original"])
@pytest.mark.parametrize("place", ["beside", "other disk"])
def test_copy_becomes_a_run_of_its_own_once(first: str, place: str, run: Path, other_disk: Path) -> None:
    copy = Path(shutil.copytree(run, (run.parent if place == "beside" else other_disk) / "copy"))
    if first == "original":
        assert resumed(run) is None
    assert resumed(copy) == run
    assert resumed(run) is None
    assert resumed(copy) is None
    second = Path(shutil.copytree(copy, copy.with_name("copy of the copy")))
    assert resumed(second) == copy


def test_copy_is_found_where_the_original_was_renamed(run: Path) -> None:
    copy = Path(shutil.copytree(run, run.with_name("copy")))
    original = run.rename(run.with_name("original"))
    assert resumed(original) is None
    assert resumed(copy) == original


def test_copy_in_the_place_of_the_original_is_a_copy(run: Path) -> None:
    original = run.rename(run.with_name("original"))
    shutil.copytree(original, run)
    assert resumed(run) == original
    assert resumed(original) is None


def test_two_copies_without_the_original_part(run: Path) -> None:
    copies = [Path(shutil.copytree(run, run.with_name(name))) for name in ("a", "b")]
    shutil.rmtree(run)
    assert sum(resumed(copy) is not None for copy in copies) == 1


def test_run_of_version_0_2_is_not_taken_for_its_backup(run: Path) -> None:
    file = run / "config.json"
    info = json.loads(file.read_text())
    file.write_text(json.dumps({key: info[key] for key in info if key not in ("id", "home")}))
    backup = Path(shutil.copytree(run, run.with_name("r9.bak")))
    assert resumed(run) is None
    assert resumed(backup) == run
    assert resumed(run) is None
