"""The moves of GuanDan's planner at tables whose best move is known, and its scores by another computation."""

import math
from collections import Counter

import numpy as np
import pytest

from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.bots.planner import PlannerBot
from envs.guandan.inputs.layout import MOST_PLAYS, write_split
from envs.guandan.inputs.prospects import Strengths
from envs.guandan.inputs.splits import new_desk, split
from envs.guandan.inputs.tribute import tribute_choice
from envs.guandan.inputs.weighing import Manners, look, new_view, score_pass, score_play
from envs.guandan.rules.cards import (
    BOMB,
    CARDS,
    FOUR_KINGS,
    JOKERS,
    PAIR,
    PASS,
    RANKS,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIBUTE,
    TWO_TRIPS,
    action_dtype,
    notation,
    unpack,
)
from envs.guandan.rules.comparison import rank_value
from tests.envs.guandan_tables import chosen, table

MANNERS, BOMBS = Manners(), (STRAIGHT_FLUSH, BOMB, FOUR_KINGS)
A_PASS = ("PASS", "PASS")
MANY = "S3 C4 D5 S6 D8 C9 CT DJ SQ DK CA"  # of an opponent who is far from going out
OTHERS = "D3 S4 C5 D6 S8 D9 DT SJ CQ CK DA"
MORE = "H3 H4 H5 H6 H8 H9 HT HJ HQ HK HA"


def does(hands: list[str], level: str = "2", beat: tuple | None = None, holder: int = 3) -> tuple[str, str]:
    ((kind, rank, _),) = chosen(PlannerBot(), table(hands, level, beat=beat, holder=holder))
    return kind, rank


def test_it_goes_out_when_it_can() -> None:
    assert does(["S9 D9", MANY, "S7 D7 C8", OTHERS]) == ("Pair", "9")
    assert does(["S9 D9", MANY, "S7 D7 C8", OTHERS], beat=("Pair", "8", ["S8", "C8"])) == ("Pair", "9")
    assert does(["S9 D9 C9 H9", MANY, "S7", OTHERS], beat=("Pair", "A", ["SA", "HA"]), holder=2) == ("Bomb", "9")


def test_it_keeps_a_bomb_for_later() -> None:
    hand = "S5 D5 S7 H7 C7 D7 SJ CJ SK HK C3 D4 S8 SQ CQ"
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "A", ["HA"])) == A_PASS


def test_it_bombs_to_run_out() -> None:
    hand = "S7 H7 C7 D7 C3"
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "A", ["HA"])) == ("Bomb", "7")


def test_it_bombs_an_opponent_who_is_about_to_go_out() -> None:
    hand = "S5 D5 S7 H7 C7 D7 SJ CJ SK HK C3 D4 S8 SQ CQ"
    assert does([hand, MANY, OTHERS, "HK"], beat=("Single", "A", ["HA"])) == ("Bomb", "7")


def test_it_leads_what_wins_before_its_last_play() -> None:
    assert does(["HR S3 D3", MANY, OTHERS, "S6 D6 S8 D8 CK C4 C3"]) == ("Single", "R")


def test_it_is_rid_of_weak_plays_first() -> None:
    assert does(["S4 D5 S9 D9 SQ DQ CA HR", MANY, OTHERS, MORE]) == ("Single", "4")


def test_it_does_not_lead_a_low_single_to_an_opponent_with_one_card() -> None:
    hands = ["S4 S6 D6 S9 D9 HK", MANY, OTHERS, "HA"]
    assert does(hands)[0] == "Pair"
    hands[1], hands[3] = hands[3], hands[1]
    assert does(hands)[0] == "Pair"


def test_it_plays_high_where_the_next_opponent_has_one_card() -> None:
    """The partner leads a low single; a 7 would let the next one out."""
    hand = "S7 HR S9 D9 S5 D5"
    assert does([hand, "HK", OTHERS, MANY], beat=("Single", "4", ["H4"]), holder=2) == ("Single", "R")
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "4", ["H4"])) == ("Single", "7")


def test_it_leads_a_small_single_to_a_partner_with_one_card() -> None:
    hand = "S3 S6 D6 S9 D9 C9 CK DK SJ DJ CQ HQ C5 D5"
    assert does([hand, MANY, "HK", OTHERS]) == ("Single", "3")


def test_it_leads_a_small_pair_to_a_partner_with_two() -> None:
    hand = "C3 S6 D6 S9 D9 C9 CK DK SJ DJ CQ HQ C5 D5"
    kind, rank = does([hand, MANY, "HK SK", OTHERS])
    assert (kind, rank) in {("Pair", "5"), ("Pair", "6")}


