"""Agents that come with the program: ``pretrained:geister`` and so on, packed by `dancfr pack` in `weights/`."""

import os
from pathlib import Path

from dancfr.agents.cards import Card, read_card
from dancfr.errors import UsageError, nearest
from dancfr.runs.folder import CARD

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
    """The run or the strategy of a pretrained agent, and the strategy in a folder that `dancfr pack` has made of one;
    any other name of an agent as it is.

    Raises:
        UsageError: there is no such pretrained agent.
    """
    folder = str(folder_of(base)) if base.startswith(PREFIX) else base
    strategy = os.path.join(folder, STRATEGY)  # os.path accepts any text
    return strategy if os.path.isfile(strategy) and os.path.isfile(os.path.join(folder, CARD)) else folder


def card_of(name: str) -> Card:
    """The card of a pretrained agent.

    Raises:
        UsageError: there is no such pretrained agent, or its card is damaged.
    """
    return read_card(folder_of(name))
