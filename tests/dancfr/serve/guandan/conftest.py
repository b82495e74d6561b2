"""Compiles the kernels of GuanDan before the tests, so that compilation takes no time from a clock."""

import pytest

from dancfr.serve.guandan.client import MATCH
from dancfr.serve.guandan.commands import warm_up
from tests.dancfr.serve.guandan.conversations import RandomPlayer


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    warm_up([RandomPlayer()], MATCH)
