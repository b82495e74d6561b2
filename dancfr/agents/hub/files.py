"""The files of a packed agent: those that are sent and fetched, and the check that they are one."""

import fnmatch
from pathlib import Path

from dancfr.agents.cards import Card, read_card
from dancfr.agents.pretrained import STRATEGY
from dancfr.errors import UsageError
from dancfr.games.registry import all_games
from dancfr.methods.best_response.config import NETS as RESPONSE
from dancfr.runs.folder import CARD, read_info
from dancfr.runs.strategies import read_strategy

README = "README.md"
NETS = ("strategies/*.safetensors", RESPONSE)
"""Patterns of the files of nets."""
PATTERNS = (CARD, "config.json", README, STRATEGY, *NETS)
"""Patterns of all files that are sent and fetched. A repository may have others, which are never fetched."""
LARGEST = 512 * 2**20
"""Bytes of all files of an agent together, at most."""


def packed_files(folder: Path) -> list[str]:
    """The paths of a packed agent's files in its folder, without any others that lie there."""
    paths = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in paths if belongs(path)]


def belongs(path: str) -> bool:
    """Whether a path in a repository is that of a packed agent's file."""
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in PATTERNS)


def refuse_large(name: str, size: int) -> None:
    """Raises UsageError if the files of an agent have too many bytes."""
    if size > LARGEST:
        raise UsageError(
            f"{name} has {size / 2**20:,.0f} MiB, more than the {LARGEST // 2**20} MiB of an agent: pack it again with "
            "fewer nets (dancfr pack --nets)"
        )


def agent_in(folder: Path) -> Path:
    """The path by which a packed agent plays: its folder, or the file of a tabular strategy."""
    return folder if (folder / "config.json").is_file() else folder / STRATEGY


def method_in(folder: Path) -> str:
    """The method of a packed agent, or the algorithm of its strategy.

    Raises:
        UsageError: the file that says so is missing or damaged.
    """
    if agent_in(folder) == folder:
        return str(read_info(folder)["method"])
    return str(read_strategy(folder / STRATEGY)[1].get("algorithm", "tabular"))


def check_packed(folder: Path, name: str) -> Card:
    """Checks that a folder is a packed agent of a game that is installed, and returns its card.

    A game must be known by its own name: names such as ``pettingzoo:MODULE`` would import any module that they state.

    Args:
        folder: The folder.
        name: The name of the agent, for messages.

    Raises:
        UsageError: it is not, or one of its files is damaged.
    """
    if not (folder / CARD).is_file():
        raise UsageError(f"{name} is not a packed agent: it has no {CARD}, which dancfr pack writes")
    card = read_card(folder)
    refuse_large(name, sum((folder / path).stat().st_size for path in packed_files(folder)))
    agent = agent_in(folder)
    if not agent.exists():
        raise UsageError(f"{name} is not a packed agent: it has neither config.json nor {STRATEGY}")
    if agent == folder:
        game = read_info(folder)["config"].get("game")
        if not any(path for pattern in NETS for path in folder.glob(pattern)):
            raise UsageError(f"{name} is not a packed agent: it has no nets in strategies/")
    else:
        game = read_strategy(agent)[1].get("game")
    if game != card.game:
        raise UsageError(f"{name} is damaged: its card is of the game {card.game}, its files are of {game}")
    if card.game not in all_games():
        raise UsageError(f"{name} plays {card.game}, which is not installed here: install the package with this game")
    return card
