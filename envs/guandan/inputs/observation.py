"""Infostates of GuanDan, packed and as input vectors of networks (paper 004, IV-A; 513 inputs and 54 of the action).

    own hand                                 54     counts of `cards.CARDS`, 0 .. 2
    wild cards                               12     flags, see `wild_flags`
    cards in the other three hands           54
    move to beat                             54     zeros if the mover leads
    partner's last move                      54     zeros for a pass, -1 if the partner is out
    played by next, partner, previous    3 * 54
    cards left of the same seats         3 * 28     one-hot, 0 .. 27
    levels                               3 * 13     one-hot: own team's, opponents', the round's

If tributes are learned too, two inputs follow: pays a tribute, gives a card back. A packed multiset of cards has 14
bytes. A hand of 28 cards, which only the receiver of a tribute has, is shown as 27.
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.rules.cards import DECK_HIGH, DECK_LOW, PASS, byte_of, count_of
from envs.guandan.rules.comparison import rank_at, value_of
from envs.guandan.rules.state import GIVE_BACK, PAY, SEATS

INPUTS, FLAGS = 513, 12
CARD_INPUTS = 7 * 54 + FLAGS  # those before the numbers of cards left
CARD_BYTES = 14
HAND, OTHERS, BEAT, PARTNER, NEXT_PLAYED, PARTNER_PLAYED, PREVIOUS_PLAYED = (CARD_BYTES * i for i in range(7))
LEFT = 7 * CARD_BYTES  # cards left of next, partner, previous
LEVELS = LEFT + 3  # own, opponents', round's
WILD = LEVELS + 3  # the flags as bits, 2 bytes; in the last four bits the value of the move to beat
PHASE = WILD + 2  # two bits; then who plays the move to beat, two bits (seats after the mover), and its kind, four
PACKED_SIZE = PHASE + 1
SPARSE_CARDS = 12  # nonzero inputs of an action: at most 10 cards, rounded up to a multiple of 4


@kernel
def _write_cards(low, high, packed, at):
    for rank in range(CARD_BYTES):
        packed[at + rank] = np.uint8(byte_of(low, high, rank))


@kernel
def observe_into(states, players, packed):
    """Packs the infostates of `players`, `int64[B]`, into `packed`, `uint8[B, PACKED_SIZE]`."""
    for b in range(states.shape[0]):
        state, me, row = states[b], players[b], packed[b]
        nxt, partner, previous = (me + 1) % SEATS, (me + 2) % SEATS, (me + 3) % SEATS
        low, high = state.low[me], state.high[me]
        seen_low, seen_high = low, high
        for seat in range(SEATS):
            seen_low += state.played_low[seat]
            seen_high += state.played_high[seat]
        _write_cards(low, high, row, HAND)
        _write_cards(DECK_LOW - seen_low, DECK_HIGH - seen_high, row, OTHERS)
        _write_cards(state.beat_low, state.beat_high, row, BEAT)
        _write_cards(state.last_low[partner], state.last_high[partner], row, PARTNER)
        _write_cards(state.played_low[nxt], state.played_high[nxt], row, NEXT_PLAYED)
        _write_cards(state.played_low[partner], state.played_high[partner], row, PARTNER_PLAYED)
        _write_cards(state.played_low[previous], state.played_high[previous], row, PREVIOUS_PLAYED)
        row[LEFT] = min(state.left[nxt], 27)
        row[LEFT + 1] = min(state.left[partner], 27)
        row[LEFT + 2] = min(state.left[previous], 27)
        row[LEVELS] = state.levels[me % 2]
        row[LEVELS + 1] = state.levels[1 - me % 2]
        row[LEVELS + 2] = state.level
        flags = wild_flags(low, high, np.int64(state.level))
        value = value_of(np.int64(state.beat_kind), np.int64(state.beat_rank), np.int64(state.level))
        row[WILD], row[WILD + 1] = flags & 255, flags >> 8 | value << 4
        holder = (state.holder - me) % SEATS if state.beat_kind != PASS else 0
        row[PHASE] = (state.phase if state.to_move == me else 0) | holder << 2 | np.int64(state.beat_kind) << 4


@kernel
def wild_flags(low, high, level):
    """Returns the twelve flags of paper 004, IV-A, as bits: the combinations that the hand can make with a wild card.

    Bit 0: anything, that is, the hand has a wild card; 1, 2, 3, 4: a bomb of 4, 5, 6, or 7 and more equal cards;
    5: a straight flush; 6: a straight; 7: a tube (three pairs in a row); 8: a plate (two triples in a row);
    9: a full house; 10: a triple; 11: a pair.

    A wild card may stand for its own rank, as in the rules.
    """
    wild = count_of(low, high, 4 * level)
    if wild == 0:
        return 0
    count = np.zeros(13, np.int64)
    suits = np.zeros((13, 4), np.int64)
    best = np.int64(0)
    for rank in range(13):
        for suit in range(4):
            if suit > 0 or rank != level:
                suits[rank, suit] = count_of(low, high, 4 * rank + suit)
                count[rank] += suits[rank, suit]
        best = max(best, count[rank])
    flags = np.int64(1)
    longest = best + wild  # equal cards, including all wild cards
    for size in range(4, 7):  # a wild card can always replace a natural one
        flags |= (longest >= size) << (size - 3)
    flags |= (longest >= 7) << 4
    flags |= _run_flags(count, suits, wild)
    flags |= _full_house(count, wild, level, low, high) << 9
    flags |= (longest >= 3) << 10
    flags |= (longest >= 2) << 11
    return flags


@kernel
def _run_flags(count, suits, wild):
    """Returns bits 5 to 8: straight flush, straight, tube and plate."""
    flags = np.int64(0)
    for first in range(13):  # position of the lowest rank, 0 is the low ace
        pairs, triples, ranks = np.int64(0), np.int64(0), np.int64(0)
        for i in range(5):
            rank = rank_at(first + i)
            ranks += min(count[rank], 1)
            pairs += min(count[rank], 2) if i < 3 else 0
            triples += min(count[rank], 3) if i < 2 else 0
        if first <= 9:
            flags |= (ranks + wild >= 5) << 6
            for suit in range(4):
                there = np.int64(0)
                for i in range(5):
                    there += min(suits[rank_at(first + i), suit], 1)
                flags |= (there + wild >= 5) << 5
        if first <= 11:
            flags |= (pairs + wild >= 6) << 7
        flags |= (triples + wild >= 6) << 8
    return flags


@kernel
def _full_house(count, wild, level, low, high):
    """Returns whether the hand has a full house with a wild card in it."""
    jokers = count_of(low, high, 52) == 2 or count_of(low, high, 53) == 2
    for triple in range(13):
        for used in range(wild + 1):
            natural = 3 - used
            if count[triple] < natural:
                continue
            if used > 0 and jokers:
                return True
            for pair in range(13):
                for more in range(wild - used + 1):
                    if pair != triple and used + more > 0 and count[pair] >= 2 - more and (more < 2 or pair == level):
                        return True
    return False


@kernel
def _cards_into(packed, at, out, start):
    """Writes the vector of a packed multiset of cards into out[start : start + 54]."""
    for rank in range(13):
        byte = packed[at + rank]
        for suit in range(4):
            out[start + 4 * rank + suit] = (byte >> (2 * suit)) & 3
    out[start + 52] = packed[at + 13] & 3
    out[start + 53] = (packed[at + 13] >> 2) & 3


@kernel
def encode_into(packed, with_flags, with_phase, out):
    """Unpacks infostates into `out`, `float32[B, 513]`: 12 inputs fewer without flags, 2 more with the phase."""
    for b in range(packed.shape[0]):
        row, x = packed[b], out[b]
        _cards_into(row, HAND, x, 0)
        n = 54
        if with_flags:
            bits = np.int64(row[WILD]) | np.int64(row[WILD + 1]) << 8
            for i in range(FLAGS):
                x[n + i] = bits >> i & 1
            n += FLAGS
        for part in range(1, 7):
            _cards_into(row, CARD_BYTES * part, x, n)
            n += 54
        if row[LEFT + 1] == 0:  # n - 4 * 54 is where the partner's last move begins
            for i in range(54):
                x[n - 4 * 54 + i] = -1
        for i in range(3):
            for j in range(28):
                x[n + j] = row[LEFT + i] == j
            n += 28
        for i in range(3):
            for j in range(13):
                x[n + j] = row[LEVELS + i] == j
            n += 13
        if with_phase:
            x[n] = (row[PHASE] & 3) == PAY
            x[n + 1] = (row[PHASE] & 3) == GIVE_BACK


@kernel
def encode_actions(actions, place, value):
    """Writes the vectors of actions in sparse form: indices of cards, 0 .. 53, and their counts, padded with zeros."""
    for n in range(actions.shape[0]):
        low, high = actions[n].low, actions[n].high
        k = 0
        for half in range(2):
            word = low if half == 0 else high
            index = 32 * half
            while word != np.uint64(0):
                two = np.int64(word & np.uint64(3))
                if two > 0:
                    place[n, k], value[n, k] = index, two
                    k += 1
                word = word >> np.uint64(2)
                index += 1
        for i in range(k, place.shape[1]):
            place[n, i], value[n, i] = 0, 0
