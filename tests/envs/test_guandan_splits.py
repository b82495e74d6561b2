"""Splits of a hand into plays, the prices of plays, and the tributes that are chosen by them."""

from functools import cache

import numpy as np
import pytest
from scipy import stats

from envs.guandan import GuanDan
from envs.guandan.inputs.layout import MOST_PLAYS, write_split
from envs.guandan.inputs.prospects import Strengths, _tails, judge, unseen_cards
from envs.guandan.inputs.splits import FLUSHES, FULL_HOUSES, PLATES, PRICES, STRAIGHTS, TUBES, new_desk, split
from envs.guandan.inputs.tribute import USUAL_PRICES, tribute_choice
from envs.guandan.rules.cards import (
    BOMB,
    CARDS,
    FOUR_KINGS,
    PAIR,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
    action_dtype,
    count_of,
    notation,
    pack,
    parse_level,
    size_of,
    unpack,
)
from envs.guandan.rules.comparison import reads_as, value_of
from envs.guandan.rules.generation import LONGEST, plays
from envs.guandan.rules.state import GIVE_BACK, PAY
from tests.envs.guandan_tables import table

ONE_EACH = np.ones(PRICES)
ONE_EACH[:, 0] = 0

ROWS = np.empty(LONGEST, action_dtype)


def fewest_plays(low: int, high: int, level: int) -> int:
    """By trying all plays that have the lowest remaining card."""

    @cache
    def best(low: int, high: int) -> int:
        if not low and not high:
            return 0
        n = plays(np.uint64(low), np.uint64(high), level, 0, 0, 0, ROWS, 0)
        parts = {(int(row["low"]), int(row["high"])) for row in ROWS[:n]}
        lowest = unpack(low, high)[0]
        return 1 + min(best(low - a, high - b) for a, b in parts if lowest in unpack(a, b))

    return best(low, high)


def random_hand(rng: np.random.Generator, size: int, cards: list[str]) -> list[str]:
    return [cards[i] for i in rng.permutation(len(cards))[:size]]


def split_of(hand: list[str], level: str, price: np.ndarray = ONE_EACH) -> tuple[float, list]:
    """Price and plays of the cheapest split, which has been checked for being one."""
    desk, rows, rank = new_desk(), np.zeros(MOST_PLAYS, action_dtype), parse_level(level)
    low, high = (np.uint64(word) for word in pack(hand))
    total = split(desk, low, high, rank, price)
    count = write_split(desk, low, high, rank, price, rows)
    for row in rows[:count]:
        assert reads_as(row["low"], row["high"], int(row["kind"]), int(row["rank"]), rank), notation(row)
        assert row["size"] == size_of(row["low"], row["high"])
    assert (rows["low"][:count].sum(), rows["high"][:count].sum()) == (low, high)
    return total, [notation(row) for row in rows[:count]]


def test_the_worked_example_of_the_search() -> None:
    """The hand in the docstring of `envs.guandan.inputs.splits`."""
    hand = ["S3", "S4", "S5", "S6", "S7", "H7", "C7", "C9", "D9"]
    price, actions = split_of(hand, "2")
    assert price == 3
    assert [(kind, sorted(cards)) for kind, _, cards in actions] == [
        ("StraightFlush", ["S3", "S4", "S5", "S6", "S7"]),
        ("Pair", ["C7", "H7"]),
        ("Pair", ["C9", "D9"]),
    ]


def test_the_split_of_a_small_hand_has_the_fewest_plays() -> None:
    rng = np.random.default_rng(0)
    wild = 0
    for i in range(150):
        level = "3456789TJQKA2"[i % 13]
        ranks = "A2345678" if i % 2 else "789TJQKA"
        suits = "SH" if i % 3 == 0 else "SHCD"
        cards = 2 * [suit + rank for suit in suits for rank in ranks] + (i % 5) * ["SB"][: i % 2] + 2 * ["H" + level]
        hand = random_hand(rng, 9, [card for n, card in enumerate(cards) if cards[:n].count(card) < 2])
        low, high = pack(hand)
        wild += count_of(np.uint64(low), np.uint64(high), 4 * parse_level(level)) > 0
        total, written = split_of(hand, level)
        assert total == len(written) == fewest_plays(low, high, parse_level(level)), (hand, level, written)
    assert wild > 40


