"""Candidates stand for all choices of GuanDan, and spare straight flushes."""

from collections import Counter
from typing import Any

import numpy as np

from envs.capabilities import Candidates
from envs.game import Ragged, States
from envs.guandan import GuanDan
from envs.guandan.inputs.candidates import MOST_CANDIDATES
from envs.guandan.rules.cards import KINDS, card_bit, pack, unpack
from envs.guandan.rules.state import PLAY

GAME = GuanDan()
Mark = tuple[int, int, int, tuple[tuple[str, int], ...]]


def mark(row: np.void, level: int) -> Mark:
    """Kind, rank, number of wild cards and ranks of an action."""
    names = unpack(row["low"], row["high"])
    wild = sum(name == f"H{'23456789TJQKA'[level]}" for name in names)
    return int(row["kind"]), int(row["rank"]), wild, tuple(sorted(Counter(name[1:] for name in names).items()))


def of_table(ragged: Ragged, b: int) -> Any:
    return ragged.rows[ragged.offsets[b] : ragged.offsets[b + 1]]


def test_every_choice_has_one_candidate() -> None:
    rng = np.random.default_rng(1)
    states = GAME.reset(3, rng)
    fewer = total = 0
    while len(states):
        choices, candidates = GAME.choices(states), GAME.candidates(states)
        for b in range(len(states)):
            listed, kept = of_table(choices, b), of_table(candidates, b)
            if states[b]["phase"] != PLAY or len(listed) < 3:
                assert (listed == kept).all()
                continue
            assert np.isin(kept, listed).all()
            level = int(states[b]["level"])
            marks = Counter(mark(row, level) for row in kept)
            assert set(marks) == {mark(row, level) for row in listed}
            assert all(n == 1 for each, n in marks.items() if KINDS[each[0]] != "StraightFlush")
            flushes = [
                {row.tobytes() for row in rows if KINDS[row["kind"]] == "StraightFlush"} for rows in (listed, kept)
            ]
            assert flushes[0] == flushes[1]
            fewer, total = fewer + len(kept), total + len(listed)
        picked = candidates.offsets[:-1] + (rng.random(len(states)) * np.diff(candidates.offsets)).astype(int)
        GAME.step(states, candidates.rows[picked])
        states = states[~GAME.finished(states)]
    assert fewer < 0.5 * total


def dealt(hand: list[str]) -> States:
    """A table whose leader, at level 2, has only these cards."""
    states = GuanDan(situation="first").start(np.zeros(1, np.uint64))
    seat = int(states["to_move"][0])
    states["low"][0, seat], states["high"][0, seat] = pack(hand)
    states["left"][0, seat] = len(hand)
    return states


def test_a_candidate_spares_the_straight_flush_of_the_plan() -> None:
    states = dealt(["S3", "S4", "S5", "S6", "S7", "H5", "C5", "D5", "C9"])
    rows = GAME.candidates(states).rows
    singles = [unpack(row["low"], row["high"]) for row in rows if KINDS[row["kind"]] == "Single" and row["rank"] == 3]
    assert len(singles) == 1
    assert singles[0] != ["S5"]
    assert ["S3", "S4", "S5", "S6", "S7"] in [unpack(row["low"], row["high"]) for row in rows]


def test_a_game_without_tables_and_one_that_has_ended_have_no_candidates() -> None:
    assert isinstance(GAME, Candidates)
    states = GAME.reset(2, np.random.default_rng(0))
    assert len(GAME.candidates(states[:0]).rows) == 0
    states["to_move"][0] = -1
    candidates = GAME.candidates(states)
    assert candidates.offsets[1] == 0
    assert len(candidates.rows) == candidates.offsets[2] > 0


def test_there_is_room_for_the_candidates_of_large_hands() -> None:
    """The most candidates of hands that allow the most plays: two wild cards, and two of each of many cards."""
    rng = np.random.default_rng(2)
    most = 0
    for _ in range(150):
        pool = [i for i in range(54) for _ in range(2)]
        weights = np.where(np.arange(108) % 8 < rng.integers(3, 8), 1.0, 0.15)
        cards = rng.choice(108, 27, replace=False, p=weights / weights.sum())
        low = high = 0
        for i in cards:
            bit = card_bit(pool[i])
            low, high = low + bit[0], high + bit[1]
        states = dealt(unpack(low, high))
        most = max(most, len(GAME.candidates(states).rows))
    assert 300 < most < MOST_CANDIDATES / 2
