"""Values of settings as text: read by the type of their key, shown, and the type described for people."""

import json
import types
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}
_NONE = {"none", "null", ""}


def show(value: Any) -> str:
    """A value as one would write it after ``key=``."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(show(part) for part in value) + "]"
    return str(value)


def parse_value(text: str, annotation: Any) -> Any:
    """Text as a value of `annotation`.

    Raises:
        ValueError: it is none.
    """
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return parse_value(text, inner[0])
    if origin in (Union, types.UnionType):
        return _parse_union(text, inner)
    if origin is Literal:
        return _choose(text, {str(choice): choice for choice in inner})
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _choose(text, {**{e.name: e for e in annotation}, **{str(e.value): e for e in annotation}})
    if origin in (list, tuple, set, frozenset):
        return _parse_list(text, origin, inner)
    if annotation is bool:
        return _choose(text.lower(), dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False))
    if annotation is int:
        return _parse_int(text)
    if annotation is float:
        return float(text)
    if annotation is str:
        return text
    if annotation is type(None):
        return _choose(text.lower(), dict.fromkeys(_NONE))
    return guess(text)


def _parse_union(text: str, members: tuple[Any, ...]) -> Any:
    if type(None) in members and text.lower() in _NONE:
        return None
    for member in sorted((m for m in members if m is not type(None)), key=lambda m: m is str):
        try:
            return parse_value(text, member)
        except ValueError:
            continue
    raise ValueError(text)


def _parse_int(text: str) -> int:
    """Integers, also as ``2_000_000`` and ``2e6``."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():  # OverflowError cannot come: infinity and NaN are no integers
            raise
        return int(number)


def _parse_list(text: str, origin: Any, inner: tuple[Any, ...]) -> Any:
    """``[1,2]``, ``(1,2)`` or ``1,2``; elements of the annotated type."""
    if text[:1] in "[(" and text[-1:] in "])":
        text = text[1:-1]
    parts = [part.strip().strip("\"'") for part in text.split(",") if part.strip()]
    kinds = [part for part in inner if part is not Ellipsis] or [Any]
    if origin is tuple and Ellipsis not in inner and inner:
        if len(parts) != len(kinds):
            raise ValueError(text)
        return tuple(parse_value(part, kind) for part, kind in zip(parts, kinds, strict=True))
    return origin(parse_value(part, kinds[0]) for part in parts)


def _choose(text: str, choices: dict[str, Any]) -> Any:
    if text not in choices:
        raise ValueError(text)
    return choices[text]


def guess(text: str) -> Any:
    """A value whose type nobody stated: JSON if it is that, none, else text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        named: dict[str, Any] = {"none": None, "true": True, "false": False}
        return named.get(text.lower(), text)


def describe_type(annotation: Any) -> str:
    """What a key takes, for people: ``an integer``, ``one of a, b``."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return describe_type(inner[0])
    if origin in (Union, types.UnionType):
        return " or ".join(describe_type(member) for member in inner)
    if origin is Literal:
        return "one of " + ", ".join(str(choice) for choice in inner)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "one of " + ", ".join(str(choice.value) for choice in annotation)
    if origin in (list, tuple, set, frozenset):
        if origin is tuple and inner and Ellipsis not in inner:
            return f"a list of {len(inner)} values, e.g. [1,2]"
        return f"a list like [a,b], each {describe_type(inner[0])}" if inner else "a list like [a,b]"
    names = {bool: "true or false", int: "an integer", float: "a number", str: "text", type(None): "none"}
    return names.get(annotation, getattr(annotation, "__name__", "a value"))
