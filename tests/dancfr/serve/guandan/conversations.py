"""Recorded conversations of whole matches, and an agent that plays at random."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.serve.guandan import Table
from dancfr.serve.guandan.notation import read_action
from envs.game import ListedGame, States
from tests.envs.guandan_matches import DATA, ENGINE

NAMES = [path.name.removesuffix(".jsonl.gz") for path in sorted(DATA.glob("*.jsonl.gz"))]


class RandomPlayer:
    """Plays a legal action, each with equal probability."""

    name = "random"

    def begin(self, game: ListedGame, batch: int, rng: np.random.Generator) -> None:
        self.game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        offsets, rows = self.game.legal(states)
        return rows[rng.integers(offsets[:-1], offsets[1:])]


def lines(name: str) -> list[dict[str, Any]]:
    """Of a recording: ``{"seat": 0, "msg": ...}`` and ``{"seat": 0, "reply": {"actIndex": 3}}``."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def replay(name: str) -> Iterator[tuple[Table, list[dict[str, Any]], list[tuple[int, dict[str, Any]]]]]:
    """Plays a recording on a `Table`, one decision at a time.

    Yields:
        Before each decision: the table; the lines recorded since the decision before, of which the last one is the
        request; and the messages of our table in their place, as pairs (seat, message). Once more after the end.
    """
    table = Table(ENGINE, 0, "recording")
    recorded: list[dict[str, Any]] = []
    posted: list[tuple[int, dict[str, Any]]] = []
    asked: dict[str, Any] = {}
    hands: list[list[str]] = [[]] * 4
    for line in lines(name):
        if "reply" in line:
            recorded, posted = [], []
            action = read_action(asked["actionList"][line["reply"]["actIndex"]])
            assert action is not None
            posted += spread(table.step(action))
            continue
        message = line["msg"]
        recorded.append(line)
        if message["stage"] == "beginning":
            hands[message["myPos"]] = message["handCards"]
        if message["type"] == "act":
            if table.round_ended:
                ENGINE.deal(table.states, [hands], [line["seat"]])
                posted += spread(table.opening())
            posted.append((table.seat, table.act()))
            asked = message
            yield table, recorded, posted
    yield table, recorded, posted


def spread(posts: Any) -> list[tuple[int, dict[str, Any]]]:
    """Each message to each seat that gets it, in the order of sending."""
    return [(each, message) for seat, message in posts for each in (range(4) if seat is None else [seat])]


def comparable(message: dict[str, Any]) -> dict[str, Any]:
    """A message without the order of cards and of legal actions, which is not part of the rules."""
    changed = dict(message)
    for name in ("curAction", "greaterAction"):
        if name in message:
            changed[name] = _comparable_action(message[name])
    if "handCards" in message:
        changed["handCards"] = sorted(message["handCards"])
    if "publicInfo" in message:
        changed["publicInfo"] = [
            seat | {"playArea": _comparable_action(seat["playArea"])} for seat in message["publicInfo"]
        ]
    if "actionList" in message:
        changed["actionList"] = sorted(map(repr, map(_comparable_action, message["actionList"])))
    if "restCards" in message:
        changed["restCards"] = [[seat, sorted(cards)] for seat, cards in message["restCards"]]
    return changed


def _comparable_action(action: Any) -> Any:
    if action is None or action[0] in (None, "PASS"):
        return action
    return [action[0], action[1], sorted(action[2])]
