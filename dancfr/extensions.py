"""What installed packages add: methods and games, by entry points."""

from importlib.metadata import entry_points
from typing import TypeVar

from dancfr.errors import UsageError

Kind = TypeVar("Kind")


def load_extensions(group: str, kind: type[Kind]) -> list[tuple[str, Kind]]:
    """The objects that installed packages offer under an entry point.

    Args:
        group: Name of the entry point, ``dancfr.methods`` or ``dancfr.games``.
        kind: Class that each object must be of.

    Returns:
        For each object where it comes from, for messages, and the object, in the order of their names.

    Raises:
        UsageError: an object cannot be imported, or is of another class.
    """
    found = []
    for entry in sorted(entry_points(group=group), key=lambda each: each.name):
        package = entry.dist.name if entry.dist is not None else "an installed package"
        source = f"the entry point {group} {entry.name} = {entry.value} of {package}"
        try:
            offered = entry.load()
        except Exception as error:  # whatever that package raises
            raise UsageError(f"{source} cannot be loaded: {type(error).__name__}: {error}") from error
        if not isinstance(offered, kind):
            raise UsageError(f"{source} is a {type(offered).__name__}, not a {kind.__name__}")
        found.append((source, offered))
    return found
