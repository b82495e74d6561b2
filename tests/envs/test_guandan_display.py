"""The display of GuanDan: words for plays, the events of moves, and that nothing hidden is shown."""

import json
from typing import Any

import numpy as np
import pytest

from dancfr.serve.browser.displays import display_of, offered
from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.bots.players import GreedyBot, RandomBot
from envs.guandan.display.table import LETTERS, GuanDanDisplay
from envs.guandan.game import describe
from envs.guandan.rules.cards import CARDS, KINDS, notation, parse_action
from envs.guandan.rules.state import PAY
from tests.envs.guandan_tables import table

SEATS = 4


def read_word(word: str) -> tuple[str, str, list[str]]:
    """The kind, rank and cards of a word; the rank is empty for a tribute that is hidden."""
    return KINDS["abcdefghijklm".index(word[0])], word[1:2], [CARDS[LETTERS.index(letter)] for letter in word[2:]]


def played(game: GuanDan, seed: int, most: int = 400) -> list[tuple[States, Any, States]]:
    """A game of greedy bots that play a random action now and then: for each move the states before and after it."""
    rng, states = np.random.default_rng(seed), game.start(np.array([seed], np.uint64))
    greedy, random = GreedyBot(), RandomBot()
    for bot in (greedy, random):
        bot.begin(game, 1, rng)
    moves: list[tuple[States, Any, States]] = []
    while len(moves) < most and not game.finished(states)[0]:
        bot = random if rng.random() < 0.2 else greedy
        action = bot.act(states, np.zeros(1, np.int64), rng)
        before, states = states, states.copy()
        game.step(states, action)
        moves.append((before, action[0], states))
    return moves


def redealt(game: GuanDan, states: States, viewer: int, seed: int) -> States:
    """The same table with other cards in the hands that the viewer does not see."""
    other = states.copy()
    game.redeal(other, np.array([viewer], np.int8), np.array([seed], np.uint64))
    return other


def text(found: Any) -> str:
    return json.dumps(found)


@pytest.mark.parametrize("options", [{}, {"length": "match", "situation": "first"}, {"double_tribute": "by_seat"}])
def test_nothing_hidden_is_shown(options: dict[str, Any]) -> None:
    game = GuanDan(**options)
    display = display_of(game)
    exchanged = 0
    for seed in range(3):
        for before, action, after in played(game, seed, most=250):
            mover = int(game.to_move(before)[0])
            for viewer in range(SEATS):
                others = redealt(game, before, viewer, seed + 1)
                exchanged += others.tobytes() != before.tobytes()
                assert text(display.scene(before[0], viewer)) == text(display.scene(others[0], viewer))
                if viewer == mover:
                    assert display.choices(before) == display.choices(others)
                    assert offered(display, before) == offered(display, others)
                if not game.finished(after)[0]:
                    later = redealt(game, after, viewer, seed + 2)
                    told = display.event(before[0], action, after[0], viewer)
                    assert told == display.event(others[0], action, later[0], viewer)
    assert exchanged > 500


def test_seeds_do_not_matter() -> None:
    """The seed decides all later deals."""
    game = GuanDan(length="match")
    display = display_of(game)
    states = game.start(np.array([3], np.uint64))
    other = states.copy()
    other["seed"] = 5
    assert [display.scene(states[0], seat) for seat in range(SEATS)] == [
        display.scene(other[0], seat) for seat in range(SEATS)
    ]


def test_everything_is_shown_at_the_end() -> None:
    game = GuanDan()
    display = display_of(game)
    *_, (before, action, after) = played(game, 4)
    scene = display.scene(after[0], 2)
    assert [len(seat["hand"]) for seat in scene["seats"]] == [seat["left"] for seat in scene["seats"]]
    assert scene["phase"] == "over"
    assert scene["wild"] is None
    told = display.event(before[0], action, after[0], 2)["round"]
    order = told["order"]
    assert told["winner"] == order[0] % 2
    assert sorted(order) == [0, 1, 2, 3]
    assert order == [int(seat) for seat in after[0]["order"]]


def test_words_are_the_legal_actions_in_their_order() -> None:
    game = GuanDan()
    display = display_of(game)
    for seed in range(5):
        for before, _, _ in played(game, seed, most=60):
            rows = game.legal(before).rows
            offer, choices = offered(display, before), display.choices(before)
            assert [choice["play"] for choice in choices] == offer
            assert [choice["label"] for choice in choices] == [describe(row) for row in rows]
            for word, row in zip(offer[:40], rows[:40], strict=True):
                kind, rank, cards = read_word(word)
                name, its_rank, its_cards = notation(row)
                assert kind == name
                assert sorted(cards) == sorted([] if name == "PASS" else its_cards)
                assert name in ("PASS", "FourKings", "tribute", "back") or rank == its_rank


