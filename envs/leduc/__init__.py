"""Leduc hold'em: batched rules, and a PettingZoo environment."""

from pathlib import Path

from envs.lazy import lazily
from envs.leduc.env import env, raw_env
from envs.leduc.game import Leduc
from envs.record import variant

_ABOUT = {
    "display": lazily("envs.leduc.display:LeducDisplay"),
    "page": Path(__file__).parent / "page" / "leduc.js",
}

GAMES = (
    variant("leduc", Leduc, "Leduc hold'em, the standard game", about=_ABOUT),
    variant(
        "leduc_2b2r",
        Leduc,
        "Leduc hold'em with two sizes of bet and of up to two raises",
        sizes="2,4/4,8",
        about=_ABOUT,
        raises=3,
        deal="ranks",
    ),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "Leduc", "env", "raw_env"]
