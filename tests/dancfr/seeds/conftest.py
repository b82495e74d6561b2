"""Runs of three seeds, trained once, and copies of them for tests that change something."""

import shutil
from pathlib import Path

import pytest

import dancfr
from dancfr.seeds import SeedRuns
from tests.dancfr.seeds.small_seeds import train


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("seeds") / "runs"
    train(path, (1, 2, 3))
    return path


@pytest.fixture
def runs(folder: Path) -> SeedRuns:
    return dancfr.load_seeds(folder)


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copied"))
