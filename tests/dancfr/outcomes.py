"""The outcome of a command: exit code and streams."""

from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def refused(outcome: Outcome) -> str:
    """The one line of a refusal."""
    assert (outcome.code, outcome.out) == (2, ""), outcome
    (line,) = outcome.err.splitlines()
    assert line.startswith("dancfr: ")
    return line
