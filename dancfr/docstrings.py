"""Reads the meanings of names from docstrings."""

import inspect
import re
import textwrap

_ENTRY = re.compile(r"(\w+(?:, *\w+)*): *(.*)")
_SECTION = re.compile(r"[A-Z]\w*:")


def parse_attributes(docstring: str | None, section: str = "Attributes") -> dict[str, str]:
    """Descriptions from a section of a docstring, by default ``Attributes:``, by name, each on one line.

    An entry is ``name: text`` or ``one, other: text``; lines with a deeper indent continue it.
    """
    lines = iter(inspect.cleandoc(docstring or "").splitlines())
    if not any(line == f"{section}:" for line in lines):  # else the iterator stands after that line
        return {}
    body = []
    for line in lines:
        if _SECTION.fullmatch(line):
            break
        body.append(line)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in textwrap.dedent("\n".join(body)).splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry:
            names = re.split(r", *", entry[1])
            found |= dict.fromkeys(names, entry[2])
        elif line.strip():
            found |= {name: f"{found[name]} {line.strip()}".strip() for name in names}
    return {name: re.sub(r"\bNone\b", "none", text.replace("``", "`")) for name, text in found.items()}