def test_splits_of_whole_hands_are_splits_and_cost_what_their_plays_cost() -> None:
    rng = np.random.default_rng(1)
    for i in range(200):
        level = "3456789TJQKA2"[i % 13]
        hand = random_hand(rng, 27, 2 * list(CARDS))
        total, written = split_of(hand, level)
        assert total == len(written)
        assert split_of(hand, level, USUAL_PRICES)[0] <= 10


def test_a_split_costs_what_its_plays_cost_one_by_one() -> None:
    """Prices that differ for each play; a straight that comes out in one suit has the price of a straight."""
    rng = np.random.default_rng(2)
    columns = {STRAIGHT: STRAIGHTS, THREE_PAIR: TUBES, TWO_TRIPS: PLATES, THREE_WITH_TWO: FULL_HOUSES}
    kinds: set[int] = set()
    for i in range(200):
        level = "3456789TJQKA2"[i % 13]
        price = rng.uniform(0.5, 1.5, PRICES)
        price[:, 0], price[:, FLUSHES] = 0, price[:, STRAIGHTS]
        desk, rows, rank = new_desk(), np.zeros(MOST_PLAYS, action_dtype), parse_level(level)
        low, high = (np.uint64(word) for word in pack(random_hand(rng, 27, 2 * list(CARDS))))
        total, cost = split(desk, low, high, rank, price), 0.0
        for row in rows[: write_split(desk, low, high, rank, price, rows)]:
            kind, size = int(row["kind"]), int(row["size"])
            column = FLUSHES if kind == STRAIGHT_FLUSH else columns.get(kind, size)
            value = 14 if kind == FOUR_KINGS else value_of(kind, int(row["rank"]), rank)
            cost += price[value, column]
            kinds.add(kind)
        assert total == pytest.approx(cost, abs=1e-9)
    assert kinds >= {SINGLE, PAIR, TRIPS, BOMB, STRAIGHT_FLUSH, *columns}


def test_a_straight_of_one_suit_is_written_as_a_straight_flush() -> None:
    price = ONE_EACH.copy()
    price[:, FLUSHES] = 9.0
    total, written = split_of(["S3", "S4", "S5", "S6", "S7"], "2", price)
    assert total == 1
    assert [kind for kind, _, _ in written] == ["StraightFlush"]


SPLITS = {
    "two straights rather than a tube and pairs": (
        "S3 H3 S4 D4 C5 D5 S6 H6 S7 D7",
        "2",
        {("Straight", "3")},
    ),
    "a straight flush up to the ace": (
        "ST SJ SQ SK SA HT CJ",
        "2",
        {("StraightFlush", "T"), ("Single", "T"), ("Single", "J")},
    ),
    "a tube": ("S3 H3 S4 D4 C5 D5 SK", "2", {("ThreePair", "3"), ("Single", "K")}),
    "a plate with the ace low": ("SA DA CA S2 D2 C2", "9", {("TwoTrips", "A")}),
    "a triple carries a pair": ("S3 D3 C3 SJ DJ HR", "2", {("ThreeWithTwo", "3"), ("Single", "R")}),
    "the wild card where it saves a play": ("S3 S4 S5 S7 H9 DK", "9", {("StraightFlush", "3"), ("Single", "K")}),
    "the wild card in a bomb": ("S8 D8 C8 H9", "9", {("Bomb", "8")}),
    "four jokers stay together": ("SB SB HR HR S3 D3", "9", {("FourKings", "B"), ("Pair", "3")}),
    "two wild cards are a pair of the level": ("H9 H9", "9", {("Pair", "9")}),
}


@pytest.mark.parametrize("case", SPLITS)
def test_splits_one_knows(case: str) -> None:
    hand, level, expected = SPLITS[case]
    _, written = split_of(hand.split(), level)
    assert {(kind, rank) for kind, rank, _ in written} == expected


def test_prices_decide_what_is_split_from_what() -> None:
    hand, price = [suit + rank for suit in "SD" for rank in "34567"], ONE_EACH.copy()
    hand[3], hand[8] = "H6", "C6"  # no straight flush
    assert [kind for kind, _, _ in split_of(hand, "2")[1]] == ["Straight", "Straight"]
    price[:, STRAIGHTS] = 4.0
    total, written = split_of(hand, "2", price)
    assert total == 3.0
    assert sorted(kind for kind, _, _ in written) == ["Pair", "Pair", "ThreePair"]


