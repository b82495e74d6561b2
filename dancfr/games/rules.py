"""Compares the rules of two games by the options that they were made with, since not every class of games has an
``__eq__``."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from envs.game import GameBase

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_NOTE = "_made_with"


def note_options(game: GameBase, options: Mapping[str, Any]) -> None:
    """Notes in a game all the options that it was made with; they are pickled with it."""
    with suppress(AttributeError, TypeError):  # a class with slots
        object.__setattr__(game, _NOTE, dict(options))


def noted_options(game: GameBase) -> dict[str, Any]:
    """Returns the options that a game was made with, by `make_game` or as a dataclass; empty if they are unknown."""
    found = getattr(game, _NOTE, None)
    return dict(found) if found is not None else _fields(game) if is_dataclass(game) else {}


def first_difference(game: GameBase, other: GameBase, ignored: Collection[str] = ()) -> tuple[str, Any, Any] | None:
    """Returns an option in which two games of one name differ, with both values.

    None if there is no such option, or if the options are unknown: the game was made neither by `make_game` nor by a
    dataclass.

    Args:
        game, other: Games of the same name.
        ignored: Options that need not agree.
    """
    first, second = (getattr(each, _NOTE, None) for each in (game, other))
    if first is None or second is None:
        if not (is_dataclass(game) and is_dataclass(other)):
            return None
        first, second = _fields(game), _fields(other)
    for key in {**first, **second}:
        ours, theirs = first.get(key), second.get(key)
        if key not in ignored and ours != theirs:
            return key, ours, theirs
    return None


def may_differ(game: GameBase) -> frozenset[str]:
    """Returns the options of a game that may differ between the training of an agent and its games."""
    found: frozenset[str] = getattr(game, "may_differ", frozenset())
    return found


def _fields(game: "DataclassInstance") -> dict[str, Any]:
    return {each.name: getattr(game, each.name) for each in fields(game) if each.init and each.compare}


__all__ = ["first_difference", "may_differ", "note_options", "noted_options"]
