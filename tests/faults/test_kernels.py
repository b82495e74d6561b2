"""The cache of compiled kernels is cold, cannot be written, or is of former sources: results are the same.

Everything runs from a copy of the sources, so that they can be edited, and none of it knows of this machine's caches.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.dancfr.full_disk import can_mount
from tests.faults.training import strategies

ROOT = Path(__file__).parents[2]
PACKAGES = ("dancfr", "actors", "learners", "envs")

ENGINE = """
import numpy as np
from envs.guandan.rules.giving import may_pay
low, high = np.uint64(0x5555555555555555), np.uint64(0x55555555555)
print([index for index in range(54) if may_pay(low, high, 3, index)])
"""
"""Which card of one deck has to be paid as a tribute in GuanDan: a kernel that asks kernels of another file for the
order of cards."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the four packages."""
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / "tree" / package, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "tree")
    return tmp_path / "tree"


def replace(file: Path, line: str, other: str) -> None:
    text = file.read_text()
    assert text.count(line) == 1
    file.write_text(text.replace(line, other))


def edit(tree: Path) -> None:
    """Another rule in a kernel that those of another file call: jokers count as twos."""
    line = "    return index // 4 if index < 52 else index - 39\n"
    replace(tree / "envs" / "guandan" / "rules" / "comparison.py", line, "    return index // 4 if index < 52 else 0\n")


def process(tree: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in the copy, whose home is the copy's own."""
    clean = {key: value for key, value in os.environ.items() if key not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    home = tree.parent / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env={**clean, "PYTHONPATH": str(tree), "HOME": str(home), "DANCFR_CACHE_DIR": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def run(tree: Path, *command: str, **environment: str) -> str:
    """Standard output of Python in the copy."""
    return process(tree, *command, **environment).stdout


def tribute(tree: Path, **environment: str) -> list[int]:
    """The result of the copy's compiled kernels."""
    found: list[int] = json.loads(run(tree, "-c", ENGINE, **environment))
    return found


def interpreted(tree: Path) -> list[int]:
    """The result of the sources, without any compiler."""
    return tribute(tree, NUMBA_DISABLE_JIT="1")


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """A folder in which no user can write, root included."""
    folder.mkdir(exist_ok=True)
    if os.geteuid():
        modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*")) if path.is_dir()}
        for path, mode in modes.items():
            path.chmod(mode & ~0o222)
        try:
            yield folder
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
        return
    if not can_mount():
        pytest.skip("root may write everywhere, and may not mount a folder read-only")
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        with pytest.raises(OSError, match="Read-only"), tempfile.TemporaryFile(dir=folder):
            pass
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def kernels(folder: Path) -> int:
    """How many compiled kernels lie below a folder."""
    return sum(1 for _ in folder.rglob("*.nbi"))


def test_an_edit_of_a_callee_in_another_file_is_seen(tree: Path) -> None:
    before = tribute(tree)
    assert before == interpreted(tree)
    cold = kernels(tree.parent / "home")
    assert cold > 0
    assert tribute(tree) == before
    assert kernels(tree.parent / "home") == cold, "nothing is compiled twice"
    edit(tree)
    after = tribute(tree)
    assert after == interpreted(tree)
    assert after != before
    assert kernels(tree) == 0, "nothing lies beside the sources, where it would outlive an edit"


def test_an_edit_is_seen_in_a_cache_folder_that_the_user_has_named(tree: Path) -> None:
    named = {"NUMBA_CACHE_DIR": str(tree.parent / "named")}
    before = tribute(tree, **named)
    assert kernels(tree.parent / "named") > 0
    edit(tree)
    assert tribute(tree, **named) == interpreted(tree) != before


def test_an_edit_that_no_kernel_reaches_compiles_nothing(tree: Path) -> None:
    """A docstring, a loss and the rules of another game are edited between two runs of the kernels of GuanDan."""
    before = tribute(tree)
    cold = kernels(tree.parent / "home")
    for name in ("learners/deep_cfr/advantage.py", "envs/geister/rules.py", "envs/agent.py", "actors/pool.py"):
        file = tree / name
        file.write_text(file.read_text() + "\n# edited\n")
    assert tribute(tree) == before
    assert kernels(tree.parent / "home") == cold


@pytest.mark.parametrize("size", ["4k", "24k", "96k"])
def test_a_full_disk_costs_the_cache_and_one_line(tree: Path, size: str) -> None:
    """The disk is full when the folder is made, or when the first or a later kernel is written."""
    if not can_mount():
        pytest.skip("may not mount a small disk")
    tiny = tree.parent / "tiny"
    tiny.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "dancfr-test", tiny], check=True)
    try:
        wanted = interpreted(tree)
        for _ in ("cold", "warm"):
            done = process(tree, "-c", ENGINE, NUMBA_CACHE_DIR=str(tiny), TMPDIR=str(tiny))
            assert json.loads(done.stdout) == wanted
            assert done.stderr.count("\n") == 1
            assert "kernels are not kept" in done.stderr
            assert "NUMBA_CACHE_DIR" in done.stderr
    finally:
        subprocess.run(["umount", tiny], check=True)


def test_a_damaged_cache_is_replaced(tree: Path) -> None:
    before = tribute(tree)
    home = tree.parent / "home"
    for pattern in ("*.nbc", "*.nbi"):
        for number, file in enumerate(sorted(home.rglob(pattern))):
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2] if number % 2 else b"no kernel")
        done = process(tree, "-c", ENGINE)
        assert json.loads(done.stdout) == before
        assert done.stderr == ""
        written = {file: file.stat().st_mtime_ns for file in home.rglob("*.nb?")}
        assert tribute(tree) == before
        assert {file: file.stat().st_mtime_ns for file in home.rglob("*.nb?")} == written, "kept, and read again"


