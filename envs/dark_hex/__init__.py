"""Dark hex on small boards, classical and abrupt: batched rules, and a PettingZoo environment."""

from pathlib import Path

from envs.dark_hex.env import env, raw_env
from envs.dark_hex.game import DarkHex
from envs.lazy import lazily
from envs.record import variant

_ABOUT = {
    "display": lazily("envs.dark_hex.display:DarkHexDisplay"),
    "page": Path(__file__).parent / "page" / "dark_hex.js",
}
_FIXED = ("abrupt", "rows", "columns")

GAMES = (
    variant("dark_hex", DarkHex, "Dark hex on a board of at most 16 cells, classical or abrupt", about=_ABOUT),
    variant(
        "dark_hex3",
        DarkHex,
        "Dark hex on 3x3: after a failed try the player tries again",
        fixed=_FIXED,
        about=_ABOUT | {"uniform": 0.9164},
    ),
    variant(
        "dark_hex3_abrupt",
        DarkHex,
        "Dark hex on 3x3 in which a failed try ends the turn",
        fixed=_FIXED,
        about=_ABOUT | {"uniform": 0.7626},
        abrupt=True,
    ),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "DarkHex", "env", "raw_env"]