def test_it_does_not_beat_a_strong_play_of_the_partner() -> None:
    hand = "S7 HR S9 D9 S5 D5 SQ"
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "A", ["SA"]), holder=2) == A_PASS
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "A", ["SA"]), holder=3) == ("Single", "R")


def test_it_follows_with_a_single_of_its_own_rather_than_break_a_pair() -> None:
    hand = "S7 D7 S9 D9 CT SJ DJ"
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "6", ["H6"])) == ("Single", "T")


def test_it_does_not_take_a_tube_apart() -> None:
    hand = "S6 D6 S7 D7 S8 C8 ST HT C3"
    beat = ("Pair", "5", ["H5", "C5"])
    assert does([hand, MANY, OTHERS, MORE], beat=beat) == ("Pair", "T")


@pytest.mark.parametrize("level", ["2", "9", "A"])
def test_it_spares_its_straight_flush(level: str) -> None:
    """Of two equal cards it plays the one that is not in it."""
    hand = "S3 S4 S5 S6 S7 D7 DK CK"
    states = table([hand, MANY, OTHERS, "H6 D6 H8 D8 HK C4 C3"], level, beat=("Single", "6", ["H6"]))
    ((_, _, cards),) = chosen(PlannerBot(), states)
    assert cards == ["D7"]


