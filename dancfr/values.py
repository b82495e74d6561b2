"""Parses and formats values of settings, and describes their types."""

import json
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeGuard, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from dancfr.errors import UsageError, nearest

_NONE = {"none", "null"}


def show(value: Any) -> str:
    """Formats a value as it is written after ``key=``."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(show(part) for part in value) + "]"
    return str(value)


def count(number: int, what: str) -> str:
    """Formats a number of things: ``1 chunk``, ``2 chunks``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def is_number(value: Any) -> TypeGuard[float]:
    """Returns whether a JSON value is a finite number with which float64 can calculate."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def parse_value(text: str, annotation: Any) -> Any:
    """Parses text as a value of a type; `Any` accepts JSON, or else the text itself.

    Raises:
        ValueError: the text is not a value of that type.
    """
    if annotation is Any:
        return guess(text)
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    for reading in _readings(text):
        try:
            return adapter.validate_python(reading)
        except ValidationError:
            continue
    raise ValueError(f"{text!r} is not {describe_type(annotation)}")


def _readings(text: str) -> Iterator[Any]:
    """Yields possible readings of a text, in the order in which they are tried; pydantic converts numbers and bools."""
    if text.lower() in _NONE:
        yield None
    yield text
    yield _number(text)
    if text.startswith("{"):
        yield guess(text)
    inner = text[1:-1] if text[:1] in "[(" and text[-1:] in "])" else text
    parts = [part.strip().strip("\"'") for part in inner.split(",") if part.strip()]
    yield parts
    yield [_number(part) for part in parts]


def _number(text: str) -> Any:
    """Parses numbers as JSON, since pydantic does not read ``2e6`` as an integer; returns other text unchanged."""
    value = guess(text)
    return value if type(value) in (int, float) else text


def guess(text: str) -> Any:
    """Guesses a value of unknown type: JSON, none or a boolean in upper or lower case, or else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        named: dict[str, Any] = {"none": None, "true": True, "false": False}
        return named.get(text.lower(), text)


def parse_options(
    settings: Sequence[str], known: Mapping[str, Any] | None, owner: str, example: str = ""
) -> dict[str, Any]:
    """Parses options given as ``key=value``, each by its type.

    Args:
        settings: The options as text.
        known: Type of each option; None accepts any option, as JSON or text.
        owner: What the options belong to, for errors.
        example: An example of a setting, for errors.

    Raises:
        UsageError: an option does not exist or is given twice, or a value has another type.
    """
    options: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or not key:
            such_as = f", e.g. {example}" if example else ""
            raise UsageError(f"{setting!r} is not an option of {owner}: write key=value{such_as}")
        if known is not None and key not in known:
            raise UsageError(nearest(key, list(known), f"option of {owner}"))
        if key in options:
            raise UsageError(f"option {key} of {owner} is given twice")
        kind = Any if known is None else known[key]
        try:
            options[key] = parse_value(text, kind)
        except ValueError:
            raise UsageError(f"option {key} of {owner} expects {describe_type(kind)}, got {text!r}") from None
    return options


def split_settings(texts: Iterable[str]) -> dict[str, str]:
    """Splits texts ``key=value`` into keys and the texts of their values, unchecked; of equal keys the last counts."""
    parts = (text.partition("=") for text in texts)
    return {key.strip(): value.strip() for key, _, value in parts}


def describe_type(annotation: Any) -> str:
    """Describes the values of a type: ``an integer``, ``one of a, b``."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(describe_type(member) for member in inner)
    if origin is Literal:
        return "one of " + ", ".join(str(choice) for choice in inner)
    if origin in (list, tuple):
        if origin is tuple and Ellipsis not in inner:
            return f"a list of {len(inner)} values, e.g. [1,2]"
        return f"a list like [a,b], each {describe_type(inner[0])}"
    if origin is dict:
        return 'options like {"key": value}'
    names = {bool: "true or false", int: "an integer", float: "a number", str: "text", type(None): "none"}
    return names.get(annotation, getattr(annotation, "__name__", "a value"))
