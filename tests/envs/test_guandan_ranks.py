"""The encoding by ranks agrees with the cards, the state and the action, counted here in another way."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.capabilities import RelativeActions
from envs.game import Packed, Ragged, States
from envs.guandan import GuanDan
from envs.guandan.inputs import ranks
from envs.guandan.inputs.observation import INPUTS
from envs.guandan.rules.cards import PASS
from envs.guandan.rules.comparison import value_of
from envs.guandan.rules.state import GIVE_BACK, PAY
from envs.sparse import dense

GAME = GuanDan()
Position = tuple[States, Packed, Ragged]


def positions(tables: int, seed: int) -> Iterator[Position]:
    """All positions of rounds of random play, with tributes."""
    rng = np.random.default_rng(seed)
    states = GAME.reset(tables, rng)
    while len(states):
        choices = GAME.choices(states)
        yield states, GAME.observe(states, GAME.to_move(states)), choices
        picked = choices.offsets[:-1] + (rng.random(len(states)) * np.diff(choices.offsets)).astype(int)
        GAME.step(states, choices.rows[picked])
        states = states[~GAME.finished(states)]


def thermometers(cards: NDArray[np.float32], level: int) -> tuple[NDArray[np.float64], int]:
    """The counts of a card vector `[54]` by place, and the number of wild cards."""
    wild = int(cards[4 * level])
    counts = [int(cards[4 * rank : 4 * rank + 4].sum()) for rank in range(13)]
    counts[level] -= wild
    ordered = [counts[rank] for rank in range(13) if rank != level] + [counts[level]]
    parts = [[count > i for i in range(6)] for count in ordered]
    parts += [[cards[52 + joker] > i for i in range(2)] for joker in range(2)]
    return np.concatenate(parts).astype(float), wild


def vectors(packed: Packed, choices: Ragged) -> NDArray[np.float32]:
    out = np.zeros((len(choices.rows), GAME.spec.action_inputs("ranks")), np.float32)
    dense(*GAME.encode_choices(packed, choices.offsets, choices.rows, "ranks"), out)
    return out


def cards_of(choices: Ragged) -> NDArray[np.float32]:
    out = np.zeros((len(choices.rows), 54), np.float32)
    dense(*GAME.encode_actions(choices.rows), out)
    return out


def test_inputs_of_infostates() -> None:
    seen = {"holders": set(), "phases": set(), "wild": set()}
    for states, packed, _ in positions(12, seed=1):
        x, paper = GAME.encode(packed, "ranks"), GAME.encode(packed, "flat")
        np.testing.assert_array_equal(x[:, :INPUTS], paper)
        movers = GAME.to_move(states)
        for b, state in enumerate(states):
            level, kind = int(state["level"]), int(state["beat_kind"])
            rest, wilds = x[b, INPUTS:], []
            for part, first in enumerate((0, 66, 120)):  # hand, other hands, move to beat in the paper's vector
                expected, wild = thermometers(paper[b, first : first + 54], level)
                np.testing.assert_array_equal(rest[82 * part : 82 * part + 82], expected)
                wilds += [wild > 0, wild > 1]
            rest = rest[246:]
            holder = (int(state["holder"]) - int(movers[b])) % 4 if kind != PASS else 0
            phase = int(state["phase"])
            assert np.flatnonzero(rest[:13]).tolist() == [kind]
            value = value_of(kind, int(state["beat_rank"]), level)
            assert np.flatnonzero(rest[13:29]).tolist() == ([] if kind == PASS else [value])
            assert np.flatnonzero(rest[29:32]).tolist() == ([] if kind == PASS else [holder - 1])
            np.testing.assert_array_equal(rest[32:38], wilds)
            np.testing.assert_array_equal(rest[38:], [phase == PAY, phase == GIVE_BACK])
            seen["holders"].add(holder)
            seen["phases"].add(phase)
            seen["wild"].add(tuple(wilds))
    assert seen["holders"] == {0, 1, 2, 3}
    assert seen["phases"] == {0, PAY, GIVE_BACK}
    assert len(seen["wild"]) > 4


def test_inputs_of_actions() -> None:
    compared = going_out = 0
    for states, packed, choices in positions(6, seed=2):
        found, cards, hands = vectors(packed, choices), cards_of(choices), GAME.encode(packed, "flat")[:, :54]
        np.testing.assert_array_equal(found[:, :54], cards)
        for b, state in enumerate(states):
            level = int(state["level"])
            for n in range(choices.offsets[b], choices.offsets[b + 1]):
                row, rest = choices.rows[n], found[n, 54:]
                assert np.flatnonzero(rest[:13]).tolist() == [row["kind"]]
                value = value_of(int(row["kind"]), int(row["rank"]), level)
                assert np.flatnonzero(rest[13:29]).tolist() == [value]
                assert np.flatnonzero(rest[29:40]).tolist() == [row["size"]]
                before, _ = thermometers(hands[b], level)
                after, _ = thermometers(hands[b] - cards[n], level)
                wild = cards[n, 4 * level]
                np.testing.assert_array_equal(rest[40:42], [wild > 0, wild > 1])
                if hands[b].sum() < 28:  # the receiver of a tribute has one more
                    assert rest[42] == (cards[n].sum() == hands[b].sum())
                np.testing.assert_array_equal(rest[43:], before - after)
                compared += 1
                going_out += int(rest[42])
    assert compared > 5000
    assert going_out > 10


def test_other_encodings_have_the_vectors_of_the_paper() -> None:
    _, packed, choices = next(positions(5, seed=3))
    for name in ("flat", "tribute"):
        found, expected = GAME.encode_choices(packed, *choices, name), GAME.encode_actions(choices.rows)
        np.testing.assert_array_equal(found.place, expected.place)
        np.testing.assert_array_equal(found.value, expected.value)
        assert GAME.spec.action_inputs(name) == 54
    assert isinstance(GAME, RelativeActions)
    assert GAME.spec.action_inputs("ranks") == 54 + ranks.ACTION_INPUTS


def test_lists_that_do_not_fit_are_refused() -> None:
    _, packed, choices = next(positions(5, seed=3))
    with pytest.raises(ValueError, match="do not divide"):
        GAME.encode_choices(packed[:4], choices.offsets, choices.rows, "ranks")
