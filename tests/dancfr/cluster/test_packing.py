"""The files that are sent to a cluster, and the archive that they are sent in."""

import os
import shutil
import subprocess
import threading
import zipfile
from functools import partial
from pathlib import Path

import pytest

from dancfr.cluster.packing import check_tree, list_tree, pack
from dancfr.errors import UsageError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files that are sent, and files of each kind that is not."""
    root = tmp_path / "tree"
    for name in (
        "main.py", "dancfr/cli.py", "deep/er/kept.txt", "deep/er/own.log", "runs/r/metrics.jsonl", "notes.tmp",
        ".git/config", ".venv/pyvenv.cfg", "dancfr/__pycache__/cli.pyc", "sub/secret.txt", "sub/kept.txt",
        "dancfr/notes/n.txt",
    ):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / ".gitignore").write_text("/runs/\n*.tmp\n")
    (root / "deep/er/.gitignore").write_text("*.log\n")
    (root / ".rayignore").write_text("/dancfr/notes/\n")
    (root / "main.py").chmod(0o755)
    return root


SENT = {
    "main.py", "dancfr/cli.py", "deep/er/kept.txt", "sub/kept.txt", "sub/secret.txt", ".gitignore",
    "deep/er/.gitignore", ".rayignore",
}  # fmt: skip


def test_ignored_files_are_left_out(tree: Path) -> None:
    assert {path.as_posix() for path in list_tree(tree)} == SENT


def test_the_same_files_are_sent_from_within_a_repository(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracked or not, from a hook of git or not, and of a repository within the repository too."""
    run = partial(subprocess.run, cwd=tree, check=True, capture_output=True)
    shutil.rmtree(tree / ".git")
    run(["git", "init", "--quiet"])
    run(["git", "add", "main.py"])
    run(["git", "init", "--quiet", "deep/er"])
    monkeypatch.setenv("GIT_DIR", str(tree / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tree / ".git" / "index"))
    assert {path.as_posix() for path in list_tree(tree)} == SENT


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


def test_a_log_that_grows_while_the_tree_is_packed_does_no_harm(tree: Path, tmp_path: Path) -> None:
    """Each file is read once, so the archive is whole, whatever has been written to the log by then."""
    (tree / "out.txt").write_text("a line\n")
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            with (tree / "out.txt").open("a") as file:
                file.write("a line\n" * 100)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        pack(tree, list_tree(tree), tmp_path / "tree.zip")
    finally:
        over.set()
        writer.join()
    with zipfile.ZipFile(tmp_path / "tree.zip") as archive:
        assert archive.testzip() is None
        assert archive.read("out.txt").startswith(b"a line\n")


def test_a_file_that_is_gone_since_it_was_listed_is_named(tree: Path, tmp_path: Path) -> None:
    listing = list_tree(tree)
    (tree / "main.py").unlink()
    with pytest.raises(UsageError, match=r"cannot read .*main\.py"):
        pack(tree, listing, tmp_path / "tree.zip")


@pytest.mark.parametrize(
    ("link", "target"), [("here", "."), ("sub/up", ".."), ("sub/here", "."), ("deep/all", "../..")]
)
def test_a_link_to_a_folder_around_it_is_refused_unless_it_is_ignored(tree: Path, link: str, target: str) -> None:
    (tree / link).symlink_to(target)
    with pytest.raises(UsageError, match=rf"^{tree / link} is a link to a folder that contains it"):
        list_tree(tree)
    (tree / ".rayignore").write_text(f"/dancfr/notes/\n/{link}\n")
    assert {path.as_posix() for path in list_tree(tree)} == SENT


def test_links_that_lead_to_each_other_are_refused(tree: Path) -> None:
    (tree / "deep" / "there").symlink_to("../sub")
    (tree / "sub" / "back").symlink_to("../deep")
    with pytest.raises(UsageError, match="is a link to a folder that contains it"):
        list_tree(tree)


def test_a_link_to_another_folder_is_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    (tree / "link").symlink_to("../other")
    assert {path.as_posix() for path in list_tree(tree)} == SENT | {"link/file"}


def test_a_machine_without_git_is_told_to_install_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tree))
    with pytest.raises(UsageError, match="install it"):
        list_tree(tree)


def test_a_tree_over_100_mib_is_refused_with_its_largest_files(tree: Path) -> None:
    for name, mib in (("big.bin", 70), ("bigger.bin", 80), ("small.bin", 1)):
        with (tree / name).open("wb") as file:
            file.truncate(mib * 2**20)
    named = r"151\.0 MiB .*100\.0 MiB.*\.gitignore.*bigger\.bin \(80\.0 MiB\), big\.bin \(70"
    with pytest.raises(UsageError, match=named):
        check_tree(tree, list_tree(tree))
    (tree / ".rayignore").write_text("big*.bin\n")
    check_tree(tree, list_tree(tree))


def test_a_run_in_the_tree_is_refused_unless_it_is_ignored(tree: Path) -> None:
    for folder in ("runs/r", "mine/r"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
        (tree / folder / "run.lock").touch()
    with pytest.raises(UsageError, match=r"mine/r would be sent"):
        check_tree(tree, list_tree(tree))
    (tree / ".gitignore").write_text("/runs/\n/mine/\n")
    check_tree(tree, list_tree(tree))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent does not exist: .*--working-dir"):
        list_tree(tmp_path / "absent")
