"""The tree that is sent to a cluster: what Ray would pack, and no other than the one that was checked."""

import os
import zipfile
from pathlib import Path

import pytest

from dancfr.cluster import packing
from dancfr.cluster.packing import check_tree, list_tree, pack
from dancfr.errors import UsageError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files that are sent, and files of each kind that is not."""
    root = tmp_path / "tree"
    for name in (
        "main.py", "dancfr/cli.py", "deep/er/kept.txt", "deep/er/own.log", "runs/r/metrics.jsonl", "notes.tmp",
        ".git/config", ".venv/pyvenv.cfg", "dancfr/__pycache__/cli.pyc", "sub/secret.txt", "sub/kept.txt",
    ):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / ".gitignore").write_text("/runs/\n*.tmp\n")
    (root / "deep/er/.gitignore").write_text("*.log\n")
    (root / "sub/.rayignore").write_text("secret.txt\n")
    (root / "main.py").chmod(0o755)
    return root


def test_the_listing_is_what_ray_packs(tree: Path, tmp_path: Path) -> None:
    from ray._private.ray_constants import get_runtime_env_default_excludes
    from ray._private.runtime_env.packaging import create_package

    assert set(get_runtime_env_default_excludes()) == set(packing.EXCLUDED)
    create_package(str(tree), tmp_path / "ray.zip", include_gitignore=True, excludes=list(packing.EXCLUDED))
    with zipfile.ZipFile(tmp_path / "ray.zip") as by_ray:
        expected = {name for name in by_ray.namelist() if not name.endswith("/")}
    found = {path.as_posix() for path in list_tree(tree)}
    assert found == expected
    assert found == {
        "main.py", "dancfr/cli.py", "deep/er/kept.txt", "sub/kept.txt", ".gitignore", "deep/er/.gitignore",
        "sub/.rayignore",
    }  # fmt: skip


def test_the_archive_depends_on_the_tree_alone(tree: Path, tmp_path: Path) -> None:
    """So that a tree which has not changed is not sent again."""
    pack(tree, list_tree(tree), tmp_path / "first.zip")
    for path in list_tree(tree):
        os.utime(tree / path, (1, 1))
    pack(tree, list_tree(tree), tmp_path / "second.zip")
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "first.zip") as archive:
        assert {Path(name) for name in archive.namelist()} == set(list_tree(tree))
        assert archive.read("deep/er/kept.txt") == b"deep/er/kept.txt"
        assert archive.getinfo("main.py").external_attr >> 16 & 0o111


@pytest.mark.parametrize("harm", ["grow", "new", "gone"])
def test_a_tree_that_changes_while_it_is_packed_is_refused(tree: Path, tmp_path: Path, harm: str) -> None:
    listing = list_tree(tree)
    if harm == "grow":
        with (tree / "main.py").open("a") as file:
            file.write("more")
    elif harm == "new":
        (tree / "main.py.log").write_text("line")
    else:
        (tree / "main.py").unlink()
    with pytest.raises(UsageError, match=r"main\.py.* changed while .* or name it in \.gitignore"):
        pack(tree, listing, tmp_path / "tree.zip")


def test_a_log_that_is_written_all_the_time_is_noticed(tree: Path, tmp_path: Path, monkeypatch) -> None:
    """The change comes after the file was packed: only the second look at the tree can see it."""
    writestr = zipfile.ZipFile.writestr

    def and_log(self: zipfile.ZipFile, entry: zipfile.ZipInfo, data: bytes) -> None:
        writestr(self, entry, data)
        with (tree / "dancfr/cli.py").open("a") as log:
            log.write("a line\n")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", and_log)
    with pytest.raises(UsageError, match=r"dancfr/cli\.py changed while"):
        pack(tree, list_tree(tree), tmp_path / "tree.zip")


def test_a_tree_over_100_mib_is_refused_with_its_largest_files(tree: Path) -> None:
    for name, mib in (("big.bin", 70), ("bigger.bin", 80), ("small.bin", 1)):
        with (tree / name).open("wb") as file:
            file.truncate(mib * 2**20)
    told = r"151\.0 MiB .*100\.0 MiB.*\.gitignore.*bigger\.bin \(80\.0 MiB\), big\.bin \(70"
    with pytest.raises(UsageError, match=told):
        check_tree(tree, list_tree(tree))
    (tree / ".rayignore").write_text("big*.bin\n")
    check_tree(tree, list_tree(tree))


def test_a_run_in_the_tree_is_refused_unless_it_is_ignored(tree: Path) -> None:
    for folder in ("runs/r", "mine/r"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
        (tree / folder / "run.lock").touch()
    with pytest.raises(UsageError, match=r"mine/r would be sent along"):
        check_tree(tree, list_tree(tree))
    (tree / ".gitignore").write_text("/runs/\n/mine/\n")
    check_tree(tree, list_tree(tree))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent does not exist: name another --working-dir"):
        list_tree(tmp_path / "absent")
