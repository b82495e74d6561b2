"""Formats the keys of a configuration for display, with their meanings from the docstrings of its classes."""

import inspect
import json
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_origin

from pydantic import BaseModel

from dancfr.values import describe_type, guess, show

_ENTRY = re.compile(r"(\w+(?:, *\w+)*): *(.*)")
_SECTION = re.compile(r"[A-Z]\w*:")


def parse_attributes(docstring: str | None) -> dict[str, str]:
    """Descriptions from the ``Attributes:`` section of a docstring by name, each on one line.

    An entry is ``name: text`` or ``one, other: text``; lines with a deeper indent continue it.
    """
    lines = iter(inspect.cleandoc(docstring or "").splitlines())
    if not any(line == "Attributes:" for line in lines):  # else the iterator stands after that line
        return {}
    section = []
    for line in lines:
        if _SECTION.fullmatch(line):
            break
        section.append(line)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in textwrap.dedent("\n".join(section)).splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry:
            names = re.split(r", *", entry[1])
            found |= dict.fromkeys(names, entry[2])
        elif line.strip():
            found |= {name: f"{found[name]} {line.strip()}".strip() for name in names}
    return {name: re.sub(r"\bNone\b", "none", text.replace("``", "`")) for name, text in found.items()}


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
