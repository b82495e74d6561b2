"""The certain knowledge of a seat about the cards in the other hands of a round.

Cards are counted by *place*: `inputs.ranks.place_of` for the twelve ranks and the level without its wild cards, then
the wild cards, black and red jokers. The others are the next seat, the partner and the previous seat.

A tribute and the card given back for it are public, so their takers hold them until they play such a card; and a payer,
who pays the highest card that is not wild, holds none above it. Payers that refuse to pay hold both red jokers, so one
that pays a red joker has no other.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States
from envs.guandan.inputs.prospects import unseen_cards
from envs.guandan.inputs.ranks import place_of
from envs.guandan.rules.cards import card_words, count_of
from envs.guandan.rules.state import GIVE_BACK, PAY, PLAY, SEATS

PLACES, OTHERS, MOST = 16, 3, 8
WILD, BLACK, RED = 13, 14, 15
"""The last three places; `MOST` is the largest number of cards of a place."""
_RED_JOKER = 53


class Knowledge(NamedTuple):
    """The knowledge of `B` seats about the three other hands, by place.

    Attributes:
        free: Unseen cards whose holder is not known, `uint8[B, 16]`.
        room: Cards of each hand that are not known, `uint8[B, 3]`.
        known: Cards that a hand is known to hold, `uint8[B, 3, 16]`.
        most: Bound on the cards of a place in a hand, known ones included, `uint8[B, 3, 16]`. It does not count the
            known cards of the other hands: a hand also holds at most `known` plus `free`.
        low, high: The known cards one by one, `uint64[B, 3]`.
    """

    free: NDArray[np.uint8]
    room: NDArray[np.uint8]
    known: NDArray[np.uint8]
    most: NDArray[np.uint8]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]


def new_knowledge(batch: int) -> Knowledge:
    """Uninitialised arrays for `batch` seats."""
    by_hand, words = np.empty((batch, OTHERS, PLACES), np.uint8), np.empty((batch, OTHERS), np.uint64)
    free, room = np.empty((batch, PLACES), np.uint8), np.empty((batch, OTHERS), np.uint8)
    return Knowledge(free, room, by_hand, by_hand.copy(), words, words.copy())


@kernel
def place_of_card(index, level):
    """Returns the place of the card with an index."""
    if index >= 52:
        return np.int64(index) - 52 + BLACK
    return np.int64(WILD) if index == 4 * level else place_of(index // 4, level)


@kernel
def count_places(low, high, level, out):
    """Counts the cards of a multiset by place, into `out`, `[16]`."""
    out[:] = 0
    for index in range(54):
        out[place_of_card(index, level)] += count_of(low, high, index)


@kernel
def learn(states, players, knowledge):
    """Writes the knowledge of `players`, `int64[B]`, at their tables."""
    for b in range(states.shape[0]):
        state, me, level = states[b], np.int64(players[b]), np.int64(states[b].level)
        low, high = unseen_cards(state, me)
        free, known = knowledge.free[b], knowledge.known[b]
        count_places(low, high, level, free)
        known[:] = 0
        for i in range(OTHERS):
            knowledge.most[b, i] = free
            knowledge.low[b, i] = knowledge.high[b, i] = np.uint64(0)
        _note_tributes(state, me, level, knowledge, b)
        if state.refused > 0:
            _note_red_jokers(state, me, knowledge, b)
        for i in range(OTHERS):
            knowledge.room[b, i] = state.left[(me + 1 + i) % SEATS]
            for place in range(PLACES):
                free[place] -= known[i, place]
                knowledge.room[b, i] -= known[i, place]


@kernel
def _note_tributes(state, me, level, knowledge, b):
    for i in range(np.int64(state.tributes)):
        payer, paid = np.int64(state.payer[i]), np.int64(state.paid[i])
        if state.phase == PAY and state.settled <= i:
            continue
        _hold(state, payer if state.phase == PAY else np.int64(state.receiver[i]), me, paid, 1, knowledge, b)
        if state.phase == PLAY or (state.phase == GIVE_BACK and state.settled > i):
            _hold(state, payer, me, np.int64(state.back[i]), 1, knowledge, b)
        other = (payer - me + OTHERS) % SEATS
        if other < OTHERS:
            # A payer with both red jokers would have refused, so a red joker that is paid bars the other one too.
            for place in range(min(place_of_card(paid, level) + 1, RED), PLACES):
                if place != WILD:
                    knowledge.most[b, other, place] = knowledge.known[b, other, place]


@kernel
def _hold(state, seat, me, index, count, knowledge, b):
    """Notes that a seat had `count` of a card, of which it still holds all that it has not played.

    The view of a client that has missed plays may contradict that; then nothing is noted.
    """
    other = (seat - me + OTHERS) % SEATS
    held = count - count_of(state.played_low[seat], state.played_high[seat], index)
    if other == OTHERS or held <= 0:
        return
    low, high = unseen_cards(state, me)
    space = np.int64(state.left[seat]) - knowledge.known[b, other].sum()
    for i in range(OTHERS):
        low -= knowledge.low[b, i]
        high -= knowledge.high[b, i]
    if held > space or held > count_of(low, high, index):
        return
    low, high = card_words(index)
    knowledge.low[b, other] += np.uint64(held) * low
    knowledge.high[b, other] += np.uint64(held) * high
    knowledge.known[b, other, place_of_card(index, np.int64(state.level))] += held


@kernel
def _note_red_jokers(state, me, knowledge, b):
    """Notes that the payers together hold both red jokers, and the other seats none."""
    last, third = np.int64(state.former[3]), np.int64(state.former[2])
    if state.former[0] % 2 != state.former[1] % 2:
        _hold(state, last, me, _RED_JOKER, 2, knowledge, b)
    elif me in (last, third):
        mine = count_of(state.low[me] + state.played_low[me], state.high[me] + state.played_high[me], _RED_JOKER)
        _hold(state, last + third - me, me, _RED_JOKER, 2 - mine, knowledge, b)
    else:
        knowledge.most[b, 1, RED] = 0


def hands_by_place(states: States, players: NDArray[np.integer]) -> NDArray[np.uint8]:
    """The true hands of the three others of each player, which it cannot see, by place, `uint8[B, 3, 16]`."""
    hands = np.empty((len(states), OTHERS, PLACES), np.uint8)
    _count_hands(states, np.ascontiguousarray(players, np.int64), hands)
    return hands


@kernel
def _count_hands(states, players, hands):
    for b in range(states.shape[0]):
        state = states[b]
        for i in range(OTHERS):
            seat = (players[b] + 1 + i) % SEATS
            count_places(state.low[seat], state.high[seat], np.int64(state.level), hands[b, i])


__all__ = [
    "MOST",
    "OTHERS",
    "PLACES",
    "RED",
    "Knowledge",
    "count_places",
    "hands_by_place",
    "learn",
    "new_knowledge",
    "place_of_card",
]
