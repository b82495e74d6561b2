"""The wheel holds the four packages and nothing else; every way of running dancfr runs the copy it should."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.projects import make_project

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("actors", "dancfr", "envs", "learners")
LOCATE = """
import json, actors, dancfr, envs, learners
print(json.dumps([package.__path__[0] for package in (actors, dancfr, envs, learners)]))
"""


def run_python(*arguments: str, cwd: Path, path: Path | None = None) -> str:
    """Standard output of this interpreter in another process, with `path` first on its module search path."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    result = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def project_version() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source tree, tests and all, without the files that building and running leave behind."""
    at_root = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "runs", "wandb")
    anywhere = shutil.ignore_patterns("__pycache__")

    def left_behind(folder: str, names: list[str]) -> set[str]:
        return anywhere(folder, names) | (at_root(folder, names) if Path(folder) == ROOT else set())

    copy = tmp_path_factory.mktemp("source") / "dancfr"
    shutil.copytree(ROOT, copy, ignore=left_behind)
    return copy


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run_python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(tree), cwd=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("target")
    options = ["--quiet", "--no-deps", "--no-index", "--target", str(target)]
    run_python("-m", "pip", "install", *options, str(wheel), cwd=target)
    return target


def test_wheel_holds_exactly_the_four_packages(wheel: Path) -> None:
    assert wheel.name == f"dancfr-{project_version()}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    info = f"dancfr-{project_version()}.dist-info"
    assert {name.split("/")[0] for name in names} == {*PACKAGES, info}
    assert not [name for name in names if re.search(r"(^|/)(tests?/|test_|conftest)", name)]
    assert f"{info}/licenses/LICENSE" in names


def test_wheel_holds_every_file_of_the_packages(wheel: Path, tree: Path) -> None:
    """Templates, `py.typed` and other data files are packed like the modules."""
    files = [path for name in PACKAGES for path in (tree / name).rglob("*") if path.is_file()]
    expected = {path.relative_to(tree).as_posix() for path in files}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.split("/")[0] in PACKAGES}
    assert packed == expected
    assert {f"{name}/py.typed" for name in PACKAGES} <= packed


def test_wheel_names_the_command_and_the_dependencies(wheel: Path) -> None:
    info = f"dancfr-{project_version()}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}/METADATA").decode()
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
    assert "dancfr = dancfr.cli:main" in entry_points
    assert "License-Expression: Apache-2.0" in metadata
    assert re.search(r"^Requires-Python: (>=3\.11,<3\.14|<3\.14,>=3\.11)$", metadata, re.MULTILINE)
    assert "Requires-Dist: torch>=2.6" in metadata, "an exact torch here would keep users from their CUDA build"


def test_installed_copy_runs_from_another_folder(installed: Path, tmp_path: Path) -> None:
    places = json.loads(run_python("-c", LOCATE, cwd=tmp_path, path=installed))
    assert places == [str(installed / name) for name in PACKAGES]
    version = json.loads(run_python("-m", "dancfr", "version", "--json", cwd=tmp_path, path=installed))
    assert version["version"] == project_version()


def test_uninstalled_working_directory_runs(tree: Path) -> None:
    """As `ray job submit --working-dir .` does: the current folder wins over an installed copy."""
    places = json.loads(run_python("-c", LOCATE, cwd=tree))
    assert places == [str(tree / name) for name in PACKAGES]
    version = json.loads(run_python("-m", "dancfr", "version", "--json", cwd=tree))
    assert version["version"] == project_version()


def test_editable_install_runs_this_checkout(tmp_path: Path) -> None:
    places = json.loads(run_python("-c", LOCATE, cwd=tmp_path))
    assert places == [str(ROOT / name) for name in PACKAGES], "dancfr is not installed from here: run `make setup`"


def test_version_of_an_installed_copy_comes_from_its_metadata(installed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(installed, copy)
    (metadata,) = copy.glob("dancfr-*.dist-info/METADATA")
    told = metadata.read_text().replace(f"\nVersion: {project_version()}\n", "\nVersion: 9.8.7\n")
    metadata.write_text(told)
    version = run_python("-c", "import dancfr; print(dancfr.__version__)", cwd=tmp_path, path=copy)
    assert version.strip() == "9.8.7"


def test_installed_copy_finds_its_own_packages_first(installed: Path, tmp_path: Path) -> None:
    make_project(tmp_path)
    place = run_python("-c", "import dancfr, envs; print(envs.__path__[0])", cwd=tmp_path, path=installed)
    assert place.strip() == str(installed / "envs")
