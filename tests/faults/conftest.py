"""The undisturbed run that the others are compared with, made once."""

from pathlib import Path

import pytest

from tests.faults.training import calm_run

ITERATIONS = 40


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return calm_run(tmp_path_factory.mktemp("faults") / "calm", ITERATIONS)