def test_tails_are_binomial() -> None:
    tail = np.empty((9, 9))
    _tails(10, 40, tail)
    for u in range(9):
        assert tail[:, u] == pytest.approx(stats.binom.sf(np.arange(9) - 1, u, 0.25), abs=1e-12)
    _tails(1, 40, tail)
    assert (tail[2:] == 0).all()  # one card is not a pair
    _tails(12, 12, tail)
    assert (tail == (np.arange(9)[:, None] <= np.arange(9))).all()


def test_a_stronger_play_is_beaten_less_often_and_costs_less() -> None:
    states = GuanDan().start(np.arange(20, dtype=np.uint64))
    win, price = np.zeros(PRICES), np.zeros(PRICES)
    for state in states.view(np.recarray):
        cards = [np.uint64(word) for word in unseen_cards(state, 0)]
        tables = np.zeros(32, np.int64), np.zeros((9, 9)), win, price
        judge(int(state.level), *cards, 27, 27, 81, Strengths(), *tables)
        assert ((win[:, 1:] > 0) & (win[:, 1:] <= 1)).all()
        assert (np.diff(win[:, 1:], axis=0)[:12] >= 0).all()
        assert (np.diff(price[:, 1:], axis=0)[:12] <= 0).all()
        assert (np.diff(win[:13, 4:11], axis=1) >= 0).all()
        assert win[14, 4] == 1


def tribute_table(hand: str, phase: int, level: str) -> np.ndarray:
    states = table([hand, "S2 C2 S7", "C7 SJ CJ", "ST CT SQ"], level)
    states["phase"], states["tributes"] = phase, 1
    states["payer"], states["receiver"] = (0, 0), (1, 1)
    return states


TRIBUTES = {
    "not out of the straight flush": ("ST SJ SQ SK SA DA D3 D4", PAY, "2", "DA"),
    "the only highest card": ("HR SA DA D3 D4", PAY, "2", "HR"),
    "the wild card is not paid": ("H9 DA SK SK", PAY, "9", "DA"),
    "a low card that is in no combination": ("S3 D3 C3 C4 C7 D7 SK DK HA", GIVE_BACK, "2", "C4"),
    "not out of a straight": ("S3 D4 C5 C6 D7 C9 SK DK", GIVE_BACK, "2", "C9"),
    "not the level": ("S3 D3 C3 C4 C8 SK DK HA", GIVE_BACK, "4", "C8"),
}


@pytest.mark.parametrize("case", TRIBUTES)
def test_tributes(case: str) -> None:
    hand, phase, level, expected = TRIBUTES[case]
    states = tribute_table(hand, phase, level)
    legal = GuanDan().legal(states)
    (row,) = tribute_choice(states, legal)
    assert notation(legal.rows[row])[2] == [expected]


def test_tributes_are_chosen_from_the_list_of_their_table() -> None:
    game = GuanDan()
    states = game.start(np.arange(300, dtype=np.uint64))
    legal = game.legal(states)
    rows = tribute_choice(states, legal)
    due = game.scripted(states)
    assert 100 < due.sum() < 300
    assert (rows[~due] == -1).all()
    assert (rows[due] >= legal.offsets[:-1][due]).all()
    assert (rows[due] < legal.offsets[1:][due]).all()


def test_a_tribute_leaves_the_cheapest_hand() -> None:
    """Of all legal cards, each tried by itself."""
    game, desk = GuanDan(), new_desk()
    states = game.start(np.arange(300, dtype=np.uint64))
    states = states[game.scripted(states)]
    several = 0
    for _ in range(3):  # pay, perhaps twice, and give back
        legal = game.legal(states)
        rows = tribute_choice(states, legal)
        for b in np.flatnonzero(rows >= 0):
            seat, level = states["to_move"][b], int(states["level"][b])
            low, high = states["low"][b, seat], states["high"][b, seat]
            listed = legal.rows[legal.offsets[b] : legal.offsets[b + 1]]
            costs = [split(desk, low - row["low"], high - row["high"], level, USUAL_PRICES) for row in listed]
            assert costs[rows[b] - legal.offsets[b]] == pytest.approx(min(costs), abs=1e-8)
            several += len(listed) > 1
        game.step(states, legal.rows[np.where(rows < 0, legal.offsets[:-1], rows)])
    assert several > 150
