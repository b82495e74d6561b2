"""Oshi-zumo with hidden bids: batched rules, and a PettingZoo environment."""

from pathlib import Path

from envs.lazy import lazily
from envs.oshi_zumo.env import env, raw_env
from envs.oshi_zumo.game import OshiZumo
from envs.record import variant

_FIXED = ("coins", "size", "min_bid")

_ABOUT = {
    "display": lazily("envs.oshi_zumo.display:OshiZumoDisplay"),
    "page": Path(__file__).parent / "page" / "oshi_zumo.js",
}

GAMES = (
    variant("oshi_zumo", OshiZumo, "Oshi-zumo with hidden bids", about=_ABOUT),
    variant("oshi_zumo8_k1", OshiZumo, "Oshi-zumo of paper 003: 8 coins, 3 cells", _FIXED, _ABOUT),
    variant("oshi_zumo8_k3", OshiZumo, "Oshi-zumo of paper 003: 8 coins, 7 cells", _FIXED, _ABOUT, size=3),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "OshiZumo", "env", "raw_env"]
