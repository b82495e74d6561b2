"""Goofspiel with hidden bids: batched rules, and a PettingZoo environment."""

from pathlib import Path

from envs.goofspiel.env import env, raw_env
from envs.goofspiel.game import Goofspiel
from envs.lazy import lazily
from envs.record import variant

_ABOUT = {
    "display": lazily("envs.goofspiel.display:GoofspielDisplay"),
    "page": Path(__file__).parent / "page" / "goofspiel.js",
}

GAMES = (
    variant("goofspiel", Goofspiel, "Goofspiel with hidden bids", about=_ABOUT),
    variant("goofspiel5", Goofspiel, "Goofspiel of paper 003: 5 cards, prizes descending", ("cards", "prizes"), _ABOUT),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "Goofspiel", "env", "raw_env"]
