"""GuanDan from round to round: the cleared table, drawn situations, and the endings of rounds."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.game import ENDINGS
from envs.guandan.rules.cards import CARDS, PASS, notation, unpack
from envs.guandan.rules.state import GIVE_BACK, NOBODY, PAY, PLAY, SEATS
from envs.ragged import choose_rows
from tests.envs import guandan_tables

MATCH = GuanDan(length="match", situation="first")
DRAWN = GuanDan(situation="drawn")


def play(game: GuanDan, states: States, rng: np.random.Generator) -> Iterator[tuple[States, States]]:
    """Random play to the end; the tables before and after each step."""
    while not game.finished(states).all():
        before, legal = states.copy(), game.legal(states)
        chosen = np.zeros(len(states), game.action_dtype)
        running = np.flatnonzero(~game.finished(states))
        chosen[running] = legal.rows[choose_rows(legal.offsets, rng.random(len(states)))[running]]
        game.step(states, chosen)
        yield before, states


def hands_of(table: np.void) -> list[list[str]]:
    return [unpack(low, high) for low, high in zip(table["low"], table["high"], strict=True)]


def test_a_new_round_begins_with_a_clear_table_and_its_tributes() -> None:
    begun, paid, refused = 0, set(), 0
    for before, states in play(MATCH, MATCH.start(np.arange(12, dtype=np.uint64)), np.random.default_rng(1)):
        for table in states[states["number"] > before["number"]]:
            for name in ("played_low", "played_high", "last_low", "last_high", "beat_low", "beat_high", "shown"):
                assert not table[name].any(), name
            assert [table[name] for name in ("beat_kind", "passes", "out", "settled")] == [PASS, 0, 0, 0]
            assert (table["order"] == NOBODY).all()
            assert table["holder"] == NOBODY
            assert (table["left"] == 27).all()
            former, hands = table["former"].tolist(), hands_of(table)
            payers = former[:1:-1] if (former[0] - former[1]) % 2 == 0 else former[3:]
            if sum(hands[seat].count("HR") for seat in payers) == 2:
                found = 0, 2, PLAY, former[0]
                refused += 1
            else:
                found = len(payers), 0, PAY, payers[0]
                paid.add(len(payers))
            assert tuple(table[name] for name in ("tributes", "refused", "phase", "to_move")) == found
            begun += 1
    assert begun > 60
    assert paid == {1, 2}
    assert refused > 5


def test_a_round_that_has_ended_can_be_dealt_again() -> None:
    states = DRAWN.start(np.arange(4, dtype=np.uint64))
    hands = [hands_of(table) for table in states]
    for _ in play(DRAWN, states, np.random.default_rng(2)):
        pass
    assert (DRAWN.winners(states) >= 0).all()
    DRAWN.deal(states, hands)
    assert DRAWN.winners(states).tolist() == [-1] * 4
    assert not DRAWN.finished(states).any()
    assert not DRAWN.returns(states).any()
    assert [hands_of(table) for table in states] == hands


Situation = tuple[list[int], int, list[int]]


def random_match(rng: np.random.Generator, most_attempts: int) -> list[Situation]:
    """Levels, the team whose level is played, and failed attempts at A before each round of a match in plain Python."""
    levels, owner, attempts, found = [0, 0], NOBODY, [0, 0], []
    while True:
        found.append((levels.copy(), owner, attempts.copy()))
        order = rng.permutation(SEATS).tolist()
        team, rise = order[0] % 2, 4 - order.index((order[0] + 2) % 4)
        at_own_ace = owner == team and levels[team] == 12
        if at_own_ace and rise > 1:
            return found
        if owner != NOBODY and levels[owner] == 12:
            attempts[owner] += 1
            if attempts[owner] == most_attempts:
                levels[owner] = attempts[owner] = 0
        if not at_own_ace:
            levels[team] = min(levels[team] + rise, 12)
        owner = team


def measures(levels: list[int], owner: int, attempts: list[int]) -> list[float]:
    """Numbers that show how the rounds of a situation have gone; the first round has a lead of 0."""
    lead = 0 if owner == NOBODY else levels[owner] - levels[1 - owner]
    return [owner == NOBODY, sum(levels), min(levels), lead, abs(lead), max(levels) == 12, sum(attempts), owner == 1]


@pytest.mark.parametrize("most", [3, 0])
def test_drawn_situations_are_those_before_a_random_round_of_a_random_match(most: int) -> None:
    """The means of 20,000 tables and of 4,000 matches in plain Python, within 5 standard errors."""
    rng = np.random.default_rng(3)
    by_match = np.array([np.mean([measures(*each) for each in random_match(rng, most)], axis=0) for _ in range(4000)])
    states = GuanDan(a_attempts=most).start(rng.integers(0, 2**63, 20_000))
    fields = zip(states["levels"].tolist(), states["owner"].tolist(), states["attempts"].tolist(), strict=True)
    by_table = np.array([measures(*each) for each in fields], np.float64)
    error = np.sqrt(by_match.var(axis=0) / len(by_match) + by_table.var(axis=0) / len(by_table))
    assert (np.abs(by_match.mean(axis=0) - by_table.mean(axis=0)) < 5 * error).all()
    assert (states["winner"] == NOBODY).all()
    assert not states["points"].any()
    assert not states["number"].any()
    first = states["former"][:, 0] == NOBODY
    assert np.array_equal(first, states["owner"] == NOBODY)
    assert (np.sort(states["former"][~first], axis=1) == np.arange(SEATS)).all()
    assert (states["former"][~first, 0] % 2 == states["owner"][~first]).all()
    played = np.where(first, 0, states["levels"][np.arange(len(states)), states["owner"]])
    assert np.array_equal(states["level"], played)


def test_endings_and_points_tell_the_place_of_the_partner() -> None:
    states = DRAWN.start(np.arange(200, dtype=np.uint64))
    level = [(table["level"] == 12, int(table["owner"])) for table in states]
    for _, after in play(DRAWN, states, np.random.default_rng(4)):
        assert (DRAWN.endings(after)[~DRAWN.finished(after)] == 0).all()
    seen = set()
    for table, ending, (at_ace, owner) in zip(states, DRAWN.endings(states), level, strict=True):
        order = table["order"].tolist()
        place = order.index((order[0] + 2) % 4)
        assert ENDINGS[ending] == ("double", "partner third", "partner last")[place - 1]
        unclosed = at_ace and owner == order[0] % 2 and place == 3
        sign = 1 if order[0] % 2 == 0 else -1
        assert table["points"] == (0 if unclosed else sign * (4 - place))
        seen.add(place)
    assert seen == {1, 2, 3}


def test_rounds_that_have_ended_are_counted() -> None:
    """A round has ended where cards are dealt again, or where the match is over."""
    states = MATCH.start(np.arange(6, dtype=np.uint64))
    ended: NDArray[np.int64] = np.zeros(6, np.int64)
    for before, after in play(MATCH, states, np.random.default_rng(5)):
        ended += after["left"].sum(axis=1) > before["left"].sum(axis=1)
        ended += MATCH.finished(after) & ~MATCH.finished(before)
        assert np.array_equal(MATCH.rounds(after), ended)
    assert ended.min() > 4


@pytest.mark.parametrize("player", range(SEATS))
def test_a_tribute_that_is_announced_stays_with_its_payer(player: int) -> None:
    """While the second payer chooses, all see the first card, which has not changed hands yet."""
    states = GuanDan(length="match").start(np.arange(300, dtype=np.uint64))
    states = states[(states["phase"] == PAY) & (states["tributes"] == 2)]
    legal = DRAWN.legal(states)
    DRAWN.step(states, legal.rows[legal.offsets[:-1]])
    assert len(states) > 40
    assert (states["settled"] == 1).all()
    dealt, players = states.copy(), np.full(len(states), player)
    DRAWN.redeal(dealt, players, np.arange(len(states), dtype=np.uint64))
    moved = 0
    for before, after in zip(states, dealt, strict=True):
        hands, others = hands_of(before), hands_of(after)
        assert others[player] == hands[player]
        assert [len(hand) for hand in others] == [27] * SEATS
        assert sorted(itertools.chain(*others)) == sorted(itertools.chain(*hands))
        assert CARDS[before["paid"][0]] in others[before["payer"][0]]
        moved += others != hands
    assert moved == len(states)


TRIBUTES = [  # a hand, the level, the cards that it may pay, and those that it may give back
    ("S3 C9 HT SJ HR", "2", "HR", "S3 C9 HT"),
    ("SA CA HK H2 H2 S3", "2", "SA CA", "S3"),
    ("SA S2 D2 H2 H9", "2", "S2 D2", "H9"),
    ("HT S5 C5 H5", "5", "S5 C5", "HT"),
    ("S5 C5 H5 SJ DJ SQ", "5", "S5 C5", "SJ DJ"),  # the level is not a low card, even alone
    ("SJ HJ SQ DQ SK", "J", "SJ", "SQ DQ"),
    ("SB SB HR S2 H2", "2", "HR", "S2"),
]


@pytest.mark.parametrize(("hand", "level", "pays", "returns"), TRIBUTES)
def test_cards_that_may_be_paid_and_given_back(hand: str, level: str, pays: str, returns: str) -> None:
    states = guandan_tables.table([hand, "S3", "S4", "S6"], level)
    for phase, kind, expected in ((PAY, "tribute", pays), (GIVE_BACK, "back", returns)):
        states["phase"] = phase
        listed = [notation(row) for row in DRAWN.legal(states).rows]
        assert sorted(listed) == sorted((kind, kind, [card]) for card in expected.split())