@pytest.mark.parametrize("harm", ["owner", "mode", "file"])
def test_a_cache_of_another_user_is_neither_trusted_nor_needed(tree: Path, harm: str) -> None:
    if os.geteuid():
        pytest.skip("only root gives files away")
    before = tribute(tree)
    folder = tree.parent / "home" / "dancfr" / "numba"
    named = sum(1 for _ in folder.rglob("*.nbi"))
    if harm == "owner":
        os.chown(folder, 65534, 65534)
    elif harm == "mode":
        folder.chmod(0o777)
    else:
        shutil.rmtree(folder)
        folder.write_text("no folder")
    scratch = tree.parent / "scratch"
    scratch.mkdir()
    done = process(tree, "-c", ENGINE, TMPDIR=str(scratch))
    assert json.loads(done.stdout) == before
    assert done.stderr == ""
    assert kernels(scratch) == named, "they were compiled into a folder of this user"


@pytest.mark.long
@pytest.mark.parametrize("name", ["DANCFR_CACHE_DIR", "NUMBA_CACHE_DIR"])
def test_a_cache_that_cannot_be_written_leaves_nothing_stale_elsewhere(tree: Path, name: str) -> None:
    scratch = tree.parent / "scratch"
    scratch.mkdir()
    with read_only(tree.parent / "locked") as locked:
        settings = {name: str(locked), "TMPDIR": str(scratch)}
        before = tribute(tree, **settings)
        edit(tree)
        assert tribute(tree, **settings) == interpreted(tree) != before
    assert kernels(tree) == 0, "nothing lies beside the sources"


@pytest.mark.long
def test_kernels_of_networks_that_are_used_alone_are_kept_in_the_same_place(tree: Path) -> None:
    run(tree, "-c", "from learners.networks.kernels import _tanh; import numpy as np; _tanh(np.float32(1))")
    assert kernels(tree) == 0, "beside the sources it would outlive an edit"
    assert kernels(tree.parent / "home") > 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_where_nothing_but_the_scratch_folder_can_be_written_kernels_work(tree: Path) -> None:
    """A container's file system that is read-only, sources and home included."""
    scratch = tree.parent / "scratch"
    scratch.mkdir()
    wanted = tribute(tree)
    (tree.parent / "locked").mkdir()
    with read_only(tree), read_only(tree.parent / "home") as home, read_only(tree.parent / "locked") as locked:
        settings = {"TMPDIR": str(scratch), "DANCFR_CACHE_DIR": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        assert tribute(tree, **settings) == wanted
        assert tribute(tree, **settings, NUMBA_CACHE_DIR=str(locked)) == wanted


def trained(tree: Path, name: str, **environment: str) -> dict[str, bytes]:
    """Strategies of two iterations of chance-sampled CFR on Mini-Cheat."""
    path = tree.parent / name
    words = ("cheat-memoryless", "iterations=2", "evaluation.every=0", "--inline", "--wandb", "off")
    run(tree, "-m", "dancfr", "train", *words, "--run-dir", str(path), **environment)
    found = strategies(path)
    assert found
    return found


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_training_gives_the_same_bytes_with_a_cold_a_warm_and_a_locked_cache_and_others_after_an_edit(
    tree: Path,
) -> None:
    cold = trained(tree, "cold")
    assert trained(tree, "warm") == cold
    scratch = tree.parent / "scratch"
    scratch.mkdir()
    with read_only(tree.parent / "locked") as locked:
        assert trained(tree, "locked-run", DANCFR_CACHE_DIR=str(locked), TMPDIR=str(scratch)) == cold
    edit_of_sizes(tree)
    after = trained(tree, "after")
    assert after != cold
    assert trained(tree, "after-cold", DANCFR_CACHE_DIR=str(tree.parent / "empty")) == after


def edit_of_sizes(tree: Path) -> None:
    """Another count of the cards of a discard, which is part of the observations."""
    line = "    pairs = (cards & _LOW) + ((cards >> np.uint64(4)) & _LOW)\n"
    other = line + "    if pairs:\n        return np.int64(1)\n"
    replace(tree / "envs" / "cheat" / "cards.py", line, other)
