"""Compiled rules of liar's dice: hidden dice, rising bids on all of them, and a call that settles the last bid."""

import numpy as np

from envs.compiled import kernel
from envs.extensive import CHANCE, OVER

MOST_BIDS = 64
"""Bids are a mask of 64 bits."""
NO_HAND, NO_BID = 65535, 255

STATE = np.dtype(
    [
        ("mover", np.int8),
        ("winner", np.int8),  # -1 while the game runs
        ("last", np.uint8),  # last bid, or NO_BID
        ("hands", np.uint16, (2,)),  # index of each player's hand, NO_HAND until dealt
        ("bids", np.uint64),  # bit b: bid b has been made
    ]
)


@kernel
def apply(states, choices, matching, call):
    """Deals hand `choices[b]` where chance is to move, else makes that bid or calls.

    Args:
        states: `[B]` records, changed in place.
        choices: Hands or actions, `int64[B]`.
        matching: Dice of each hand that count for each face, `uint8[H, faces]`.
        call: The action that calls the last bid a lie, which is the number of bids.
    """
    faces = matching.shape[1]
    for b in range(states.shape[0]):
        s = states[b]
        if s.mover == OVER:
            continue
        if s.mover == CHANCE:
            if s.hands[0] == NO_HAND:
                s.hands[0] = choices[b]
            else:
                s.hands[1] = choices[b]
                s.mover = 0
            continue
        me, other = s.mover, 1 - s.mover
        if choices[b] < call:
            s.bids |= np.uint64(1) << np.uint64(choices[b])
            s.last = choices[b]
            s.mover = other
            continue
        quantity, face = s.last // faces + 1, s.last % faces
        found = int(matching[s.hands[0], face]) + int(matching[s.hands[1], face])
        s.winner = other if found >= quantity else me
        s.mover = OVER


@kernel
def legal(states, out):
    """Writes the legal actions of the player to move into `out`, `bool[B, bids + 1]`: higher bids, then the call."""
    bids = out.shape[1] - 1
    for b in range(states.shape[0]):
        s = states[b]
        running, opened = s.mover >= 0, s.last != NO_BID
        first = int(s.last) + 1 if opened else 0
        for action in range(bids):
            out[b, action] = running and action >= first
        out[b, bids] = running and opened


@kernel
def encode(packed, dice, faces, encoded):
    """Writes `LiarsDice.encode` into zeros.

    Args:
        packed: Player, hand and the actions made, `uint8[B, P]`, see `LiarsDice.observe`.
        dice: Dice of a player.
        faces: Faces of a die.
        encoded: `float32[B, 2 + dice * faces + bids + 1 + 2]`.
    """
    hand, bids, actor = 2, 2 + dice * faces, encoded.shape[1] - 2
    for b in range(packed.shape[0]):
        player = packed[b, 0]
        encoded[b, player] = 1
        for number in range(dice):
            die = packed[b, 1 + number]
            if die == 0:
                break
            place = hand + (die - 1) * dice
            while encoded[b, place] != 0:
                place += 1
            encoded[b, place] = 1
        actions = 0
        for bid in range(actor - bids):
            if packed[b, 1 + dice + bid // 8] >> (bid % 8) & 1:
                encoded[b, bids + bid] = 1
                actions += 1
        if actions > 0:  # player 0 makes the first action, and then every other one
            encoded[b, actor + (actions % 2 != 1 - player)] = 1
