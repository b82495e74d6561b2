"""Cheat with health points (paper 001): rules, observations, bots and a PettingZoo environment."""

from pathlib import Path

from envs.cheat.env import env, raw_env
from envs.cheat.game import Cheat
from envs.lazy import lazily
from envs.record import bots_of, variant

_ABOUT = {
    "bots": bots_of("envs.cheat.players"),
    "display": lazily("envs.cheat.display:CheatDisplay"),
    "page": Path(__file__).parent / "page" / "cheat.js",
    "belief": lazily("envs.cheat.belief:belief"),
}

GAMES = (
    variant("cheat", Cheat, "Cheat with health points, 13 ranks of 4 cards, 2 to 6 players", about=_ABOUT),
    variant(
        "mini-cheat",
        Cheat,
        "Mini-Cheat of paper 001: 3 ranks of 2 cards, 2 cards a player",
        about=_ABOUT,
        ranks=3,
        copies=2,
        dealt=2,
        max_discard=2,
        discards="sets",
    ),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "Cheat", "env", "raw_env"]
