"""The bots that the record of a game names, checked so that a mistake in it is one line."""

from collections.abc import Callable, Mapping
from typing import Any

from dancfr.errors import UsageError, shortened
from envs.agent import Agent
from envs.record import GameRecord


def entry_bots(record: GameRecord) -> Mapping[str, Callable[[], Agent]]:
    """Returns a factory for each bot that a record names, by name; none for a record without bots.

    Raises:
        UsageError: `bots` of the record is not a function, or does not return factories by name.
    """
    if record.bots is None:
        return {}
    given: Any = record.bots  # of someone else's package
    if not callable(given):
        raise _wrong(record, f"is {type(given).__name__}, expected a function")
    found = given()
    if not isinstance(found, Mapping):
        raise _wrong(record, f"returned {type(found).__name__}, expected a dict")
    for name, make in found.items():
        if not isinstance(name, str):
            raise _wrong(record, f"returned the name {shortened(name)}, expected text")
        if not callable(make):
            raise _wrong(record, f"returned {type(make).__name__} for {name!r}, expected its class or a function")
    return found


def _wrong(record: GameRecord, fault: str) -> UsageError:
    return UsageError(f'game {record.name}: bots of its entry {fault}: write bots=lambda: {{"NAME": CLASS}}')


__all__ = ["entry_bots"]
