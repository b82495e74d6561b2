"""The view that one seat gets of a match from its messages."""

import json
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from dancfr.agents.by_name import bots
from dancfr.serve.guandan import Client, Table
from dancfr.serve.guandan.client import MATCH
from dancfr.serve.guandan.view import count_cards, is_part
from envs.guandan import GuanDan
from envs.guandan.rules.cards import size_of
from envs.guandan.rules.state import PAY, PLAY, state_dtype
from tests.dancfr.serve.guandan.conversations import NAMES, RandomPlayer, lines, replay, spread
from tests.envs.guandan_matches import ENGINE

HIDDEN = {"seed", "low", "high"}
"""Fields that depend on the hands of other seats."""


def clients(seed: int = 0) -> list[Client]:
    return [Client(RandomPlayer(), seed=seed + seat) for seat in range(4)]


def check_view(client: Client, table: Table) -> None:
    """Checks that the view agrees with the real table in all that the seat to move may know."""
    seat, mine, real = table.seat, client.states[0], table.state
    assert client.seat == seat
    who = np.array([seat], np.int8)
    assert (table.game.observe(client.states, who) == table.game.observe(table.states, who)).all()
    assert (mine["low"][seat], mine["high"][seat]) == (real["low"][seat], real["high"][seat])
    assert (table.game.legal(client.states).rows == table.options).all()
    known = int(real["tributes"])
    if real["phase"] == PAY:
        known = 0  # tributes are announced when all are paid
    for name in set(state_dtype.names) - HIDDEN:
        ours, theirs = mine[name], real[name]
        if name in ("payer", "receiver", "paid") or (name == "back" and real["phase"] == PLAY):
            ours, theirs = ours[:known], theirs[:known]
        elif name == "back":
            continue
        assert np.array_equal(ours, theirs), (name, ours, theirs)
    for other in range(4):
        assert size_of(mine["low"][other], mine["high"][other]) == real["left"][other]


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_match_seen_from_each_seat(name: str) -> None:
    seats = clients()
    asked = 0
    for table, recorded, _ in replay(name):
        for line in recorded:
            answer = seats[line["seat"]].receive(json.dumps(line["msg"]))
            if line["msg"]["type"] == "notify":
                assert answer is None
                continue
            assert answer is not None
            assert 0 <= answer["actIndex"] < len(line["msg"]["actionList"])
            check_view(seats[line["seat"]], table)
            asked += 1
    assert asked > 800
    victories = lines(name)[-1]["msg"]["victoryNum"]
    assert [client.victories for client in seats] == [victories] * 4


@pytest.mark.parametrize("seed", range(2))
def test_whole_matches_among_clients_under_the_rules_of_the_paper(seed: int) -> None:
    """With double tributes by card, failures at level A that send back, and the other form of the joker bomb."""
    table, seats = Table(GuanDan(length="match", situation="first"), seed), clients(seed)
    stages: Counter[str] = Counter()
    while not table.over and table.state["number"] < 8:
        for seat, message in spread(table.opening()) if table.round_ended else []:
            assert seats[seat].receive(message) is None
        request = table.act()
        answer = seats[table.seat].receive(json.dumps(request).encode())
        assert answer is not None
        check_view(seats[table.seat], table)
        stages[request["stage"]] += 1
        for seat, message in spread(table.play(answer["actIndex"])):
            assert seats[seat].receive(message) is None
    assert stages["play"] > 200
    assert min(stages["tribute"], stages["back"]) > 2


@pytest.mark.parametrize("name", sorted(bots(MATCH)))
def test_a_bot_decides_in_its_view_as_at_the_real_table(name: str) -> None:
    """The bot uses nothing that its seat cannot know, and the view lacks nothing that the bot uses."""
    game = GuanDan(length="match", situation="first")
    table, seats = Table(game, 11), [Client(bots(MATCH)[name](), seed=seat) for seat in range(4)]
    twins = [bots(MATCH)[name]() for _ in range(4)]
    draws = [np.random.default_rng(seat) for seat in range(4)]
    for twin, rng in zip(twins, draws, strict=True):
        twin.begin(game, 1, rng)
    decided = 0
    while not table.over and table.state["number"] < 3:
        for seat, message in spread(table.opening()) if table.round_ended else []:
            seats[seat].receive(message)
        answer = seats[table.seat].receive(table.act())
        assert answer is not None
        chosen = twins[table.seat].act(table.states, np.zeros(1, np.int64), draws[table.seat])
        assert table.options[answer["actIndex"]] == chosen[0]
        decided += 1
        for seat, message in spread(table.play(answer["actIndex"])):
            seats[seat].receive(message)
    assert decided > 100


def test_joining_in_the_middle_of_a_match() -> None:
    """From any message on. The seat is guessed until a message shows it."""
    conversation = lines(NAMES[0])
    right = asked = 0
    for start in range(0, len(conversation), 397):
        seats, answers = clients(), [0] * 4
        for line in conversation[start : start + 300]:
            seat, message = line["seat"], line.get("msg")
            if message is None:
                continue
            answer = seats[seat].receive(message)
            if message["type"] == "act":
                assert answer is not None
                assert 0 <= answer["actIndex"] < len(message["actionList"])
                right += seats[seat].seat == seat
                asked += 1
                answers[seat] += 1
                view = seats[seat].states[0]
                lefts = [shown["rest"] for shown in message["publicInfo"]]
                if message["stage"] == "play":
                    assert view["left"].tolist() == lefts
    assert right / asked > 0.99


def test_repeated_messages_change_nothing() -> None:
    once, twice = clients(), clients()
    for _, recorded, _ in islice(replay(NAMES[1]), 400):
        for line in recorded:
            seat, message = line["seat"], line["msg"]
            once[seat].receive(message)
            for _ in range(2):
                twice[seat].receive(message)
            if message["type"] == "act":
                assert once[seat].states == twice[seat].states


def test_a_repeated_round_gives_the_same_view() -> None:
    """As after a reconnection: the beginning, all notifications since, and the request."""
    client, sent = Client(RandomPlayer()), []
    for line in lines(NAMES[1])[:3000]:
        message = line.get("msg")
        if line["seat"] != 2 or message is None:
            continue
        if message["stage"] == "beginning":
            sent = []
        if message["type"] == "notify":
            sent.append(message)
            client.receive(message)
        else:
            client.receive(message)
            before = client.states.copy()
            for each in [*sent, message]:
                client.receive(each)
            assert client.states == before


def test_the_view_needs_nothing_but_its_own_messages() -> None:
    """The other hands in a view are arbitrary: another deal of them gives the same view."""
    table = Table(ENGINE, 3)
    opening = table.opening()
    seat = table.seat
    views = []
    for others in (False, True):
        if others:
            hands = [post.message["handCards"] for post in opening]
            a, b = (seat + 1) % 4, (seat + 2) % 4
            hands[a], hands[b] = hands[b], hands[a]
            ENGINE.deal(table.states, [hands], [seat])
        client = Client(RandomPlayer())
        for each, message in spread(table.opening()):
            if each == seat:
                client.receive(message)
        client.receive(table.act())
        views.append(client.states.copy())
    assert views[0] == views[1]


def test_multisets_are_compared_card_by_card() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        part, whole = rng.integers(0, 3, (2, 54)).tolist()
        if rng.random() < 0.5:
            part = [min(few, many) for few, many in zip(part, whole, strict=True)]
        packed = [sum(count << 2 * index for index, count in enumerate(counts)) for counts in (part, whole)]
        assert is_part(*packed) == all(few <= many for few, many in zip(part, whole, strict=True))
        assert count_cards(packed[0]) == sum(part)
