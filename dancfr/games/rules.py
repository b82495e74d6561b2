"""Compares the rules of two games by the options that they were made with, since not every class of games has an
``__eq__``."""

import inspect
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

from dancfr.errors import UsageError
from dancfr.values import show
from envs.game import GameBase

_NOTE = "_made_with"


def note_options(game: GameBase, options: Mapping[str, Any]) -> None:
    """Notes in a game all the options that it was made with; they are pickled with it."""
    with suppress(AttributeError, TypeError):  # a class with slots
        object.__setattr__(game, _NOTE, dict(options))


def noted_options(game: GameBase) -> dict[str, Any]:
    """Returns the options that a game was made with, by `make_game` or by its class; empty if they are unknown."""
    found = getattr(game, _NOTE, None)
    return dict(found) if found is not None else _arguments(game)


def first_difference(game: GameBase, other: GameBase, ignored: Collection[str] = ()) -> tuple[str, Any, Any] | None:
    """Returns an option in which two games of one name differ, with both values.

    None if there is no such option, or if the options are unknown: one of the games was not made by `make_game`, and
    they are of different classes, or of one that does not keep the arguments that it was called with.

    Args:
        game, other: Games of the same name.
        ignored: Options that need not agree.
    """
    first, second = (getattr(each, _NOTE, None) for each in (game, other))
    if first is None or second is None:
        if type(game) is not type(other):
            return None
        first, second = _arguments(game), _arguments(other)
    for key in {**first, **second}:
        ours, theirs = first.get(key), second.get(key)
        if key not in ignored and ours != theirs:
            return key, ours, theirs
    return None


def may_differ(game: GameBase) -> frozenset[str]:
    """Returns the options of a game that may differ between the training of an agent and its games."""
    found: frozenset[str] = getattr(game, "may_differ", frozenset())
    return found


def check_rules(
    name: str | os.PathLike[str], made_for: GameBase, game: GameBase, ignored: Collection[str] | None = None
) -> None:
    """Checks that the rules for which an agent was made are those of the game that it will play.

    Args:
        name: Name of the agent, or its path.
        made_for, game: Both games, which have the same name.
        ignored: Options that need not agree; None: those that `may_differ`.

    Raises:
        UsageError: their rules, actions or infostates differ.
    """
    here, there = game.spec, made_for.spec
    differs = f"with {there.num_actions} actions, but this game has {here.num_actions}"
    if here.num_actions == there.num_actions:
        differs = "with infostates of another shape"
    different = first_difference(made_for, game, may_differ(game) if ignored is None else ignored)
    if different is not None:
        key, own, other = different
        differs = f"{key}={show(own)}, but this game has {key}={show(other)}"
    elif (there.num_actions, there.packed_size, there.shapes) == (here.num_actions, here.packed_size, here.shapes):
        return
    raise UsageError(f"{name} was made for other rules of {there.name}: {differs}")


def _arguments(game: GameBase) -> dict[str, Any]:
    """The arguments with which the class of a game was called, as far as it keeps them as attributes: the fields of a
    dataclass, and plain values under their names or with an underscore before."""
    if is_dataclass(game):
        return {each.name: getattr(game, each.name) for each in fields(game) if each.init and each.compare}
    found = {}
    for name in inspect.signature(type(game)).parameters:
        value = getattr(game, name, getattr(game, f"_{name}", None))
        if isinstance(value, (bool, int, float, str, tuple)):
            found[name] = value
    return found


__all__ = ["check_rules", "first_difference", "may_differ", "note_options", "noted_options"]
