"""Agents that come with the program: ``pretrained:geister`` and so on, small runs in `weights/`."""

from pathlib import Path

from dancfr.errors import UsageError, nearest

PREFIX = "pretrained:"
FOLDER = Path(__file__).with_name("weights")


def pretrained_names() -> list[str]:
    """The names of all pretrained agents."""
    return [f"{PREFIX}{file.parent.name}" for file in sorted(FOLDER.glob("*/config.json"))]


def path_of(base: str) -> str:
    """The folder of a pretrained agent; any other name of an agent as it is.

    Raises:
        UsageError: there is no such pretrained agent.
    """
    if not base.startswith(PREFIX):
        return base
    if base not in (known := pretrained_names()):
        raise UsageError(nearest(base, known, "pretrained agent"))
    return str(FOLDER / base.removeprefix(PREFIX))
