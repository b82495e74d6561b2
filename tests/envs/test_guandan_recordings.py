"""The engine against whole matches recorded from an independent engine."""

import numpy as np
import pytest

from envs.guandan import legal_actions
from envs.guandan.rules.cards import RANKS, pack, parse_action, unpack
from tests.envs.guandan_matches import DATA, ENGINE, decisions, legal_of, matches, plain, recorded_lists

MATCHES = matches()


def test_every_recorded_legal_list_is_ours_exactly():
    positions = 0
    for message in recorded_lists():
        if message["stage"] != "play":
            continue
        follows = any(action[0] == "PASS" for action in message["actionList"])
        beat = message["greaterAction"] if follows else None
        ours = [plain(action) for action in legal_actions(message["handCards"], beat, message["curRank"])]
        assert len(ours) == len(set(ours))
        assert set(ours) == {plain(action) for action in message["actionList"]}
        positions += 1
    assert positions == 1221 + 800


@pytest.mark.parametrize("match", MATCHES, ids=[match["name"] for match in MATCHES])
def test_a_recorded_match_runs_the_same_way_here(match):
    tables = ENGINE.start(np.zeros(1, np.uint64))
    for number, recorded in enumerate(match["rounds"]):
        table = tables[0]
        assert ENGINE.to_move(tables)[0] >= 0
        assert table["level"] == int(recorded["level"]) - 2
        assert table["levels"].tolist() == [level - 2 for level in recorded["levels"]]
        lead = recorded["plays"][0][0]
        ENGINE.deal(tables, [[hand.split() for hand in recorded["hands"]]], [lead])
        if "anti" in recorded:
            assert table["refused"] == 2
            assert table["tributes"] == 0
        for seat, action in decisions(recorded):
            assert ENGINE.to_move(tables)[0] == seat
            assert table["number"] == number
            before = tables.copy()
            ENGINE.step(tables, parse_action(action))
            if action[0] == "tribute":
                assert plain(action) in legal_of(ENGINE, before)
        assert table["former"].tolist() == recorded["order"]
    winner = 0 if match["victories"][0] else 1
    assert ENGINE.winners(tables).tolist() == [winner]
    assert ENGINE.finished(tables).all()
    assert ENGINE.returns(tables)[0].tolist() == [1 - 2 * winner, 2 * winner - 1] * 2


def test_tribute_and_return_lists_are_the_recorded_ones():
    compared = 0
    for message in recorded_lists():
        if message["stage"] not in ("tribute", "back"):
            continue
        tables = ENGINE.start(np.zeros(1, np.uint64))
        tables["low"][0, 0], tables["high"][0, 0] = pack(message["handCards"])
        tables["to_move"], tables["level"] = 0, RANKS.index(message["curRank"])
        tables["phase"] = 1 if message["stage"] == "tribute" else 2
        assert legal_of(ENGINE, tables) == {plain(action) for action in message["actionList"]}
        compared += 1
    assert compared == 2 * (14 + 13)


def test_what_is_left_at_the_end_of_a_round_is_what_was_recorded():
    tables = ENGINE.start(np.zeros(1, np.uint64))
    recorded = MATCHES[0]["rounds"][0]
    ENGINE.deal(tables, [[hand.split() for hand in recorded["hands"]]], [recorded["plays"][0][0]])
    *most, (_, last) = decisions(recorded)
    for _, action in most:
        ENGINE.step(tables, parse_action(action))
    table = tables[0]
    seat, action = table["to_move"], parse_action(last)[0]
    for other, cards in recorded["rest"]:
        assert other != seat
        assert sorted(unpack(table["low"][other], table["high"][other])) == sorted(cards.split())
    assert (table["low"][seat], table["high"][seat]) == (action["low"], action["high"])


def test_every_file_of_recordings_has_an_origin():
    origin = (DATA / "README.md").read_text()
    names = [path.name for path in DATA.iterdir() if path.name != "README.md"]
    assert len(names) == 3
    assert all(f"`{name}`" in origin for name in names)
