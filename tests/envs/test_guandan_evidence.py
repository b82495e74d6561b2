"""Certain knowledge of a seat of GuanDan about the other hands, and the inputs of a belief, card by card."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.beliefs.evidence import observe
from envs.guandan.rules.cards import CARDS, PASS, RANKS, pack, unpack
from envs.guandan.rules.comparison import value_of
from envs.guandan.rules.shown import LEADS, PASSED, PASSES
from envs.guandan.rules.state import GIVE_BACK, PAY, PLAY
from envs.ragged import choose_rows

GAME = GuanDan()
RED = 15


def place(card: str, level: str) -> int:
    """Ranks other than the level, the level, its wild cards, and the jokers."""
    if card in ("SB", "HR"):
        return 14 if card == "SB" else RED
    if card[1] == level:
        return 13 if card[0] == "H" else 12
    return RANKS.replace(level, "").index(card[1])


def by_place(cards: Sequence[str] | Counter[str], level: str) -> NDArray[np.int64]:
    counts = np.zeros(16, np.int64)
    for card, number in Counter(cards).items():
        counts[place(card, level)] += number
    return counts


def one_hot(index: int, size: int) -> NDArray[np.int64]:
    return (np.arange(size) == index).astype(np.int64)


class Onlooker:
    """A seat's knowledge of the other hands, from public plays and its own hand."""

    def __init__(self, state: np.record, me: int) -> None:
        self.state, self.me, self.level = state, me, RANKS[int(state.level)]
        self.played = [Counter(unpack(state.played_low[seat], state.played_high[seat])) for seat in range(4)]
        self.own = Counter(unpack(state.low[me], state.high[me]))
        self.unseen = Counter(2 * list(CARDS)) - self.own
        for played in self.played:
            self.unseen -= played
        self.held: list[Counter[str]] = [Counter() for _ in range(4)]
        self.barred = [np.zeros(16, np.bool_) for _ in range(4)]
        self.returned = [np.zeros(16, np.int64) for _ in range(4)]
        for i in range(int(state.tributes)):
            self._note_tribute(i)
        if state.refused:
            self._note_refusal()
        self.held = [held - played for held, played in zip(self.held, self.played, strict=True)]

    def _note_tribute(self, i: int) -> None:
        state, payer, receiver = self.state, int(self.state.payer[i]), int(self.state.receiver[i])
        if state.phase == PAY and i >= state.settled:
            return
        paid = CARDS[state.paid[i]]
        self.held[payer if state.phase == PAY else receiver][paid] += 1
        above = np.arange(16) > place(paid, self.level)
        above[13] = False
        above[RED] = True  # a payer of less holds none, and one of a red joker no other, since two are refused
        self.barred[payer] = above
        if state.phase == PLAY or (state.phase == GIVE_BACK and i < state.settled):
            self.held[payer][CARDS[state.back[i]]] += 1
            self.returned[receiver] = one_hot(place(CARDS[state.back[i]], self.level), 16)

    def _note_refusal(self) -> None:
        first, second, third, last = self.state.former.tolist()
        if first % 2 != second % 2:
            self.held[last]["HR"] = 2
        elif self.me in (third, last):
            self.held[third + last - self.me]["HR"] = 2 - self.own["HR"] - self.played[self.me]["HR"]
        else:
            self.barred[(self.me + 2) % 4][RED] = True

    def others(self) -> list[int]:
        return [(self.me + i) % 4 for i in (1, 2, 3)]

    def known(self) -> NDArray[np.int64]:
        return np.array([by_place(self.held[seat], self.level) for seat in self.others()])

    def free(self) -> NDArray[np.int64]:
        return by_place(self.unseen, self.level) - self.known().sum(axis=0)

    def seat_inputs(self, seat: int) -> NDArray[np.int64]:
        shown, level = self.state.shown[seat].astype(np.int64), self.level
        uses = np.zeros((15, 6), np.int64)
        for rank in range(15):
            at = place("S" + RANKS[rank], level) if rank < 13 else rank
            uses[at] = shown[rank] >> np.arange(6) & 1
        passed = [np.arange(16) >= lowest - 1 if lowest else np.zeros(16) for lowest in shown[PASSED:PASSES]]
        held, unseen = by_place(self.held[seat], level), by_place(self.unseen, level)
        parts = [one_hot((seat - self.me) % 4 - 1, 3), one_hot(int(self.state.left[seat]), 29), uses.ravel()]
        parts += [by_place(self.played[seat], level), *passed, np.minimum(shown[PASSES:], 15)]
        return np.concatenate([*parts, held, (unseen > held) & ~self.barred[seat], self.returned[seat]]).astype(int)

    def table_inputs(self) -> NDArray[np.int64]:
        state, kind = self.state, int(self.state.beat_kind)
        value = int(value_of(kind, int(state.beat_rank), int(state.level)))
        unseen = (np.arange(8) < by_place(self.unseen, self.level)[:, None]).ravel()
        parts = [unseen, one_hot(int(state.left[self.me]), 29), one_hot(kind, 13)]
        parts += [one_hot(value, 16) * (kind != PASS), one_hot((state.holder - self.me) % 4, 4) * (kind != PASS)]
        return np.concatenate([*parts, one_hot((state.to_move - self.me) % 4, 4)]).astype(int)


