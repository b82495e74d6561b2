"""Messages to a client: those that are wrong, damaged or unknown, and answers that the server does not offer."""

import copy
import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancfr.serve.guandan import Client, ProtocolError
from dancfr.serve.guandan.client import closest_option
from envs.guandan.rules.cards import parse_action
from tests.dancfr.serve.guandan.conversations import NAMES, RandomPlayer, lines


class _Wants(RandomPlayer):
    """Plays one action, if it is legal."""

    def __init__(self, wanted: tuple[str, str, list[str]]) -> None:
        self._wanted = parse_action(wanted)

    def act(self, states: Any, games: Any, rng: np.random.Generator) -> Any:
        assert self._wanted[0] in self.game.legal(states).rows
        return self._wanted


def request(**changes: Any) -> dict[str, Any]:
    """An act message: seat 1 may beat a 3 of seat 0."""
    single = ["Single", "3", ["D3"]]
    message = {
        "type": "act",
        "stage": "play",
        "handCards": ["S3", "H5", "HR"],
        "publicInfo": [{"rest": rest, "playArea": None} for rest in (7, 3, 9, 20)],
        "selfRank": "2",
        "oppoRank": "4",
        "curRank": "4",
        "curPos": 0,
        "curAction": single,
        "greaterPos": 0,
        "greaterAction": single,
        "actionList": [["PASS", "PASS", "PASS"], ["Single", "5", ["H5"]], ["Single", "R", ["HR"]]],
        "indexRange": 2,
    }
    return copy.deepcopy(message | changes)


@pytest.mark.parametrize("field", [name for name in request() if name not in ("curAction",)])
def test_a_missing_field_is_named(field: str) -> None:
    message = request()
    del message[field]
    with pytest.raises(ProtocolError, match=f"^{field}: missing$") as caught:
        Client(RandomPlayer()).receive(message)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("changes", "field", "named"),
    [
        ({"handCards": ["S3", "X5"]}, "handCards", "X5"),
        ({"handCards": ["S3"] * 3}, "handCards", "S3"),
        ({"handCards": []}, "handCards", "cards"),
        ({"handCards": "S3"}, "handCards", "list"),
        ({"curRank": 1}, "curRank", "level"),
        ({"curRank": True}, "curRank", "level"),
        ({"stage": "sing"}, "stage", "'play', 'tribute' or 'back'"),
        ({"publicInfo": []}, "publicInfo", "at least 4"),
        ({"publicInfo": [{"rest": 7}] * 4}, "publicInfo[0].playArea", "missing"),
        ({"publicInfo": [{"rest": 28, "playArea": None}] * 4}, "publicInfo", "cards"),
        ({"greaterPos": 4}, "greaterPos", "less than 4, got 4"),
        ({"greaterPos": -1}, "greaterPos", "pass"),
        ({"greaterAction": [None] * 3}, "greaterAction", "pass"),
        ({"greaterAction": ["Pair", "3", ["D3", "S4"]]}, "greaterAction", "combination"),
        ({"actionList": []}, "actionList", "at least 1 item"),
        ({"actionList": [["PASS", "PASS", "PASS"], ["Single"]]}, "actionList[1]", "kind, rank and cards"),
        ({"indexRange": -1}, "indexRange", "greater than or equal to 0"),
        ({"indexRange": 1.5}, "indexRange", "valid integer"),
    ],
)
def test_a_wrong_field_is_named_in_one_line(changes: dict[str, Any], field: str, named: str) -> None:
    client = Client(RandomPlayer())
    with pytest.raises(ProtocolError, match=named) as caught:
        client.receive(request(**changes))
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")
    assert "\n" not in str(caught.value)
    assert client.receive(request()) is not None, "the client continues"


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"type":', b"\xff\xfe", "[1, 2]", "null", "3", "[" * 100_000, "9" * 5000, '{"type": "act"'],
    ids=str,
)
def test_a_text_that_is_not_a_message_is_a_protocol_error(text: str | bytes) -> None:
    with pytest.raises(ProtocolError):
        Client(RandomPlayer()).receive(text)


