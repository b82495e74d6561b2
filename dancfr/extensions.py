"""Loads the methods and games that installed packages register by entry points, and finds faults in their code."""

import traceback
from importlib.metadata import entry_points
from typing import TypeVar

from dancfr.errors import UsageError, one_line

GAME_GROUP, METHOD_GROUP = "dancfr.games", "dancfr.methods"
"""Entry points by which installed packages register games and methods."""

_ADAPTER = "envs.aec"
"""The module that calls PettingZoo environments."""

_ADAPTED_BY = {"envs", "numpy", "gymnasium"}
"""Packages that the adapter calls besides environments."""

Kind = TypeVar("Kind")


def load_extensions(group: str, kind: type[Kind]) -> list[tuple[str, Kind]]:
    """Loads the objects that installed packages register under an entry point.

    Args:
        group: `GAME_GROUP` or `METHOD_GROUP`.
        kind: Required class of the objects.

    Returns:
        Pairs of an object's origin, for messages, and the object, sorted by the name of the entry point.

    Raises:
        UsageError: an object cannot be imported, or has another class.
    """
    found = []
    for entry in sorted(entry_points(group=group), key=lambda each: each.name):
        package = entry.dist.name if entry.dist is not None else "an installed package"
        source = f"the entry point {group} {entry.name} = {entry.value} of {package}"
        try:
            offered = entry.load()
        except Exception as error:  # whatever that package raises
            raise UsageError(f"{source} cannot be loaded: {one_line(error)}; mend or uninstall {package}") from error
        if not isinstance(offered, kind):
            raise UsageError(
                f"{source} is a {type(offered).__name__}, not a {kind.__name__}: mend or uninstall {package}"
            )
        found.append((source, offered))
    return found


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
