"""Rules of types beyond mypy: only kernels lack annotations, and none hides a game, an agent or a configuration; and
what a user's type checker says."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from actors.packages import ROOT

PACKAGES = ("actors", "dancfr", "envs", "learners")
HIDDEN = {"game", "games", "rules", "agent", "agents", "config"}

NARROWED = {
    ("envs/agent.py", "game"),  # each kind of agent narrows it to the games that it plays
    ("envs/adapter.py", "game"),  # these functions belong to the record of one game
    ("envs/belief.py", "game"),
}
"""Parameters of protocols that implementations narrow, for which `Any` is the only type."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for file in sorted((Path(ROOT) / package).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text())


def is_kernel(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id in ("kernel", "fast") for each in function.decorator_list)


def is_annotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    own = {"self", "cls"}
    lacking = [each.arg for each in parameters if each.annotation is None and each.arg not in own]
    return not lacking and (function.returns is not None or (function.name == "__init__" and len(parameters) > 1))


def test_only_kernels_lack_annotations() -> None:
    found = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_annotated(node) and not is_kernel(node)
    ]
    assert found == []


def test_annotations_say_which_games_agents_and_configurations() -> None:
    found = []
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                label, annotation = node.arg, node.annotation
            elif isinstance(node, ast.AnnAssign):
                label, annotation = ast.unparse(node.target).rpartition(".")[2], node.annotation
            else:
                continue
            hidden = isinstance(annotation, ast.Name) and annotation.id == "Any" and label.lstrip("_") in HIDDEN
            if hidden and (name, label) not in NARROWED:
                found.append(f"{name}:{node.lineno} {label}: Any")
    assert found == []


def test_a_type_checker_accepts_the_python_of_the_readme(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```\n", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "script.py").write_text("".join(blocks))
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", "cache", "script.py"]
    done = subprocess.run(words, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert "dancfr.make_game" in "".join(blocks)
    assert (done.returncode, done.stdout) == (0, "Success: no issues found in 1 source file\n"), done.stderr
