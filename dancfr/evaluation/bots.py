"""Lookup and descriptions of the bots of each game."""

import inspect
from collections.abc import Callable, Mapping

from dancfr.errors import UsageError, nearest
from dancfr.games.registry import all_games
from envs.agent import Agent
from envs.game import Game, RaggedGame
from envs.players import RandomAgent

_GEISTER = {  # `dancfr evaluate heuristic --against rush --game geister --games 20000 --seed 1`, and so on
    "heuristic": "runs a blue ghost for an exit, keeps the blue ones clear of the opponent's and some ghosts at home; "
    "wins 85 % of geister against random, 1.6 % against rush",
    "rush": "runs a blue ghost for an exit at more risk, its red ghosts on guard at home; the strongest bot",
}
_MINI_GEISTER = {  # `dancfr reproduce mini-geister-fig5`
    "heuristic": "runs its blue ghost for an exit, keeps it clear of the opponent's and guards its corners; wins 69 % "
    "of mini-geister against random, 4 % against rush",
    "rush": "runs its blue ghost for an exit at more risk; wins 69 % of mini-geister against random",
}
_ONE_CARD = "lays one card, a true one if it can, and challenges what its own cards refute and every last card; wins "
_REMEMBERS = "lays one card, remembers all that were shown, and challenges claims that are as likely lies as not; wins "
_CHEAT = {  # `dancfr evaluate heuristic --against random --game cheat --games 20000 --seed 1`, and so on
    "heuristic": f"{_ONE_CARD}more than 99.9 % of cheat against random",
    "heuristic-tracking": f"{_REMEMBERS}more than 99.9 % of cheat against random, half against heuristic",
}
_MINI_CHEAT = {  # the same with `--game mini-cheat --games 100000`
    "heuristic": f"{_ONE_CARD}80 % of mini-cheat against random, 30 % against heuristic-tracking",
    "heuristic-tracking": f"{_REMEMBERS}86 % of mini-cheat against random; the strongest bot",
}
_BOTS = {"geister": _GEISTER, "mini-geister": _MINI_GEISTER, "cheat": _CHEAT, "mini-cheat": _MINI_CHEAT}
"""Descriptions of bots, by game and name."""


def bots(game: Game | RaggedGame) -> Mapping[str, Callable[[], Agent]]:
    """Returns a factory for each bot of a game, by name; `random` plays any game with numbered actions."""
    entry = all_games().get(game.spec.name)
    if entry is None or entry.bots is None:
        return {"random": RandomAgent}
    own = entry.bots()
    return own if "random" in own else {"random": RandomAgent, **own}


def make_bot(name: str, game: Game | RaggedGame) -> Agent:
    """Makes a new instance of a bot.

    Raises:
        UsageError: the game has no bot of this name; the message suggests the closest name.
    """
    known = bots(game)
    if name not in known:
        raise UsageError(nearest(name, list(known), f"bot of {game.spec.name}"))
    return known[name]()


def describe_bot(game: str, name: str, make: Callable[[], Agent]) -> str:
    """Describes a bot: the text of this module, or else the first sentence of the bot's docstring."""
    first = (inspect.getdoc(make) or name).split(".")[0]
    return _BOTS.get(game, {}).get(name) or " ".join(f"{first[:1].lower()}{first[1:]}".split())
