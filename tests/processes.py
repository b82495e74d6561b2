"""Finds processes by their command lines."""

from pathlib import Path

import psutil


def processes_given(path: Path) -> list[psutil.Process]:
    """The processes of this machine with a path as an argument; one that has ended has no arguments."""
    return [each for each in psutil.process_iter(["cmdline"]) if str(path) in (each.info["cmdline"] or ())]
