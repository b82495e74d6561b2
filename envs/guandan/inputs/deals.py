"""Random deals of the cards that a player does not see.

Every deal agrees with the player's hand, the cards played, the number of cards of each seat and the tributes that have
been announced and not yet changed hands; all of them are alike likely.
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.inputs.prospects import unseen_cards
from envs.guandan.rules.cards import card_words, count_of
from envs.guandan.rules.state import PAY, SEATS, mixed

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
def announced(state, seat):
    """Returns the index of the tribute that a seat has announced while the other payer chooses, or -1."""
    if state.phase == PAY:
        for i in range(np.int64(state.settled)):
            if state.payer[i] == seat:
                return np.int64(state.paid[i])
    return np.int64(-1)


@kernel
def deal(cards, unseen, state, me, low, high, seed):
    """Deals the cards of `list_unseen` to the others; returns the new state of the generator."""
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
        more, held = np.int64(state.left[seat]), announced(state, seat)
        if held >= 0:
            low[seat], high[seat] = card_words(held)
            more -= 1
        for _ in range(more):
            card_low, card_high = card_words(cards[at])
            low[seat] += card_low
            high[seat] += card_high
            at += 1
    return seed


@kernel
def list_unseen(state, me, cards):
    """Writes the indices of the unseen cards but for announced tributes; returns their number."""
    low, high = unseen_cards(state, me)
    for seat in range(SEATS):
        held = announced(state, seat)
        if seat != me and held >= 0:
            card_low, card_high = card_words(held)
            low -= card_low
            high -= card_high
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
        seeds: Of the deals, `uint64[B]`, of any kind: they are mixed, since the generators of consecutive ones
            would draw in step.
    """
    cards = np.zeros(108, np.int64)
    for b in range(states.shape[0]):
        state, me = states[b], np.int64(players[b])
        unseen = list_unseen(state, me, cards)
        deal(cards, unseen, state, me, state.low, state.high, mixed(seeds[b]))


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
