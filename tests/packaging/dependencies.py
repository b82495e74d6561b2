"""The dependencies that pyproject.toml states, all that they need, and the versions that constraints.txt pins."""

import re
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def stated_by(*extras: str) -> list[Requirement]:
    """The requirements of dancfr with some extras, those of the extras that these name included."""
    found, texts = [], list(PROJECT["dependencies"]) + [text for extra in extras for text in EXTRAS[extra]]
    for requirement in map(Requirement, texts):
        inner = sorted(requirement.extras) if requirement.name == "dancfr" else []
        found += stated_by(*inner) if inner else [requirement]
    return list({str(requirement): requirement for requirement in found}.values())


DIRECT = stated_by(*EXTRAS)


def pinned_versions() -> dict[str, Version]:
    """Versions in constraints.txt by name."""
    pins: dict[str, Version] = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            pins[canonicalize_name(name)] = Version(version)
    return pins


def required_by(requirements: Iterable[Requirement]) -> dict[str, set[str]]:
    """All that requirements need on this platform, from installed metadata: names, each with those that it needs."""
    waiting = list(requirements)
    needs: dict[str, set[str]] = {}
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        key = (name, ",".join(sorted(requirement.extras)))
        if key in seen:
            continue
        seen.add(key)
        needs.setdefault(name, set())
        wanted = {"", *requirement.extras}
        for text in metadata.requires(requirement.name) or []:
            inner = Requirement(text)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in wanted):
                needs[name].add(canonicalize_name(inner.name))
                waiting.append(inner)
    return needs


def locked_files(name: str) -> dict[str, tuple[str, list[str]]]:
    """Version and SHA-256 of the files by package, from a file of docker/; every line of it must be understood."""
    text = (ROOT / "docker" / name).read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"([\w.-]+)==([\w.+!-]+)((?:\s+--hash=sha256:[0-9a-f]{64})+)\s*", line)
        assert match, line
        found[canonicalize_name(match[1])] = (match[2], re.findall(r"sha256:([0-9a-f]{64})", match[3]))
    return found
