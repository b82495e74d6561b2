"""GuanDan, a card game of two teams with wild cards, levels and tributes: batched rules and PettingZoo environment."""

from pathlib import Path

from envs.guandan.env import env, raw_env
from envs.guandan.game import GuanDan
from envs.guandan.rules.position import legal_actions
from envs.lazy import lazily
from envs.record import GameRecord, bots_of, options_of

_ROUND = {"length": "round", "situation": "drawn"}

GAMES = (
    GameRecord(
        "guandan",
        GuanDan,
        options_of(GuanDan),
        "GuanDan, four players in two teams, rounds or matches",
        bots_of("envs.guandan.bots.players"),
        in_matches=_ROUND,
        in_evaluations=_ROUND,
        implied={"length=match": {"situation": "first"}},  # a match begins with its first round
        display=lazily("envs.guandan.display.table:GuanDanDisplay"),
        page=Path(__file__).parent / "page" / "guandan.js",
        belief=lazily("envs.guandan.belief:belief"),
    ),
)
"""The records of the games of this room."""

__all__ = ["GAMES", "GuanDan", "env", "legal_actions", "raw_env"]