def assert_agrees(states: States, players: NDArray[np.int64]) -> None:
    by_seat, by_table, known = observe(states, players)
    for b, state in enumerate(states.view(np.recarray)):
        seen = Onlooker(state, int(players[b]))
        others, free = seen.others(), seen.free()
        assert (known.known[b] == seen.known()).all()
        assert (known.free[b] == free).all()
        assert (known.room[b] == state.left[others] - seen.known().sum(axis=1)).all()
        barred = np.array([seen.barred[seat] for seat in others])
        most = np.minimum(known.most[b].astype(int) - known.known[b], free)
        assert (most == np.where(barred, 0, free)).all()
        assert [(int(a), int(c)) for a, c in zip(known.low[b], known.high[b], strict=True)] == [
            pack(sorted(seen.held[seat].elements())) for seat in others
        ]
        assert (by_seat[b] == [seen.seat_inputs(seat) for seat in others]).all()
        assert (by_table[b] == seen.table_inputs()).all()


@pytest.mark.parametrize("rule", ["by_card", "by_seat"])
def test_knowledge_and_inputs_agree_with_a_count_of_cards(rule: str) -> None:
    """Of all seats, not only of the mover, in rounds with tributes and with refused ones."""
    game, rng = GuanDan(double_tribute=rule), np.random.default_rng(12)
    states = game.reset(256, rng)
    refused = np.flatnonzero(states["refused"])[:12]
    assert len(refused) == 12
    states = states[np.concatenate([refused, np.setdiff1d(np.arange(256), refused)[:16]])]
    step = 0
    while len(states):
        if step < 6 or step % 9 == 0:
            assert_agrees(states, rng.integers(0, 4, len(states)))
        legal = game.legal(states)
        game.step(states, legal.rows[choose_rows(legal.offsets, rng.random(len(states)))])
        states, step = states[~game.finished(states)], step + 1
    assert step > 50


def test_a_seat_that_has_passed_is_seen_to_have_passed() -> None:
    """In four positions, few enough for a run without the compiler."""
    rng = np.random.default_rng(13)
    states = GAME.reset(1, rng)
    passes = 0
    for _ in range(60):
        legal = GAME.legal(states)
        GAME.step(states, legal.rows[choose_rows(legal.offsets, rng.random(1))])
        if (states["shown"][0, :, PASSES:LEADS] > 0).any() and passes < 4:
            assert_agrees(states, rng.integers(0, 4, 1))
            passes += 1
    assert passes == 4
