"""The undisturbed runs that the others are compared with, made once."""

from pathlib import Path

import pytest

from tests.faults.training import calm_run

ITERATIONS = 40
EARLY = 16
"""As far as a run comes that is disturbed a few times only."""


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return calm_run(tmp_path_factory.mktemp("faults") / "calm", EARLY)


@pytest.fixture(scope="session")
def longer_calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For tests of minutes; the others need not wait for it."""
    return calm_run(tmp_path_factory.mktemp("faults") / "longer", ITERATIONS)