def test_wild_cards_have_several_readings() -> None:
    states = table(["S3 S4 S5 H2 H2 D9", "SK", "SQ", "SJ"])
    words = offered(display_of(GuanDan()), states)
    readings = {read_word(word)[:2] for word in words if sorted(read_word(word)[2]) == ["H2", "H2", "S3", "S4", "S5"]}
    assert readings == {(kind, rank) for kind in ("Straight", "StraightFlush") for rank in "A23"}


def test_messages_stay_small() -> None:
    """A hand that leads has the most choices: the largest message of 300 deals, without the table's additions."""
    game = GuanDan()
    display = display_of(game)
    sizes = []
    for seed in range(300):
        states = game.start(np.array([seed], np.uint64))
        mover = int(game.to_move(states)[0])
        sizes.append(
            len(json.dumps([display.scene(states[0], mover), offered(display, states)], separators=(",", ":")))
        )
    assert max(sizes) < 60_000


def test_a_tribute_is_told_to_others_once_all_are_paid() -> None:
    game = GuanDan()
    display = display_of(game)
    seeds = np.arange(400, dtype=np.uint64)
    found = game.start(seeds)
    double = found[(found["phase"] == PAY) & (found["tributes"] == 2)]
    assert len(double)
    states = double[:1]
    payers = [int(seat) for seat in states[0]["payer"]]
    first = game.legal(states).rows[:1]
    after = states.copy()
    game.step(after, first)
    for viewer in range(SEATS):
        told = display.event(states[0], first[0], after[0], viewer)
        paid = display.scene(after[0], viewer)["tributes"][0]["paid"]
        card = notation(first[0])[2][0]
        assert (read_word(told["play"])[2], paid) == (([card], card) if viewer == payers[0] else ([], None))
        assert viewer == payers[0] or card not in told["label"]
    last = after.copy()
    game.step(last, game.legal(after).rows[:1])
    told = display.event(after[0], game.legal(after).rows[0], last[0], payers[0])
    assert [each["payer"] for each in told["tributes"]] == payers
    assert all(each["paid"] and each["receiver"] in range(SEATS) and each["back"] is None for each in told["tributes"])
    receiver = int(last[0]["to_move"])
    back = last.copy()
    game.step(back, game.legal(last).rows[:1])
    scene = display.scene(back[0], payers[0])
    returned = [each["back"] for each in scene["tributes"] if each["receiver"] == receiver]
    assert returned == [notation(game.legal(last).rows[0])[2][0]]


def test_events_tell_of_leads_tricks_and_places() -> None:
    game, display = GuanDan(), GuanDanDisplay(GuanDan())
    states = table(["S3", "SK", "S9 D4 D4", "SJ C8"])
    told = []
    for written in (("Single", "3", ["S3"]), ("PASS",) * 3, ("PASS",) * 3, ("PASS",) * 3, ("Pair", "4", ["D4", "D4"])):
        before, action = states.copy(), parse_action(written)
        game.step(states, action)
        told.append(display.event(before[0], action[0], states[0], 1))
    assert told[0] == {"label": "Single 3 [S3]", "play": "b3F", "lead": True, "place": 0}
    assert told[1] == {"label": "PASS", "play": "a2"}
    assert (told[3]["won"], told[3]["next"]) == (0, 2)  # the partner leads in place of the player who is out
    assert told[4] == {"label": "Pair 4 [D4 D4]", "play": "c4LL", "lead": True}


def test_the_end_of_a_round_tells_its_result() -> None:
    game = GuanDan(length="match", situation="first")
    moves = played(game, 2, most=600)
    display = display_of(game)
    results = [display.event(b[0], action, a[0], 0).get("round") for b, action, a in moves]
    found = [each for each in results if each]
    assert len(found) >= 2
    assert [each["number"] for each in found] == list(range(1, len(found) + 1))
    ranks = "23456789TJQKA"
    for each in found[:-1]:
        team = each["order"][0] % 2
        assert ranks.index(each["levels"][team]) == min(12, ranks.index(each["from"][team]) + each["rise"])
        assert each["levels"][1 - team] == each["from"][1 - team]
    scenes = [display.scene(after[0], 1) for _, _, after in moves]
    begun = next(scene for scene, result in zip(scenes, results, strict=True) if result)
    assert begun["former"] == found[0]["order"]
    assert begun["round"] == 2
    assert begun["level"] in found[0]["levels"]
