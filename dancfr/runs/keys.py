"""Formats the keys of a configuration for display, with their meanings from the docstrings of its classes."""

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_origin

from pydantic import BaseModel

from dancfr.docstrings import parse_attributes
from dancfr.values import describe_type, guess, show


def describe_keys(config: BaseModel) -> dict[str, str]:
    """Description of each key by its dotted name, in the order of `flatten`; empty where the docstring has none."""
    return dict(_described(config, ""))


def _described(config: BaseModel, prefix: str) -> Iterator[tuple[str, str]]:
    meanings = {k: v for base in reversed(type(config).__mro__) for k, v in parse_attributes(base.__doc__).items()}
    for name, field in type(config).model_fields.items():
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            yield from _described(value, f"{prefix}{name}.")
            continue
        text = meanings.get(name, "")
        if get_origin(field.annotation) is Literal:
            choices = describe_type(field.annotation)
            text = f"{text} {choices[0].upper()}{choices[1:]}.".strip()
        yield f"{prefix}{name}", text


def assignments(key: str, value: Any) -> list[str]:
    """Arguments of `dancfr train`, quoted for a shell, that set a key to a value; one for each entry of a dict."""
    return [shlex.quote(setting) for setting in settings_of(key, value)]


def settings_of(key: str, value: Any) -> list[str]:
    """Settings ``key=value`` that set a key to a value; one for each entry of a dict."""
    if isinstance(value, Mapping) and value:
        return [f"{key}.{option}={_option(inner)}" for option, inner in value.items()]
    if isinstance(value, (list, tuple)) and value:
        return [f"{key}={','.join(show(part) for part in value)}"]  # no brackets, which some shells expand
    return [f"{key}={show(value)}"]


def _option(value: Any) -> str:
    """A value whose key has no type, in JSON where the plain text would be read as something else."""
    text = show(value)
    read = guess(text)
    return text if read == value and type(read) is type(value) else json.dumps(value)


def describe_settings(settings: Mapping[str, Any], meanings: Mapping[str, str], width: int) -> str:
    """All settings as `assignments` writes them, each above its description in lines of at most `width`."""
    lines = []
    for key, value in settings.items():
        lines += assignments(key, value)
        lines += textwrap.wrap(meanings.get(key, ""), width, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)
