"""The inputs of a critic of GuanDan beside an infostate: the other three hands. For training only.

A packed row has 16 bytes for each of next, partner and previous: the hand, and the price of its cheapest split in its
player's eyes (`plans`), in steps of 1/256. The inputs are those of the encoding ``plans`` without
the cards one by one, of which a critic would learn games by heart, followed by

    hands                3 * 82   thermometers, see `ranks`
    their prices         3 * 10   as a number and as ramps, see `plans`; zeros once a seat is out
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.inputs.observation import CARD_BYTES, LEVELS
from envs.guandan.inputs.plans import RAMPS, write_price
from envs.guandan.inputs.prospects import Strengths
from envs.guandan.inputs.ranks import PLACES, thermometers
from envs.guandan.inputs.splits import new_desk, split
from envs.guandan.inputs.weighing import Manners, look, new_view
from envs.guandan.rules.state import SEATS

OTHERS = SEATS - 1
BYTES = CARD_BYTES + 2
PACKED_SIZE = OTHERS * BYTES
INPUTS = OTHERS * (PLACES + 1 + RAMPS)
_STEPS = 256
_STRENGTHS, _MANNERS = Strengths(), Manners()


@kernel
def observe_into(states, players, packed):
    """Packs the hands of all but `players`, `int64[B]`, into `packed`, `uint8[B, PACKED_SIZE]`."""
    desk, view = new_desk(), new_view()
    for b in range(states.shape[0]):
        state, row = states[b], packed[b]
        for i in range(OTHERS):
            seat, at = (players[b] + 1 + i) % SEATS, BYTES * i
            low, high = state.low[seat], state.high[seat]
            for rank in range(CARD_BYTES):
                word, shift = (low, 8 * rank) if rank < 8 else (high, 8 * (rank - 8))
                row[at + rank] = np.uint8((word >> np.uint64(shift)) & np.uint64(255))
            price = np.int64(0)
            if state.left[seat] > 0:
                look(view, state, seat, _STRENGTHS, _MANNERS)
                price = np.int64(np.round(_STEPS * split(desk, low, high, np.int64(state.level), view.price)))
            row[at + CARD_BYTES], row[at + CARD_BYTES + 1] = price & 255, price >> 8 & 255


@kernel
def encode_into(packed, hands, start, out):
    """Writes the inputs of hands into ``out[:, start : start + INPUTS]``; `packed` are the infostates."""
    for b in range(packed.shape[0]):
        row, x, n = hands[b], out[b], start
        level = np.int64(packed[b, LEVELS + 2])
        for i in range(OTHERS):
            at = BYTES * i
            thermometers(row, at, level, x, n)
            n += PLACES
            price = np.int64(row[at + CARD_BYTES]) | np.int64(row[at + CARD_BYTES + 1]) << 8
            out_of_cards = True
            for rank in range(CARD_BYTES):
                out_of_cards &= row[at + rank] == 0
            if out_of_cards:
                x[n : n + 1 + RAMPS] = 0
            else:
                write_price((price - 65_536 if price > 32_767 else price) / _STEPS, x, n)
            n += 1 + RAMPS