class _Odd:
    """Cannot be compared or shown."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    def __repr__(self) -> str:
        raise RuntimeError("not to be shown")

    __hash__ = object.__hash__


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize("field", sorted(request()))
@pytest.mark.parametrize(
    ("value", "named"),
    [
        (np.arange(3), "ndarray"),
        (np.int64(0), "int64"),
        (np.bool_(True), "bool"),
        ([np.arange(3), np.arange(3), []], "ndarray"),
        ([["Single", np.array(["3", "4"]), ["S3"]]], "ndarray"),
        ({"rest": b"7"}, "bytes"),
        ({3: "rest"}, None),
        ({(3, b"7"): "rest"}, "tuple"),
        (_Odd(), "_Odd"),
        ([_Odd()] * 3, "_Odd"),
        ({"S3"}, "set"),
        (ENDLESS, "Circular"),
    ],
    ids=lambda value: None if value is ENDLESS else type(value).__name__,
)
def test_a_type_that_json_lacks_is_a_protocol_error(field: str, value: Any, named: str | None) -> None:
    client = Client(RandomPlayer())
    message = request() | {field: value}
    if named is None and field == "curAction":  # which no request needs
        assert client.receive(message) is not None
        return
    with pytest.raises(ProtocolError) as caught:
        client.receive(message)
    assert caught.value.field.startswith(field)
    assert named is None or named in str(caught.value)
    assert client.receive(request()) is not None, "the client continues"


def test_unknown_messages_are_ignored() -> None:
    client = Client(RandomPlayer())
    assert client.receive({"type": "notify", "stage": "fireworks"}) is None
    assert client.receive({"type": "chat", "stage": "hello", "text": "hi"}) is None


def test_an_action_that_the_server_does_not_offer_is_replaced_by_the_closest() -> None:
    options = [
        ("PASS", "PASS", ()),
        ("Single", "5", ("H5",)),
        ("Single", "9", ("S9",)),
        ("StraightFlush", "3", ("S3", "S4", "S5", "S6", "S7")),
    ]
    assert closest_option(("Single", "9", ("S9",)), options) == 2
    assert closest_option(("Straight", "3", ("S3", "S4", "S5", "S6", "S7")), options) == 3
    assert closest_option(("Single", "T", ("ST",)), options) == 2
    assert closest_option(("Pair", "K", ("HK", "SK")), options) == 0
    assert closest_option(("Pair", "K", ("HK", "SK")), options[1:]) == 0
    shorter = request(actionList=[["Single", "5", ["H5"]], ["PASS", "PASS", "PASS"]], indexRange=0)
    assert Client(RandomPlayer()).receive(shorter) == {"actIndex": 0}, "never beyond indexRange"


def test_both_forms_of_the_joker_bomb_are_understood() -> None:
    hand = ["HR", "HR", "SB", "SB", "S3"]
    for bomb in (["FourKings", "B", hand[:4]], ["Bomb", "JOKER", hand[:4]]):
        message = request(handCards=hand, actionList=[["PASS", "PASS", "PASS"], bomb], indexRange=1)
        message["publicInfo"][1]["rest"] = 5
        player = _Wants(("FourKings", "B", sorted(hand[:4])))
        assert Client(player).receive(message) == {"actIndex": 1}
        message = request(greaterAction=bomb, greaterPos=0, curPos=0, curAction=bomb)
        message["publicInfo"][0]["playArea"] = bomb
        client = Client(RandomPlayer())
        assert client.receive(message) == {"actIndex": 0}
        assert client.states[0]["beat_kind"] == 10


CONVERSATION = [line["msg"] for line in lines(NAMES[1])[:1200] if line["seat"] == 3 and "msg" in line]
CARDS = st.sampled_from(["S3", "H2", "HR", "SB", "XX", "D"])
KINDS = st.sampled_from(["PASS", "Single", "Bomb", "FourKings", "Straight", "tribute", "back"])
RANKS = st.sampled_from(["2", "A", "B", "R", "JOKER", "PASS"])
ACTIONS = st.tuples(KINDS, RANKS, st.lists(CARDS, max_size=11)).map(list)
SCALARS = st.none() | st.booleans() | st.integers(-3, 30) | st.integers() | st.floats() | st.text(max_size=3) | CARDS
VALUES = st.recursive(SCALARS | ACTIONS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(CARDS, inner))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a message something stands."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, each in inner for found in [(*path, key), *places(each, (*path, key))]]


@st.composite
def mutated(draw: st.DrawFn) -> list[Any]:
    """Some messages of a conversation, out of order and with other values, without keys, or cut off."""
    messages: list[Any] = []
    for chosen in draw(st.lists(st.sampled_from(CONVERSATION), min_size=1, max_size=12)):
        message = copy.deepcopy(chosen)
        for _ in range(draw(st.integers(0, 2))):
            top = draw(st.sampled_from(list(message)))
            *path, key = draw(st.sampled_from([(top,), *places(message[top], (top,))]))
            where = message
            for step in path:
                where = where[step]
            if draw(st.booleans()):
                where[key] = draw(VALUES)
            else:
                del where[key]
        cut = draw(st.none() | st.integers(0, 400))
        messages.append(message if cut is None else json.dumps(message)[:cut])
    return messages


@settings(max_examples=60)
@given(mutated())
def test_damaged_messages_raise_nothing_but_protocol_errors(messages: list[Any]) -> None:
    client = Client(RandomPlayer())
    for message in messages:
        with suppress(ProtocolError):
            answer = client.receive(message)
            if answer is not None:
                offered = message if isinstance(message, dict) else json.loads(message)
                assert 0 <= answer["actIndex"] < len(offered["actionList"])
