"""dancfr with its plain dependencies only: games, solvers and agents work, the rest names its extra."""

import importlib.metadata as metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dancfr.errors import _EXTRAS
from dancfr.methods import find_preset
from dancfr.runs.run import Run
from tests.packaging.dependencies import EXTRAS, PROJECT, ROOT, required_by

MODULES = {"markdown-it-py": "markdown_it"}
"""Modules of extras that are not called like their packages."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages: the dependencies of dancfr without any extra, as links to the packages installed here."""
    folder = tmp_path_factory.mktemp("plain")
    needed = set(required_by(map(Requirement, PROJECT["dependencies"])))
    for name in needed:
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(distribution.locate_file(top))))
    assert not needed & {"ray", "torch", "wandb", "matplotlib", "aiohttp", "jinja2", "huggingface-hub"}
    return folder


def run_folder(path: Path) -> None:
    preset = find_preset("leduc-dream-quick")
    with Run.create(path, preset.name, "dream", preset.config) as run:
        run.append_metrics({"kind": "train", "iteration": 1, "elapsed_s": 1.0})


def run(plain: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(plain), str(ROOT)])}
    command = [sys.executable, "-S", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize(
    "words",
    [
        "version",
        "games leduc --check",
        "presets leduc-dream",
        "solve kuhn --iterations 10 --out kuhn.safetensors",
        "evaluate pretrained:leduc --against random --games 10 --exploitability",
        "evaluate pretrained:geister --against random --games 2",
        "evaluate pretrained:guandan --against random --game guandan --games 1",
    ],
)
def test_command_works_without_extras(plain: Path, tmp_path: Path, words: str) -> None:
    done = run(plain, tmp_path, "-m", "dancfr", *words.split())
    assert done.returncode == 0, done.stderr[-2000:]


def test_library_works_without_extras(plain: Path, tmp_path: Path) -> None:
    program = """
import dancfr
env = dancfr.make_game("geister").env(render_mode="rgb_array")
env.reset(seed=1)
assert env.render().ndim == 3
assert dancfr.solve("kuhn", iterations=100).exploitability < 0.05
try:
    dancfr.train("leduc-dream-quick", inline=True)
except dancfr.errors.PackageMissing as error:
    print(error)
"""
    done = run(plain, tmp_path, "-c", program)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("this needs torch, which is not installed: pip install 'dancfr[train]', or ")
    assert not list(tmp_path.iterdir()), "nothing was started"


@pytest.mark.parametrize(
    ("words", "package"),
    [
        ("train leduc-dream-quick iterations=1", "torch"),
        ("train leduc-dream-quick iterations=1 --inline", "torch"),
        ("exploit pretrained:leduc --minutes 1", "torch"),
        ("jobs --address http://127.0.0.1:9", "requests"),
        ("play leduc --no-open", "aiohttp"),
        ("serve guandan --port 0", "aiohttp"),
        ("report run", "jinja2"),
        ("export pretrained:leduc onnx", "onnx"),
        ("evaluate hf:owner/name", "huggingface_hub"),
        ("tune leduc-policy-gradient --space space.toml --trials 2", "optuna"),
    ],
)
def test_command_that_needs_an_extra_names_it(plain: Path, tmp_path: Path, words: str, package: str) -> None:
    run_folder(tmp_path / "run")
    done = run(plain, tmp_path, "-m", "dancfr", *words.split())
    assert done.returncode == 2, done.stderr[-2000:]
    (line,) = done.stderr.splitlines()
    extra = _EXTRAS[package]
    assert line == (
        f"dancfr: this needs {package}, which is not installed: pip install 'dancfr[{extra}]', or 'dancfr[all]' for "
        "everything"
    )


def test_table_of_extras_is_that_of_pyproject() -> None:
    stated = {
        MODULES.get(name := Requirement(text).name.lower(), name): extra
        for extra in ("train", "report", "serve", "tensorboard", "tune", "hub", "onnx", "notebook")
        for text in EXTRAS[extra]
    }
    assert stated | {"requests": "train"} == _EXTRAS  # Ray brings it
    (everything,) = (Requirement(text) for text in EXTRAS["all"])
    assert everything.extras == {"train", "report", "serve", "tensorboard", "tune", "hub", "onnx", "notebook"}
