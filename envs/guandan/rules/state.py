"""The state of a table of GuanDan, and the steps before a round: the deal and the tributes.

All chance at a table comes from its own `seed`. The deal of round r is a function of the seed and r, so that tables
with the same seed are dealt the same cards whatever is played.
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.rules import shown
from envs.guandan.rules.cards import JOKER_RANK, PASS, byte_of, card_words, count_of
from envs.guandan.rules.comparison import card_value

SEATS = 4
PLAY, PAY, GIVE_BACK, OVER = range(4)
NOBODY = -1

state_dtype = np.dtype(
    [
        ("seed", np.uint64),  # of all chance at this table
        ("low", np.uint64, (SEATS,)),  # hands
        ("high", np.uint64, (SEATS,)),
        ("played_low", np.uint64, (SEATS,)),  # cards that each seat has played in this round
        ("played_high", np.uint64, (SEATS,)),
        ("last_low", np.uint64, (SEATS,)),  # last move of each seat in this round; empty for a pass or if there is none
        ("last_high", np.uint64, (SEATS,)),
        ("beat_low", np.uint64),  # the move to beat; its kind is PASS if the mover leads
        ("beat_high", np.uint64),
        ("beat_kind", np.uint8),
        ("beat_rank", np.uint8),
        ("beat_size", np.uint8),
        ("holder", np.int8),  # seat that played the move to beat
        ("to_move", np.int8),  # NOBODY after the end
        ("phase", np.uint8),
        ("passes", np.uint8),  # since the move to beat
        ("left", np.uint8, (SEATS,)),  # number of cards in hand
        ("order", np.int8, (SEATS,)),  # seats in the order of going out in this round
        ("out", np.uint8),  # number of seats that are out
        ("former", np.int8, (SEATS,)),  # order of the previous round; NOBODY in the first one
        ("level", np.uint8),  # of this round, 0 .. 12 for 2 .. A
        ("levels", np.uint8, (2,)),  # of each team
        ("owner", np.int8),  # team whose level is played
        ("attempts", np.uint8, (2,)),  # failed attempts at the team's own level A
        ("payer", np.int8, (2,)),  # of the tributes of this round, in the order of payment
        ("receiver", np.int8, (2,)),
        ("paid", np.int8, (2,)),  # index of the card paid
        ("back", np.int8, (2,)),  # index of the card given back
        ("tributes", np.uint8),  # number of tributes
        ("settled", np.uint8),  # number of payments, or of returns, done in this phase
        ("refused", np.uint8),  # red jokers of the payers if they refused to pay (anti-tribute), else 0
        ("points", np.int8),  # of the last finished round, for team 0
        ("number", np.uint16),  # of the round, from 0
        ("winner", np.int8),  # team, once the game has ended
        ("decisions", np.uint16),  # number of plays, tributes and returns
        ("shown", np.uint8, (SEATS, shown.BYTES)),  # by plays and passes of this round, see `shown`
    ],
    align=True,
)
"""State of a table, 440 bytes. Seats 0 .. 3 move in turn; seats s and (s + 2) % 4 are team s % 2."""

_GOLDEN, _MIX1, _MIX2 = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@kernel
def mixed(x):
    """Mixes 64 bits by the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX1
    x = (x ^ (x >> np.uint64(27))) * _MIX2
    return x ^ (x >> np.uint64(31))


