"""Reads the command of a job, since jobs of `ray job submit` have no other description."""

import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

from dancfr.methods import all_presets
from dancfr.runs import renamed

FOLDERS = ("--run-dir", "--folder")
"""Options of commands that name the folder of a run or of a search."""


class Entrypoint(NamedTuple):
    """A command of dancfr; empty texts where the command line says nothing.

    Attributes:
        command: Its name, such as ``train`` or ``tune``.
        preset: The preset that it trains.
        folder: The folder of the run or of the search.
    """

    command: str = ""
    preset: str = ""
    folder: str = ""


def read_entrypoint(line: str) -> Entrypoint:
    """Returns the parts of a command line; all are empty if it does not run dancfr."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that is not closed
        words = line.split()
    pairs = enumerate(pairwise(words), 1)
    starts = [place for place, (word, name) in pairs if PurePath(word).name == "dancfr" and name.isalpha()]
    if not starts:
        return Entrypoint()
    rest = words[starts[0] :]
    presets = all_presets().keys() | renamed.PRESETS.keys()
    return Entrypoint(rest[0], next((word for word in rest[1:] if word in presets), ""), _folder(rest))


def _folder(words: Sequence[str]) -> str:
    """Returns the value of the first of `FOLDERS` among the words of a command."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, given, value = word.partition("=")
        if option in FOLDERS:
            return value if given else following
    return ""
