"""Kuhn poker: batched rules, and a PettingZoo environment."""

from pathlib import Path

from envs.kuhn.env import env, raw_env
from envs.kuhn.game import Kuhn
from envs.lazy import lazily
from envs.record import GameRecord, options_of

GAMES = (
    GameRecord(
        "kuhn",
        Kuhn,
        options_of(Kuhn),
        "Kuhn poker",
        display=lazily("envs.kuhn.display:KuhnDisplay"),
        page=Path(__file__).parent / "page" / "kuhn.js",
    ),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "Kuhn", "env", "raw_env"]
