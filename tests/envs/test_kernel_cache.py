"""Which sources the folder of a file's kernels depends on."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envs.kernel_cache import import_closure, kernel_folder

ROOT = Path(__file__).parents[2]
KERNELS = [
    path
    for package in ("envs", "learners", "actors")
    for path in sorted((ROOT / package).rglob("*.py"))
    if any(line in ("@kernel", "@fast") for line in path.read_text().splitlines())
]


def imported(path: Path) -> set[Path]:
    """The files of this repository that a file imports, by Python's own parser."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    places = [ROOT / name.replace(".", "/") for name in names]
    files = [place.with_suffix(".py") for place in places] + [place / "__init__.py" for place in places]
    return {file for file in files if file.is_file()}


@pytest.mark.parametrize("path", KERNELS, ids=[".".join(path.relative_to(ROOT).parts) for path in KERNELS])
def test_import_closure_contains_every_import_of_its_files(path: Path) -> None:
    closure = set(import_closure(path))
    assert path in closure
    for file in closure:
        assert imported(file) <= closure, file


def test_import_closure_leaves_out_other_games_and_learners() -> None:
    rules = {path.relative_to(ROOT).as_posix() for path in import_closure(ROOT / "envs/geister/rules.py")}
    assert "envs/compiled.py" in rules
    assert not any(name.startswith(("envs/guandan", "envs/cheat", "learners", "actors", "dancfr")) for name in rules)
    names = [path.relative_to(ROOT).as_posix() for kernels in KERNELS for path in import_closure(kernels)]
    assert not set(names) & {"learners/deep_cfr/advantage.py", "learners/dream/baseline.py", "learners/dmc/learner.py"}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package outside of dancfr: `rules` imports `cards` relatively, over several lines, which imports dancfr."""
    folder = tmp_path / "mine" / "games"
    folder.mkdir(parents=True)
    for init in (folder / "__init__.py", folder.parent / "__init__.py"):
        init.touch()
    (folder / "rules.py").write_text("from .cards import (  # two names\n    RANKS,\n    suit,\n)\n")
    (folder / "cards.py").write_text("def suit():\n    from ..sizes import SUITS\n    import envs.compiled as c\n")
    (folder.parent / "sizes.py").write_text("SUITS = 4\n")
    (folder / "players.py").write_text("from .rules import RANKS\n")
    return folder


def test_import_closure_follows_relative_imports_and_imports_of_dancfr(package: Path) -> None:
    closure = import_closure(package / "rules.py")
    assert {package / "rules.py", package / "cards.py", package.parent / "sizes.py"} <= set(closure)
    assert ROOT / "envs/compiled.py" in closure
    assert package / "players.py" not in closure


@pytest.mark.parametrize(
    ("file", "changes"),
    [("games/rules.py", True), ("games/cards.py", True), ("sizes.py", True), ("games/players.py", False)],
)
def test_kernel_folder_changes_with_imported_files_only(package: Path, file: str, changes: bool) -> None:
    def name() -> str:
        command = (
            "import sys, pathlib; from envs.kernel_cache import kernel_folder as f; print(f(pathlib.Path(sys.argv[1])))"
        )
        rules = str(package / "rules.py")
        done = subprocess.run(
            [sys.executable, "-c", command, rules], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return done.stdout

    before = name()
    assert before.startswith("mine.games.rules-")
    edited = package.parent / file
    edited.write_text(edited.read_text() + "# edited\n")
    assert (name() != before) == changes


def test_kernel_folder_is_the_same_in_another_checkout(tmp_path: Path) -> None:
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT / "envs", copy / "envs", ignore=shutil.ignore_patterns("__pycache__"))
    assert kernel_folder(copy / "envs/kuhn/rules.py") == kernel_folder(ROOT / "envs/kuhn/rules.py")
