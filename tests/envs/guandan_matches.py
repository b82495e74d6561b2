"""The recorded matches of GuanDan, see tests/data/guandan/README.md."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from envs.guandan import GuanDan
from envs.guandan.rules.cards import KINDS, notation, parse_action

DATA = Path(__file__).parents[1] / "data" / "guandan"
ENGINE = GuanDan(length="match", situation="first", double_tribute="by_seat", a_attempts=0)
"""The rules of the engine that was recorded."""


def matches() -> list[dict[str, Any]]:
    with gzip.open(DATA / "matches.json.gz") as file:
        return json.load(file)


def recorded_lists() -> Iterator[dict[str, Any]]:
    """Every act message of the two raw recordings."""
    for path in sorted(DATA.glob("*.jsonl.gz")):
        with gzip.open(path) as file:
            for line in file:
                message = json.loads(line).get("msg", {})
                if message.get("type") == "act":
                    yield message


def plain(action: Any) -> tuple[str, str, tuple[str, ...]]:
    """An action as something that can be compared: kind, rank, sorted cards."""
    kind, rank, cards = action
    return kind, rank, tuple(sorted(cards)) if kind != "PASS" else ()


def decisions(round_: dict[str, Any]) -> list[tuple[int, tuple[str, str, Any]]]:
    """(seat, action) of a recorded round in their order, tributes and returns first."""
    first = [(seat, (stage, stage, [card])) for stage in ("tribute", "back") for seat, card in round_[stage]]
    return first + [(seat, (kind, rank, cards.split())) for seat, kind, rank, cards in round_["plays"]]


def legal_of(game: GuanDan, states: np.ndarray) -> set[tuple[str, str, tuple[str, ...]]]:
    return {plain(notation(row)) for row in game.legal(states[:1]).rows}


__all__ = ["DATA", "ENGINE", "KINDS", "decisions", "legal_of", "matches", "parse_action", "plain", "recorded_lists"]
