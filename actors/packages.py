"""Where our packages lie, and how other processes find them whatever their current folder contains."""

import os
import site
import sysconfig
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

NAMES = ("actors", "dancfr", "envs", "learners")
ROOT = Path(__file__).resolve().parent.parent

PIN = "dancfr"
"""The package whose import makes sure that all of them are those of `ROOT`, in the process that imports it."""


def installed() -> bool:
    """Whether the packages are installed in site-packages; False for a checkout and for an editable installation."""
    folders = [sysconfig.get_path("purelib"), *site.getsitepackages(), site.getusersitepackages()]
    return any(Path(folder).resolve() == ROOT for folder in folders)


def python_path() -> dict[str, str]:
    """Environment variables with which other processes import this checkout; none if dancfr is installed."""
    if installed():
        return {}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def shadowing(folders: Sequence[str], names: Sequence[str] = NAMES) -> Path | None:
    """The first package or module of another project in these folders that has one of the names of our packages."""
    for name in names:
        spec = PathFinder.find_spec(name, list(folders))
        if spec is not None and spec.origin is not None:  # a folder without code takes the place of no package
            origin = Path(spec.origin).resolve()
            place = origin.parent if spec.submodule_search_locations else origin
            if place.parent != ROOT:
                return place
    return None
