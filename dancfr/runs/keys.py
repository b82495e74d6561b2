"""The keys of a configuration for people: each as one would type it, with the meaning its class's docstring gives."""

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
    """The ``Attributes:`` section of a docstring, as text on one line by name, with values as one types them.

    An entry is ``name: text`` or ``one, other: text``; lines that are indented further belong to it.
    """
    lines = iter(inspect.cleandoc(docstring or "").splitlines())
    if not any(line == "Attributes:" for line in lines):  # leaves the lines after it
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
    """Meaning of each key by its dotted name, in the order of `flatten`; empty where there is none."""
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
    """A key and its value as arguments of `dancfr train` that give this value, fit for a shell: one for each option
    where the value is a dictionary of them."""
    if isinstance(value, Mapping) and value:
        told = [f"{key}.{option}={_option(inner)}" for option, inner in value.items()]
    elif isinstance(value, (list, tuple)) and value:
        told = [f"{key}={','.join(show(part) for part in value)}"]  # without the brackets, which some shells expand
    else:
        told = [f"{key}={show(value)}"]
    return [shlex.quote(one) for one in told]


def _option(value: Any) -> str:
    """A value whose key has no type: as JSON where it would else be read as something different."""
    text = show(value)
    read = guess(text)
    return text if read == value and type(read) is type(value) else json.dumps(value)


def describe_settings(settings: Mapping[str, Any], meanings: Mapping[str, str], width: int) -> str:
    """All settings, each as `assignments` has it and, below, its meaning in lines of at most `width`."""
    lines = []
    for key, value in settings.items():
        lines += assignments(key, value)
        lines += textwrap.wrap(meanings.get(key, ""), width, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)
