"""A game in words: the page of its rules, and the meanings of its options."""

import inspect
from collections.abc import Iterable
from pathlib import Path

from dancfr.docstrings import parse_attributes
from envs.game import GameBase


def rules_of(game: GameBase) -> Path | None:
    """Returns the page of a game's rules, the README.md beside its class; None for games of other packages."""
    if not type(game).__module__.startswith("envs."):
        return None
    rules = Path(inspect.getfile(type(game))).parent / "README.md"
    return rules if rules.is_file() else None


def meanings_of(game: GameBase, options: Iterable[str]) -> dict[str, str]:
    """Returns the meaning of each option by name, from ``Attributes:`` or ``Args:`` in the docstrings of the game's
    classes; empty where they have none."""
    found: dict[str, str] = {}
    for base in reversed(type(game).__mro__):
        for section in ("Attributes", "Args"):
            found |= parse_attributes(base.__doc__, section)
    return {option: found.get(option, "") for option in options}


__all__ = ["meanings_of", "rules_of"]