def drawn_table(rng: np.random.Generator) -> States:
    """A late position, `[1]`: seat 0, whose cards are of few ranks and suits, leads or follows a move of another."""
    first, suits = int(rng.integers(9) * rng.integers(2)), rng.choice(4, 2, replace=False)
    joined = [i for i in range(108) if i // 8 - first in range(5) and i // 2 % 4 in suits] + [104, 105, 106, 107]
    mine = rng.permutation(joined)[: rng.integers(1, 9)]
    rest = rng.permutation(np.setdiff1d(np.arange(108), mine))
    sizes = rng.integers(0, 6, 3)
    sizes[[0, 2][int(rng.integers(2))]] += 1  # an opponent has cards
    ends = np.cumsum(sizes)
    others = [rest[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    hands = [" ".join(CARDS[i // 2] for i in cards) for cards in (mine, *others)]
    level, beat = str(rng.choice(list("26TA"))), None
    if rng.random() < 0.5:
        some = " ".join(CARDS[i // 2] for i in rest[ends[-1] : ends[-1] + 12])
        moves = GuanDan().choices(table([some, "", "", ""], level)).rows
        beat = notation(rng.choice(moves[moves["kind"] == rng.choice(np.unique(moves["kind"]))]))
    return table(hands, level, beat=beat, holder=int(rng.integers(1, 4)))


class Judge:
    """The scores of `weighing`, from the true hands and the tables of a view."""

    def __init__(self, state: np.record) -> None:
        self.state, self.level, self.left = state, int(state.level), state.left.astype(int).tolist()
        self.view, self.desk = new_view(), new_desk()
        look(self.view, state, 0, Strengths(), MANNERS)
        self.unseen = Counter(
            int(rank_value(RANKS.index(card[1:]) if card not in JOKERS else 13 + JOKERS.index(card), self.level))
            for seat in (1, 2, 3)
            for card in unpack(state.low[seat], state.high[seat])
        )
        self.urgency = 1.5 * sum(self.closeness(seat) for seat in (1, 3))

    def closeness(self, seat: int) -> float:
        return max(0.0, 1 - self.left[seat] / 13.5) if self.left[seat] else 0.0

    def place(self, kind: int, rank: int, size: int) -> tuple[int, int]:
        columns = {STRAIGHT: 11, THREE_PAIR: 12, TWO_TRIPS: 13, THREE_WITH_TWO: 14, STRAIGHT_FLUSH: 15}
        if kind == FOUR_KINGS:
            return 14, 4
        if kind in (STRAIGHT, THREE_PAIR, TWO_TRIPS, STRAIGHT_FLUSH):
            return (rank + 1) % 13, columns[kind]
        return int(rank_value(rank, self.level)), columns.get(kind, size)

    def going(self, seat: int, size: int, place: tuple[int, int]) -> float:
        if self.left[seat] != size:
            return 0.0
        if size > 3:
            return float(0.35 * (1 - self.view.win[place]))
        ways = {value: math.comb(count, size) for value, count in self.unseen.items()}
        above = sum(number for value, number in ways.items() if value > place[0])
        return (1.0 if size == 1 else 0.45) * above / max(1, sum(ways.values()))

    def price_after(self, row: np.void) -> float:
        low, high = self.state.low[0] - row["low"], self.state.high[0] - row["high"]
        return float(split(self.desk, low, high, self.level, self.view.price))

    def saves_its_price_at_most(self, row: np.void) -> bool:
        if row["size"] == 0:
            return True
        low, high = self.state.low[0], self.state.high[0]
        price = self.view.price[self.place(int(row["kind"]), int(row["rank"]), int(row["size"]))]
        return bool(split(self.desk, low, high, self.level, self.view.price) - self.price_after(row) <= price + 1e-9)

    def score(self, row: np.void) -> float:
        kind, rank, size = int(row["kind"]), int(row["rank"]), int(row["size"])
        after = self.price_after(row)
        if kind == PASS:
            return self._score_pass(after)
        if size == self.left[0]:
            return 1000.0
        place = self.place(kind, rank, size)
        found = (0.42 + 0.4 * max(0.0, 1.6 - after) + self.urgency) * self.view.win[place] - after
        if kind in BOMBS:
            return float(found - 0.55 * max(0.0, 1 - self.urgency))
        found -= 4.5 * (self.going(1, size, place) + self.going(3, size, place))
        return float(found + (2.0 * self.going(2, size, place) if self.state.beat_kind == PASS else 0.0))

    def _score_pass(self, price: float) -> float:
        state = self.state
        if state.holder != 2:
            return -price + (0.3 * self.urgency if state.holder == 3 and self.left[2] else 0.0)
        kind, size = int(state.beat_kind), int(state.beat_size)
        place = self.place(kind, int(state.beat_rank), size)
        reach = 1.2 + self.closeness(2) if self.left[2] else 0.42 + 0.4 * max(0.0, 1.6 - price)
        danger = 0.0 if kind in BOMBS else 4.5 * self.going(1, size, place)
        return float((reach + self.urgency) * self.view.win[place] - price - danger)


def test_it_plays_what_scores_best_by_another_computation() -> None:
    """Of all candidates, or of a leader the plan and, while a seat has one or two cards, singles and pairs."""
    rng, bot, game = np.random.default_rng(11), PlannerBot(), GuanDan()
    bot.begin(game, 1, rng)
    led = followed = passed = few = whole = 0
    for _ in range(800):
        states = drawn_table(rng)
        (state,) = states.view(np.recarray)
        judge, rows = Judge(state), game.candidates(states).rows
        if state.beat_kind == PASS:
            price, plan = judge.view.price, np.zeros(MOST_PLAYS, action_dtype)
            cards = state.low[0], state.high[0], judge.level, price
            split(judge.desk, *cards)
            planned = plan[: write_split(judge.desk, *cards, plan)]
            close = any(0 < left < 3 for left in judge.left[1:])
            short = rows[np.isin(rows["kind"], (SINGLE, PAIR)) & close]
            rows, led, few = np.concatenate([planned, short]), led + 1, few + close
        action = bot.act(states, np.zeros(1, np.int64), rng)[0]
        scores = np.array([judge.score(row) for row in rows])
        for row, wanted in zip(rows, scores, strict=True):
            after, given = judge.price_after(row), (judge.view, state, 0, MANNERS)
            found = score_pass(*given, after) if row["kind"] == PASS else score_play(*given, row, after)
            assert found == pytest.approx(wanted, abs=1e-9), (notation(row), states)
        # It passes over a part of a group whose cards cost less apart, as a pair of jokers may.
        expected = [judge.saves_its_price_at_most(row) for row in rows]
        assert scores[expected].max() - 1e-6 <= judge.score(action) <= scores.max() + 1e-6, (notation(action), states)
        whole += all(expected)
        if state.beat_kind == PASS:
            assert {notation(action)[:2]} <= {notation(row)[:2] for row in rows}
        elif action["kind"] == PASS:
            passed += 1
        else:
            followed += 1
    assert min(led, followed, passed, few) > 40
    assert whole > 600


def test_it_chooses_tributes_by_their_heuristic() -> None:
    game, bot, rng = GuanDan(), PlannerBot(), np.random.default_rng(0)
    states = game.start(np.arange(60, dtype=np.uint64))
    bot.begin(game, len(states), rng)
    due, legal = game.scripted(states), game.legal(states)
    assert 20 < due.sum() < 60
    actions = bot.act(states, np.arange(len(states)), rng)
    assert (actions[due] == legal.rows[tribute_choice(states, legal)[due]]).all()
    assert (actions["kind"][~due] < TRIBUTE).all()
