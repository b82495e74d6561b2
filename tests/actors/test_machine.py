"""Missing requirements are reported before Ray is started, which would find out late or report something else."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from actors import machine
from actors.packages import ROOT
from tests.privileges import obeying_modes

START = """
from actors import cluster
try:
    cluster.start_local(2, False, lambda line: None)
except cluster.RayUnavailable as error:
    print(error)
"""
WORK = """
import sys
from actors import cluster
cluster.start_local(1, False, print)
import ray
print(ray.get(ray.remote(lambda: sys.executable).remote(), timeout=150))
cluster.leave()
"""
TOO_LONG = "/tmp/" + "x" * (machine.LONGEST_FOLDER - 4)


def refused(*before: str, last: str = "", **variables: str) -> str:
    """The one line in which a process of its own refuses to start Ray; Ray would take seconds to be imported."""
    begin = [*before, sys.executable, "-X", "importtime", "-c", START, last]
    done = subprocess.run(
        begin,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if line.endswith(" ray")], "Ray was imported"
    (line,) = done.stdout.splitlines()
    return line


def test_few_open_files_are_named_with_the_number_that_is_needed() -> None:
    assert "the limit is 64: raise it (ulimit -n 128)" in refused("sh", "-c", 'ulimit -n 64; exec "$@"', "sh")


@pytest.mark.parametrize(
    ("folder", "why"), [(TOO_LONG, f"{machine.LONGEST_FOLDER} is the most"), ("/tmp/ü", "is not ASCII")]
)
@pytest.mark.parametrize("name", ["TMPDIR", "RAY_TMPDIR"])
def test_a_folder_that_cannot_hold_sockets_is_named_with_the_cure(name: str, folder: str, why: str) -> None:
    line = refused(**{name: folder})
    assert why in line
    assert folder in line
    assert "set RAY_TMPDIR to" in line


def test_a_folder_of_another_user_is_named_with_the_cure() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # `tmp_path` is too long
        Path(folder, "ray").mkdir(mode=0o555)
        line = refused(*obeying_modes(), RAY_TMPDIR=folder)
        inner = Path(folder, "closed")
        inner.mkdir(mode=0)
        within = refused(*obeying_modes(), RAY_TMPDIR=f"{inner}/own")
    assert f"{inner}, where Ray keeps its files, is not a folder that this user may write to" in within
    assert f"{folder}/ray, where Ray keeps its files, is not a folder that this user may write to" in line
    assert "set RAY_TMPDIR to" in line


def test_names_that_are_not_utf_8_are_named_with_the_cure(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/run\xff"
    os.mkdir(folder)
    changed = ["sh", "-c", 'cd "$0" && exec "$@"', os.fsdecode(folder)]
    for line in (refused(*changed), refused("env", "LC_ALL=C", "PYTHONUTF8=0", "PYTHONCOERCECLOCALE=0", last="ü")):
        assert r"names in UTF-8 only, unlike '" in line
        assert r"\udc" in line
        assert "set LC_ALL=C.UTF-8" in line


@pytest.mark.parametrize("named", ["", "here"])
def test_the_folder_is_absolute(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray takes an empty TMPDIR for the current folder, and its processes then wait for each other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.setenv("TMPDIR", named)
    assert machine.temporary_folder() == (tmp_path / "here" if named else Path("/tmp"))


def test_ray_starts_workers_below_uv_run_by_the_same_interpreter(tmp_path: Path) -> None:
    """Ray looks for a process above that is called `uv run`, here a shell of that name."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "1"\n')
    (tmp_path / "run").write_text('"$@"\n')
    command = ["uv", "run", sys.executable, "-c", WORK]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, executable=shutil.which("bash"), cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1:] == [sys.executable], done.stderr
