"""dancfr in the folder of a project that has packages named `actors`, `envs` and `learners`: ours are found there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import make_project
from tests.proxies import proxied

MODULE = [sys.executable, "-m", "dancfr"]
SCRIPT = [str(Path(sys.executable).with_name("dancfr"))]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def run(project: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(words, cwd=project, env=kept | environment, capture_output=True, text=True, timeout=200)


def test_training_runs_on_ray_and_with_wandb(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver, the workers and W&B's reader; all of them have the project in front of their path. None of them asks
    a proxy for this machine, as Ray's metrics would."""
    words = ["game=kuhn", "traversals=16", "chunk=16", "iterations=1", "minutes=none", "evaluation.games=4"]
    options = ["--workers", "1", "--wandb", "offline", "--run-dir", "run"]
    with proxied(monkeypatch) as asked:
        done = run(project, *MODULE, "train", "leduc-dream-quick", *words, *options)
    assert [request for request in asked if "127.0.0.1" in request] == []
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stderr
    assert "could not start" not in done.stderr
    assert list((project / "run" / "wandb").glob("offline-run-*"))


@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
def test_command_runs_with_the_project_on_the_path(project: Path, command: list[str]) -> None:
    done = run(project, *command, "games", "leduc", "--check", PYTHONPATH=str(project))
    assert done.returncode == 0, done.stderr


def test_module_of_the_project_is_refused_in_one_line(project: Path) -> None:
    """A process has one package named `envs`."""
    done = run(project, *MODULE, "games", "pettingzoo:envs.mine")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"which takes the place of {project / 'envs'} here: give that package another name" in line


def test_package_that_was_imported_before_is_named(project: Path) -> None:
    (project / "envs" / "__init__.py").write_text("")
    done = run(project, sys.executable, "-c", "import envs, dancfr")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: dancfr is loaded from")
    assert f"the 'envs' at {project / 'envs'} was imported before" in last
