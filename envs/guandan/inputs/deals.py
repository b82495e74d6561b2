"""Random deals of the cards that a player does not see.

Every deal agrees with the player's hand, the cards played and the number of cards of each seat; all of them are alike
likely.
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.inputs.prospects import unseen_cards
from envs.guandan.rules.cards import card_words, count_of
from envs.guandan.rules.state import SEATS

_MULTIPLIER, _INCREMENT = np.uint64(0xD1342543DE82EF95), np.uint64(0x9E3779B97F4A7C15)


@kernel
def following(seed):
    """Steps a generator; returns the new state, whose high bits are random."""
    return seed * _MULTIPLIER + _INCREMENT


@kernel
def unit(seed):
    """Returns a number in [0, 1) from the state of a generator."""
    return (seed >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def deal(cards, unseen, state, me, low, high, seed):
    """Deals unseen cards to the others; returns the new state of the generator."""
    for i in range(unseen - 1, 0, -1):
        seed = following(seed)
        j = np.int64((seed >> np.uint64(33)) % np.uint64(i + 1))
        kept = cards[i]
        cards[i] = cards[j]
        cards[j] = kept
    at = 0
    for step in range(1, SEATS):
        seat = (me + step) % SEATS
        low[seat], high[seat] = np.uint64(0), np.uint64(0)
        for _ in range(state.left[seat]):
            card_low, card_high = card_words(cards[at])
            low[seat] += card_low
            high[seat] += card_high
            at += 1
    return seed


@kernel
def list_unseen(state, me, cards):
    """Writes the indices of the unseen cards; returns their number."""
    low, high = unseen_cards(state, me)
    n = 0
    for index in range(54):
        for _ in range(count_of(low, high, index)):
            cards[n] = index
            n += 1
    return n


@kernel
def redeal_into(states, players, seeds):
    """Deals the cards that `players`, `int8[B]`, do not see to the others again, in place.

    Args:
        states: `[B]` records.
        players: Whose view is kept.
        seeds: Of the deals, `uint64[B]`.
    """
    cards = np.zeros(108, np.int64)
    for b in range(states.shape[0]):
        state, me = states[b], np.int64(players[b])
        unseen = list_unseen(state, me, cards)
        deal(cards, unseen, state, me, state.low, state.high, seeds[b])


@kernel
def redeal_often(states, players, seeds, low, high):
    """Deals the cards that players do not see many times.

    Args:
        states, players: See `redeal_into`.
        seeds: One for all deals of a table, `uint64[B]`.
        low, high: Hands by deal and seat, words of multisets, `uint64[B, D, 4]`; those of the others are written.
    """
    cards = np.zeros(108, np.int64)
    for b in range(states.shape[0]):
        state, me, seed = states[b], np.int64(players[b]), seeds[b]
        unseen = list_unseen(state, me, cards)
        for d in range(low.shape[1]):
            seed = deal(cards, unseen, state, me, low[b, d], high[b, d], seed)


__all__ = ["deal", "following", "list_unseen", "redeal_into", "redeal_often", "unit"]
