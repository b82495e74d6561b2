"""Agents that come with the program: ``pretrained:geister`` and so on, packed by `dancfr pack` in `weights/`."""

from pathlib import Path

from dancfr.agents.cards import CARD, Card, read_card
from dancfr.errors import UsageError, nearest

PREFIX = "pretrained:"
FOLDER = Path(__file__).with_name("weights")
STRATEGY = "strategy.safetensors"
"""File of a packed tabular strategy; other packed agents are folders of runs."""


def pretrained_names() -> list[str]:
    """The names of all pretrained agents."""
    return [f"{PREFIX}{file.parent.name}" for file in sorted(FOLDER.glob(f"*/{CARD}"))]


def folder_of(name: str) -> Path:
    """The folder of a pretrained agent.

    Raises:
        UsageError: there is no such pretrained agent.
    """
    if name not in (known := pretrained_names()):
        raise UsageError(nearest(name, known, "pretrained agent"))
    return FOLDER / name.removeprefix(PREFIX)


def path_of(base: str) -> str:
    """The run or the strategy of a pretrained agent; any other name of an agent as it is.

    Raises:
        UsageError: there is no such pretrained agent.
    """
    if not base.startswith(PREFIX):
        return base
    folder = folder_of(base)
    strategy = folder / STRATEGY
    return str(strategy if strategy.is_file() else folder)


def card_of(name: str) -> Card:
    """The card of a pretrained agent.

    Raises:
        UsageError: there is no such pretrained agent, or its card is damaged.
    """
    return read_card(folder_of(name))
