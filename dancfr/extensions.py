"""Loads the methods and games that installed packages register by entry points, and finds faults in their code."""

import traceback
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TypeVar

from dancfr.errors import one_line, warn

GAME_GROUP, METHOD_GROUP = "dancfr.games", "dancfr.methods"
"""Entry points by which installed packages register games and methods."""

_ADAPTER = "envs.aec"
"""The module that calls PettingZoo environments."""

_ADAPTED_BY = {"envs", "numpy", "gymnasium"}
"""Packages that the adapter calls besides environments."""

Kind = TypeVar("Kind")


def load_extensions(group: str, kind: type[Kind], add: Callable[[Kind], str | None]) -> dict[str, str]:
    """Loads the objects that installed packages register under an entry point.

    What is faulty is left out with a warning, since the package of someone else must not stop work that has nothing to
    do with it.

    Args:
        group: `GAME_GROUP` or `METHOD_GROUP`.
        kind: Required class of the objects.
        add: Takes each object, in the order of the names of the entry points, or returns why it cannot be taken.

    Returns:
        The warnings, by the name of the entry point.
    """
    faults = {}
    for entry in sorted(entry_points(group=group), key=lambda each: each.name):
        package = entry.dist.name if entry.dist is not None else "an installed package"
        fault: str | None
        try:
            offered = entry.load()
        except Exception as error:  # whatever that package raises
            fault = f"cannot be loaded: {one_line(error)}"
        else:
            right = isinstance(offered, kind)
            fault = add(offered) if right else f"is a {type(offered).__name__}, not a {kind.__name__}"
            if fault is None:
                continue
        faults[entry.name] = (
            f"the entry point {group} {entry.name} = {entry.value} of {package} {fault}: fix or uninstall {package}"
        )
        warn(f"left out: {faults[entry.name]}")
    return faults


def fault_of_others(error: BaseException) -> str | None:
    """Where code of a registered package or of a PettingZoo environment raised an error, as file and line; else None.

    The innermost frame of such code counts, even if a library that it called raised the error.
    """
    registered = (*entry_points(group=GAME_GROUP), *entry_points(group=METHOD_GROUP))
    packages = {entry.module.partition(".")[0] for entry in registered}
    place, caller = None, ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__"))
        package = module.partition(".")[0]
        if package in packages or (caller == _ADAPTER and package not in _ADAPTED_BY):
            place = f"{frame.f_code.co_filename}, line {line}"
        caller = module
    return place
