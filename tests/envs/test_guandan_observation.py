"""The observations of a seat of GuanDan, against plain Python."""

import numpy as np
import pytest

from envs.guandan import GuanDan
from envs.guandan.inputs.observation import FLAGS, INPUTS, wild_flags
from envs.guandan.rules.cards import (
    BOMB,
    CARDS,
    PAIR,
    PASS,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
    action_dtype,
    count_of,
    pack,
    unpack,
)
from envs.guandan.rules.generation import LONGEST, plays
from envs.ragged import choose_rows

GAME = GuanDan(length="match", situation="first")


def vector(cards: list[str]) -> np.ndarray:
    return np.array([cards.count(card) for card in CARDS], np.float32)


def one_hot(place: int, size: int) -> np.ndarray:
    return np.eye(size, dtype=np.float32)[place]


def expected(table: np.void, me: int) -> list[np.ndarray]:
    """The inputs of one seat, part by part, without the wild flags."""
    others = [(me + k) % 4 for k in (1, 2, 3)]
    partner = (me + 2) % 4
    played = [unpack(table["played_low"][s], table["played_high"][s]) for s in range(4)]
    hand = unpack(table["low"][me], table["high"][me])
    unseen = [c for s in others for c in unpack(table["low"][s], table["high"][s])]
    last = unpack(table["last_low"][partner], table["last_high"][partner])
    out = table["left"][partner] == 0
    return [
        vector(hand),
        vector(unseen),
        vector(unpack(table["beat_low"], table["beat_high"])),
        np.full(54, -1, np.float32) if out else vector(last),
        *(vector(played[s]) for s in others),
        *(one_hot(min(table["left"][s], 27), 28) for s in others),
        one_hot(table["levels"][me % 2], 13),
        one_hot(table["levels"][1 - me % 2], 13),
        one_hot(table["level"], 13),
    ]


def positions(count: int, seed: int):
    """Tables at random moments of random matches."""
    rng = np.random.default_rng(seed)
    states = GAME.reset(24, rng)
    for _ in range(count):
        for _ in range(7):
            legal = GAME.legal(states)
            GAME.step(states, legal.rows[choose_rows(legal.offsets, rng.random(len(states)))])
            states = states[~GAME.finished(states)]
        yield states


def test_all_inputs_but_the_flags_are_what_the_table_says():
    seen_out = 0
    for states in positions(40, seed=1):
        for me in range(4):
            packed = GAME.observe(states, np.full(len(states), me, np.int8))
            features = GAME.encode(packed, "no_wild_flags")
            assert features.shape == (len(states), INPUTS - FLAGS)
            for b in range(0, len(states), 5):
                assert np.array_equal(features[b], np.concatenate(expected(states[b], me)))
                seen_out += states["left"][b, (me + 2) % 4] == 0
            whole = GAME.encode(packed)
            assert np.array_equal(np.delete(whole, np.s_[54 : 54 + FLAGS], axis=1), features)
    assert seen_out > 20


@pytest.mark.parametrize("seed", range(4))
def test_each_flag_tells_whether_an_action_of_its_kind_uses_a_wild_card(seed):
    rng = np.random.default_rng(seed)
    rows = np.empty(LONGEST, action_dtype)
    raised = np.zeros(FLAGS, np.int64)
    for _ in range(250):
        level, count = int(rng.integers(13)), int(rng.integers(2, 28))
        deck = np.repeat(np.arange(54), 2)
        weight = np.where(deck == 4 * level, 8.0, 1.0)
        picked = rng.choice(deck, count, replace=False, p=weight / weight.sum())
        if rng.random() < 0.5:  # many equal cards
            few = rng.permutation(13)[:3]
            near = deck[np.isin(deck // 4, few) | (deck == 4 * level)]
            picked = rng.permutation(near)[:count]
        low, high = (np.uint64(w) for w in pack([CARDS[i] for i in picked]))
        n = plays(low, high, level, PASS, 0, 0, rows, 0)
        wild = [row for row in rows[:n] if count_of(row["low"], row["high"], 4 * level) > 0]
        bombs = [int(row["size"]) for row in wild if row["kind"] == BOMB]
        wanted = [len(wild) > 0, 4 in bombs, 5 in bombs, 6 in bombs, any(size >= 7 for size in bombs)]
        kinds = {int(row["kind"]) for row in wild}
        wanted += [k in kinds for k in (STRAIGHT_FLUSH, STRAIGHT, THREE_PAIR, TWO_TRIPS, THREE_WITH_TWO, TRIPS, PAIR)]
        flags = wild_flags(low, high, level)
        assert [bool(flags >> i & 1) for i in range(FLAGS)] == wanted, unpack(low, high)
        raised += wanted
    assert (raised > 0).all()


def test_vectors_of_actions_hold_their_cards():
    states = next(positions(1, seed=4))
    rows = GAME.legal(states).rows[::7]
    place, value = GAME.encode_actions(rows)
    dense = np.zeros((len(rows), 54), np.float32)
    np.add.at(dense, (np.arange(len(rows))[:, None], place), value)
    for row, found in zip(rows, dense, strict=True):
        assert np.array_equal(found, vector(unpack(row["low"], row["high"])))
    assert place.shape[1] % 4 == 0


def test_the_phase_is_told_only_where_tributes_are_learnt():
    game = GuanDan(situation="drawn")
    states = game.start(np.arange(200, dtype=np.uint64))
    mover = game.to_move(states)
    told = game.encode(game.observe(states, mover), "tribute")
    assert told.shape[1] == INPUTS + 2
    assert np.array_equal(told[:, INPUTS] == 1, states["phase"] == 1)
    assert (told[:, INPUTS] == 1).sum() > 50
    other = game.encode(game.observe(states, (mover + 1) % 4), "tribute")
    assert not other[:, INPUTS:].any()
    assert game.encode(game.observe(states, mover), "tribute_no_wild_flags").shape[1] == INPUTS + 2 - FLAGS
    with pytest.raises(ValueError, match="no_wild_flags"):
        game.encode(game.observe(states, mover), "planes")
