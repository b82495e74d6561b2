"""Geister, a two-player board game of hidden colours: batched rules and PettingZoo environment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from envs.geister.env import env, raw_env
from envs.geister.game import Geister
from envs.lazy import lazily
from envs.record import GameRecord, bots_of, options_of

_ABOUT: dict[str, Any] = {
    "bots": bots_of("envs.geister.players"),
    "for_people": {"random_setup": False},  # people choose the colours of their ghosts
    "display": lazily("envs.geister.display:GeisterDisplay"),
    "page": Path(__file__).parent / "page" / "geister.js",
    "adapter": lazily("envs.geister.adapters:adapter"),
    "turned_on": ("history",),
    "belief": lazily("envs.geister.belief:belief"),
    "outcomes": {  # as paper 002 names them
        "win by escape": ("win by escape", "#0072B2"),
        "win by blues taken": ("win by taking blue", "#56B4E9"),
        "win by reds taken": ("win by own red taken", "#A6D8F5"),
        "draw by ply limit": ("draw", "#DDDDDD"),
        "loss by reds taken": ("loss by taking red", "#F5C78E"),
        "loss by blues taken": ("loss by blue taken", "#E69F00"),
        "loss by escape": ("loss by escape", "#D55E00"),
    },
}


def _of_size(size: int, **changes: Any) -> Callable[..., Geister]:
    def make(**options: Any) -> Geister:
        return Geister(size=size, **(changes | options))

    return make


def _options(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in options_of(Geister).items() if name != "size"} | changes


_MINI = {"ply_limit": 30, "observation_limit": 30}  # paper 002

GAMES = (
    GameRecord(
        "geister",
        _of_size(6),
        _options(),
        "Geister on 6x6, 8 ghosts a player",
        in_matches={"ply_limit": 300},  # paper 000, 5.1
        **_ABOUT,
    ),
    GameRecord(
        "mini-geister",
        _of_size(4, **_MINI),
        _options(**_MINI),
        "Mini Geister on 4x4, 2 ghosts a player",
        **_ABOUT,
    ),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "Geister", "env", "raw_env"]
