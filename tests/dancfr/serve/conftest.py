"""Processes for the tests of all servers."""

from collections.abc import Iterator

import pytest

from tests.dancfr.serve.processes import Processes


@pytest.fixture
def processes() -> Iterator[Processes]:
    """Starts processes, and kills those that are left after the test."""
    started = Processes()
    yield started
    for process in started:
        process.stop()
