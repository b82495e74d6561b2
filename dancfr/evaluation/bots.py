"""Lookup and descriptions of the bots of each game."""

import inspect
from collections.abc import Callable, Mapping

from dancfr.errors import UsageError, nearest
from dancfr.games.entry_bots import entry_bots
from dancfr.games.registry import all_games
from envs.agent import Agent
from envs.game import GameBase
from envs.players import RandomAgent


def bots(game: GameBase) -> Mapping[str, Callable[[], Agent]]:
    """Returns a factory for each bot of a game, by name; `random` plays any game with numbered actions.

    Raises:
        UsageError: the game's entry names its bots wrongly.
    """
    entry = all_games().get(game.spec.name)
    own = {} if entry is None else entry_bots(entry)
    return own if "random" in own else {"random": RandomAgent, **own}


def make_bot(name: str, game: GameBase) -> Agent:
    """Makes a new instance of a bot.

    Raises:
        UsageError: the game has no bot of this name; the message suggests the closest name.
    """
    known = bots(game)
    if name not in known:
        raise UsageError(nearest(name, list(known), f"bot of {game.spec.name}"))
    return known[name]()


def describe_bot(name: str, make: Callable[[], Agent]) -> str:
    """Describes a bot by the first sentence of its docstring."""
    first = (inspect.getdoc(make) or name).split(".")[0]
    return " ".join(f"{first[:1].lower()}{first[1:]}".split())
