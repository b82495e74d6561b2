"""Liar's dice: batched rules, and a PettingZoo environment."""

from pathlib import Path

from envs.lazy import lazily
from envs.liars_dice.env import env, raw_env
from envs.liars_dice.game import LiarsDice
from envs.record import variant

_ABOUT = {
    "display": lazily("envs.liars_dice.display:LiarsDiceDisplay"),
    "page": Path(__file__).parent / "page" / "liars_dice.js",
}
_SIZE = ("dice", "faces")

GAMES = (
    variant("liars_dice", LiarsDice, "Liar's dice with one die of six faces each", about=_ABOUT),
    variant("liars_dice5", LiarsDice, "Liar's dice with one die of five faces each", _SIZE, _ABOUT, faces=5),
    variant(
        "liars_dice_2d5f",
        LiarsDice,
        "Liar's dice with two dice of five faces each",
        _SIZE,
        _ABOUT | {"uniform": 0.8906},
        dice=2,
        faces=5,
    ),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "LiarsDice", "env", "raw_env"]
