"""Phantom tic-tac-toe, classical and abrupt: batched rules, and a PettingZoo environment."""

from pathlib import Path

from envs.lazy import lazily
from envs.phantom_ttt.env import env, raw_env
from envs.phantom_ttt.game import PhantomTicTacToe
from envs.record import variant

_ABOUT = {
    "display": lazily("envs.phantom_ttt.display:PhantomTicTacToeDisplay"),
    "page": Path(__file__).parent / "page" / "phantom_ttt.js",
}

GAMES = (
    variant(
        "phantom_ttt",
        PhantomTicTacToe,
        "Phantom tic-tac-toe: after a failed try the player tries again",
        fixed=("abrupt",),
        about=_ABOUT | {"uniform": 0.7887},
    ),
    variant(
        "phantom_ttt_abrupt",
        PhantomTicTacToe,
        "Phantom tic-tac-toe in which a failed try ends the turn",
        fixed=("abrupt",),
        about=_ABOUT | {"uniform": 0.6193},
        abrupt=True,
    ),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "PhantomTicTacToe", "env", "raw_env"]
