"""Arguments of the library: a call is refused in one line unless each has the type that the signature states.

Commands call the functions of the library, so errors name options of the command line. To a caller in Python they name
the arguments of the function that was called.
"""

import inspect
import numbers
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import UnionType
from typing import Any, ParamSpec, Protocol, TypeVar, Union, get_args, get_origin, runtime_checkable

from dancfr.errors import DancfrError, UsageError, names_options, shortened
from dancfr.values import describe_type
from envs.agent import Agent, ListedAgent, NumberedAgent
from envs.game import Game, GameBase, ListedGame
from envs.tree_arrays import TreePolicy

_P = ParamSpec("_P")
_R = TypeVar("_R")


@runtime_checkable
class AsAgent(Protocol):
    """A result that is taken for its agent: a solution, or a run."""

    def as_agent(self) -> str | Agent:
        """Returns the agent that is meant, or its name."""
        ...


_GAMES, _AGENTS = (GameBase, Game, ListedGame), (Agent, NumberedAgent, ListedAgent)
_WORDS: dict[Any, str] = {
    **dict.fromkeys(_GAMES, "a game"), **dict.fromkeys(_AGENTS, "an agent"), os.PathLike: "a path",
    Mapping: "options by name", Sequence: "a list of texts", Callable: "a function",
    AsAgent: "a solution or a run", TreePolicy: "an object with tree_policy",
}  # fmt: skip
_OPTION = re.compile(r"dancfr [a-z]+ [^,;:`()]*|(?<![\w-])--([a-z]+(?:-[a-z]+)*)")
"""An option in a message, or a command with its options, which stays as it is."""
_BITS = 128
"""Integers of more bits are refused: no seed of NumPy has more, and Python does not even print the largest ones."""


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Returns a function that refuses arguments which do not have the annotated types, by a `UsageError`.

    NumPy's numbers become those of Python, and a path becomes text where text is wanted. Errors of the function name
    its arguments where they would name options of the command line, except within `dancfr.errors.naming_options`.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(f"{function.__name__}: {error}") from None
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if parameter.annotation is not parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
                bound.arguments[name] = read(value, parameter.annotation, f"{function.__name__}: {name}")
        try:
            return function(*bound.args, **bound.kwargs)
        except DancfrError as error:
            if not names_options():
                error.args = tuple(_naming_arguments(each, signature) for each in error.args)
            raise

    return call


def _naming_arguments(text: object, signature: inspect.Signature) -> object:
    """Returns a message with arguments of a signature in place of options: ``--run-dir`` becomes ``run_dir``,
    ``--start``, which may be repeated, ``starts``, ``--max-nodes`` ``most_nodes``, and ``--resume``, a flag,
    ``resume=True``."""

    def argument(found: re.Match[str]) -> str:
        name = (found[1] or "").replace("-", "_")
        for parameter in (name, f"{name}s", name.replace("max_", "most_")):
            if parameter in signature.parameters:
                return f"{parameter}=True" if signature.parameters[parameter].annotation is bool else parameter
        return found[0]

    return _OPTION.sub(argument, text) if isinstance(text, str) else text


def read(value: Any, kind: Any, what: str) -> Any:
    """Returns a value as one of a type.

    Args:
        value: The value.
        kind: The type, as an annotation.
        what: What has the value, for errors.

    Raises:
        UsageError: the value has another type, is an integer of more than `_BITS` bits, or a text that no file can have
            as its name.
    """
    if isinstance(value, os.PathLike) and not _fits(value, kind):
        value = os.fspath(value)
    if not _fits(value, kind):
        raise UsageError(f"{what} expects {_describe(kind)}, got {shortened(value)}{_cure(value, kind)}")
    if _is_number(value, numbers.Integral) and kind is not float:
        return int(value)
    return float(value) if _is_number(value, numbers.Real) else value


def _fits(value: Any, kind: Any) -> bool:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin in (int, float):
        number = numbers.Integral if origin is int else numbers.Real
        return _is_number(value, number) and (not _is_number(value, numbers.Rational) or abs(value) < 1 << _BITS)
    if origin is str:
        return isinstance(value, str) and _is_name(value)
    if origin is os.PathLike:
        return isinstance(value, os.PathLike) and _is_name(os.fspath(value))
    if origin is Mapping:
        return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    if origin is Sequence:
        listed = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
        return listed and all(_fits(each, inner[0]) for each in value)
    if origin is Callable:
        return callable(value)
    if origin in _AGENTS:  # without a name, which not every agent has
        return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in ("begin", "act"))
    return not isinstance(value, type) and isinstance(value, (Game, ListedGame) if origin is GameBase else origin)


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_name(text: Any) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _describe(kind: Any) -> str:
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return " or ".join(dict.fromkeys(map(_word, parts)))


def _word(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin is Sequence and get_origin(get_args(kind)[0]) is Callable:
        return "a list of functions"
    if origin is Sequence and get_args(kind) == (int,):
        return "a list of integers"
    if origin is Sequence and {*_AGENTS} & {*get_args(get_args(kind)[0])}:
        return "a list of names and agents"
    return _WORDS.get(origin) or describe_type(kind)


def _cure(value: Any, kind: Any) -> str:
    """Returns a hint about a value of another type, as the end of a sentence."""
    wanted = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if get_origin(kind) is Sequence and isinstance(value, (list, tuple)):
        inner = get_args(kind)[0]
        return next((_cure(each, inner) for each in value if not _fits(each, inner)), "")
    if isinstance(value, type):
        return f": make one, {value.__name__}(...)" if {*_GAMES, *_AGENTS} & {*wanted} else ""
    if isinstance(value, _GAMES) and str in wanted:
        return f": {OWN_GAMES}"
    if {*_AGENTS} & {*wanted} and value is not None and not isinstance(value, (str, numbers.Number)):
        if callable(value):
            return ": dancfr.policy_agent makes an agent of a function of infostates and legal actions"
        lacking = [name for name in ("begin", "act") if not callable(getattr(value, name, None))]
        return f", which lacks {lacking[0]}" if len(lacking) == 1 else ""
    if not isinstance(value, (str, numbers.Number)) and value is not None and {GameBase, Game} & {*wanted}:
        needed = dict.fromkeys(name for name in (*vars(GameBase), *vars(Game)) if not name.startswith("_"))
        lacking = [name for name in needed if not hasattr(value, name)]
        return f", which lacks {', '.join(lacking[:4])}{', ...' if len(lacking) > 4 else ''}" if lacking else ""
    return ""


OWN_GAMES = (
    "a training makes its game by name, in other processes too: register yours by the entry point dancfr.games "
    "(docs/tutorials/own-game.md)"
)
"""The reason why some functions take no game of one's own, with the cure."""