@kernel
def draw_below(seed, stream, count, n):
    """Returns number n of a stream, uniform in 0 .. count - 1 up to a bias of count / 2^32."""
    bits = mixed(mixed(seed + _GOLDEN * np.uint64(stream + 1)) + _GOLDEN * np.uint64(n + 1))
    return np.int64(((bits >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@kernel
def deal(state, deck):
    """Deals 27 cards to each seat by seed and round number. `deck` is scratch, `int64[108]`."""
    stream = np.int64(state.number) + 16
    for i in range(108):
        deck[i] = i // 2
    for i in range(107, 0, -1):
        j = draw_below(state.seed, stream, i + 1, i)
        deck[i], deck[j] = deck[j], deck[i]
    for seat in range(SEATS):
        low, high = np.uint64(0), np.uint64(0)
        for i in range(27 * seat, 27 * seat + 27):
            card_low, card_high = card_words(deck[i])
            low += card_low
            high += card_high
        state.low[seat], state.high[seat], state.left[seat] = low, high, 27


@kernel
def clear_table(state):
    """Clears the plays and tributes of the last round."""
    for seat in range(SEATS):
        state.played_low[seat] = state.played_high[seat] = 0
        state.last_low[seat] = state.last_high[seat] = 0
        state.order[seat] = NOBODY
        for i in range(shown.BYTES):
            state.shown[seat, i] = 0
    state.out = 0
    state.tributes = state.settled = state.refused = 0
    clear_trick(state)


@kernel
def clear_trick(state):
    """Clears the move to beat: the next mover leads."""
    state.beat_low = state.beat_high = 0
    state.beat_kind = PASS
    state.beat_rank = state.beat_size = 0
    state.holder = NOBODY
    state.passes = 0


@kernel
def begin_round(state, deck):
    """Deals a round and advances to its first decision, a tribute or the lead."""
    deal(state, deck)
    open_round(state)


@kernel
def open_round(state):
    """Advances from the dealt hands to the first decision of a round.

    A random seat leads the first round. In later rounds the last seat of the previous round pays its highest card to
    the first seat. If one team came first and second, both seats of the other team pay. Payers who together have both
    red jokers do not pay; then the first seat leads.
    """
    clear_table(state)
    if state.former[0] == NOBODY:
        state.phase = PLAY
        state.to_move = draw_below(state.seed, 0, SEATS, state.number)
        return
    double = state.former[0] % 2 == state.former[1] % 2
    state.tributes = 2 if double else 1
    red = np.int64(0)
    for i in range(np.int64(state.tributes)):
        state.payer[i] = state.former[3 - i]
        state.receiver[i] = state.former[i]
        red += np.int64(byte_of(state.low[state.payer[i]], state.high[state.payer[i]], JOKER_RANK) >> np.uint64(2))
    if red == 2:
        state.tributes = 0
        state.refused = 2
        state.phase = PLAY
        state.to_move = state.former[0]
    else:
        state.phase = PAY
        state.to_move = state.payer[0]


@kernel
def move_card(state, giver, taker, index):
    """Moves one card from a hand to another."""
    low, high = card_words(index)
    state.low[giver] -= low
    state.high[giver] -= high
    state.low[taker] += low
    state.high[taker] += high
    state.left[giver] -= 1
    state.left[taker] += 1


@kernel
def single_card(low, high):
    """Returns the index of the only card of a multiset; -1 if it is empty."""
    for index in range(54):
        if count_of(low, high, index) > 0:
            return index
    return -1


@kernel
def pay(state, index, by_card):
    """Records the tribute of the payer to move; after the last tribute the cards change hands.

    If `by_card`, the higher of two tributes goes to the first seat of the previous round. With equal cards, or without
    `by_card`, each goes to the seat before its payer.
    """
    state.paid[state.settled] = index
    state.settled += 1
    if state.settled < state.tributes:
        state.to_move = state.payer[state.settled]
        return
    if state.tributes == 2:
        level = np.int64(state.level)
        first, second = card_value(np.int64(state.paid[0]), level), card_value(np.int64(state.paid[1]), level)
        if by_card and first != second:
            state.receiver[0] = state.former[0] if first > second else state.former[1]
            state.receiver[1] = state.former[1] if first > second else state.former[0]
        else:
            state.receiver[0] = (state.payer[0] + 3) % SEATS
            state.receiver[1] = (state.payer[1] + 3) % SEATS
    for i in range(np.int64(state.tributes)):
        move_card(state, state.payer[i], state.receiver[i], np.int64(state.paid[i]))
    state.phase = GIVE_BACK
    state.settled = 0
    state.to_move = state.receiver[0]


@kernel
def give_back(state, index):
    """Gives back a card of the receiver to move.

    After the last one the payer of the higher tribute leads; with equal tributes the last seat of the previous round,
    whose card went to the first unless it went by seat (see `rules._order_losers`).
    """
    state.back[state.settled] = index
    move_card(state, state.receiver[state.settled], state.payer[state.settled], index)
    state.settled += 1
    if state.settled < state.tributes:
        state.to_move = state.receiver[state.settled]
        return
    leader = state.payer[0]
    if state.tributes == 2:
        level = np.int64(state.level)
        first, second = card_value(np.int64(state.paid[0]), level), card_value(np.int64(state.paid[1]), level)
        if second > first:
            leader = state.payer[1]
    state.phase = PLAY
    state.to_move = leader
