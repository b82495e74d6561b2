"""The inputs about plans, against prices and chances computed from the whole table."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.game import Packed, Ragged, States
from envs.guandan import GuanDan
from envs.guandan.inputs import plans, ranks
from envs.guandan.inputs.observation import INPUTS
from envs.guandan.inputs.prospects import Strengths
from envs.guandan.inputs.splits import new_desk, split
from envs.guandan.inputs.weighing import Manners, goes_out, look, new_view, place_in
from envs.guandan.rules.cards import PASS
from envs.guandan.rules.state import PLAY
from envs.sparse import dense

GAME = GuanDan()
STATE = INPUTS + ranks.INPUTS
ACTION = 54 + ranks.ACTION_INPUTS


def positions(tables: int, seed: int) -> Iterator[tuple[States, Packed, Ragged]]:
    """All positions of rounds of random play of candidates, with tributes."""
    rng = np.random.default_rng(seed)
    states = GAME.reset(tables, rng)
    while len(states):
        lists = GAME.candidates(states)
        yield states, GAME.observe(states, GAME.to_move(states)), lists
        picked = lists.offsets[:-1] + (rng.random(len(states)) * np.diff(lists.offsets)).astype(int)
        GAME.step(states, lists.rows[picked])
        states = states[~GAME.finished(states)]


def vectors(packed: Packed, lists: Ragged) -> NDArray[np.float32]:
    out = np.zeros((len(lists.rows), GAME.spec.action_inputs("plans")), np.float32)
    dense(*GAME.encode_choices(packed, lists.offsets, lists.rows, "plans"), out)
    return out


def as_price(x: NDArray[np.float32]) -> float:
    """The price that a number and its ramps say, each of them checked against the other."""
    price = float(4 * x[0])
    assert x[1:] == pytest.approx(np.clip(price + 2 - np.arange(9), 0, 1), abs=1e-5)
    return price


def test_prices_and_chances_are_those_of_the_table() -> None:
    desk, view = new_desk(), new_view()
    cheapest = passes = outs = 0
    for states, packed, lists in positions(2, seed=3):
        states = states.copy()
        x, y = GAME.encode(packed, "plans")[:, STATE:], vectors(packed, lists)[:, ACTION:]
        assert x.shape[1] == plans.INPUTS
        assert y.shape[1] == plans.ACTION_INPUTS
        for b, state in enumerate(states.view(np.recarray)):
            me, level = int(state.to_move), int(state.level)
            state.left[:] = np.minimum(state.left, 27)  # as the infostate tells them
            look(view, state, me, Strengths(), Manners())
            low, high = state.low[me], state.high[me]
            whole = split(desk, low, high, level, view.price)
            assert as_price(x[b, :10]) == pytest.approx(whole, abs=1e-5)
            beat = 0.0
            if state.beat_kind != PASS:
                place = place_in(int(state.beat_kind), int(state.beat_rank), int(state.beat_size), level)
                beat = view.win[place]
            assert x[b, 10] == pytest.approx(beat, abs=1e-6)
            left = [int(state.left[(me + i) % 4]) for i in (1, 2, 3)]
            for n in range(lists.offsets[b], lists.offsets[b + 1]):
                row = lists.rows[n]
                after = split(desk, low - row["low"], high - row["high"], level, view.price)
                assert as_price(y[n, :10]) == pytest.approx(after, abs=1e-5)
                if state.phase != PLAY:
                    assert not y[n, 10:].any()
                    continue
                if row["kind"] == PASS:
                    assert y[n, 12] == pytest.approx(beat, abs=1e-6)
                    assert not y[n, 10:12].any()
                    passes += 1
                    continue
                value, column = place_in(int(row["kind"]), int(row["rank"]), int(row["size"]), level)
                beyond = after + view.price[value, column] - whole
                cheapest += abs(beyond) < 1e-9
                assert y[n, 10:12] == pytest.approx(np.clip([beyond, beyond - 1], 0, 1), abs=1e-5)
                win = view.win[value, column]
                assert y[n, 12:15] == pytest.approx([win, max(0, 2 * win - 1), max(0, 10 * win - 9)], abs=1e-5)
                bomb = 4 <= column <= 10 or column == 15
                going = [0.0 if bomb else goes_out(view, cards, int(row["size"]), value, column) for cards in left]
                assert y[n, 15:] == pytest.approx(going, abs=1e-6)
                outs += max(going) > 0.1
    assert min(cheapest, passes, outs) > 10


def test_hidden_hands_do_not_change_the_inputs() -> None:
    compared = 0
    for states, packed, lists in positions(2, seed=5):
        swapped = states.copy()
        for b, state in enumerate(states):
            me = int(state["to_move"])
            one, other = (me + 1) % 4, (me + 2) % 4
            if state["phase"] == PLAY and state["left"][one] == state["left"][other] > 0:
                for word in ("low", "high"):
                    swapped[word][b, one], swapped[word][b, other] = state[word][other], state[word][one]
                compared += 1
        again = GAME.observe(swapped, GAME.to_move(swapped))
        np.testing.assert_array_equal(GAME.encode(again, "plans"), GAME.encode(packed, "plans"))
        np.testing.assert_array_equal(vectors(again, lists), vectors(packed, lists))
    assert compared > 10


def test_the_other_inputs_are_those_by_rank() -> None:
    _, packed, lists = next(positions(6, seed=7))
    np.testing.assert_array_equal(GAME.encode(packed, "plans")[:, :STATE], GAME.encode(packed, "ranks"))
    by_rank = np.zeros((len(lists.rows), ACTION), np.float32)
    dense(*GAME.encode_choices(packed, lists.offsets, lists.rows, "ranks"), by_rank)
    np.testing.assert_array_equal(vectors(packed, lists)[:, :ACTION], by_rank)


def test_inputs_are_the_same_with_notes_taken_before() -> None:
    """Self-play computes the inputs by plans once, for its net, its critic and the learner."""
    states = GAME.reset(64, np.random.default_rng(9))
    lists, movers = GAME.choices(states), GAME.to_move(states)
    packed, hidden = GAME.observe(states, movers), GAME.observe_hidden(states, movers)
    of_states, of_choices = GAME.appraise(packed, lists.offsets, lists.rows, "plans")
    assert (of_states.shape[1], of_choices.shape[1]) == GAME.notes("plans")
    assert GAME.notes("ranks") == (0, 0)
    assert np.array_equal(GAME.encode(packed, "plans", of_states), GAME.encode(packed, "plans"))
    assert np.array_equal(GAME.encode_full(packed, hidden, of_states), GAME.encode_full(packed, hidden))
    given = GAME.encode_choices(packed, lists.offsets, lists.rows, "plans", of_choices)
    computed = GAME.encode_choices(packed, lists.offsets, lists.rows, "plans")
    assert np.array_equal(given.place, computed.place)
    assert np.array_equal(given.value, computed.value)
    with pytest.raises(ValueError, match="offsets do not divide"):
        GAME.appraise(packed, lists.offsets[:-1], lists.rows, "plans")
