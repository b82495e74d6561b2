"""Infostates of Cheat, packed into bytes, and unpacked as inputs of networks.

The bytes of a packed infostate of the *viewer*, with `R` ranks counted from the current one and `P` players counted
from the viewer:

    HEAD          phase, current rank, claim, discarder and so on, one number each
    R             counts of the viewer's hand
    R             counts of the cards that the viewer has put into the pile
    R             counts of the viewer's own discard, while it is picked or answered
    3 * P         for each player: size of the hand, health, number of cards put into the pile
    (P - 1) * R   for each other player: counts of the cards known to be in the hand or put into the pile
    8 + 8         log of the last turns, and digest of everything that the viewer has observed
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from envs.cheat.cards import count_of, size_of
from envs.cheat.rules import ANSWERING, log_width
from envs.compiled import kernel
from envs.game import Packed

VIEWER, PHASE, RANK, CLAIMED, DISCARDER, LOWEST, PASSES = range(7)
HEAD = 7
DIGESTS = 16
TURNS = 4
"""Number of past turns in the input of a network."""


@dataclass(frozen=True)
class Layout:
    """The sizes that determine the layout of infostates.

    Attributes:
        ranks, copies, players: See `envs.cheat.Cheat`.
        most: Largest number of cards in a discard.
        health: Health points by which observations are divided, which is also the most that they show.
        picking: Whether discards are picked card by card.
    """

    ranks: int
    copies: int
    players: int
    most: int
    health: int
    picking: bool

    @property
    def packed_size(self) -> int:
        return HEAD + 3 * self.ranks + 3 * self.players + (self.players - 1) * self.ranks + DIGESTS

    @property
    def inputs(self) -> int:
        """Length of the encoding ``flat``."""
        held = self.ranks * self.copies * self.players  # own hand, and known cards of the other players
        laid = 2 * self.ranks + (self.ranks if self.picking else 0)
        return 2 + (self.most + 1) + self.players + 4 * self.players + held + laid + TURNS * (self.most + 1)


@kernel
def _write_counts(cards, ranks, row, at):
    for rank in range(ranks):
        row[at + rank] = count_of(cards, rank)


@kernel
def _write_word(word, row, at):
    for byte in range(8):
        row[at + byte] = np.uint8((word >> np.uint64(8 * byte)) & np.uint64(255))


@kernel
def observe(states, viewers, ranks, most_health, limited, out):
    """Packs the infostate of `viewers[b]` in game b into `out`, `uint8[B, packed_size]`.

    Health above `most_health`, and unlimited health, are shown as `most_health`.
    """
    players = states["hand"].shape[1]
    for b in range(states.shape[0]):
        s, v, row = states[b], np.int64(viewers[b]), out[b]
        own = s.discarder == v
        row[VIEWER], row[PHASE], row[RANK], row[CLAIMED] = v, s.phase, s.rank, s.claimed
        row[DISCARDER] = (s.discarder - v) % players
        row[LOWEST] = s.lowest if own and s.phase != ANSWERING else 0
        row[PASSES] = s.passes if s.phase == ANSWERING else 0
        at = HEAD
        _write_counts(s.hand[v], ranks, row, at)
        _write_counts(s.put[v], ranks, row, at + ranks)
        _write_counts(s.discard if own else np.uint64(0), ranks, row, at + 2 * ranks)
        at += 3 * ranks
        for offset in range(players):
            p = (v + offset) % players
            hidden = s.discard if s.phase != ANSWERING and p == s.discarder else np.uint64(0)  # picked, not yet laid
            if p == v:
                hidden = np.uint64(0)
            row[at] = size_of(s.hand[p]) + size_of(hidden)
            row[at + 1] = np.uint8(min(np.int64(s.health[p]), most_health)) if limited else np.uint8(most_health)
            row[at + 2] = size_of(s.put[p])
            at += 3
        for offset in range(1, players):
            _write_counts(s.seen[v, (v + offset) % players], ranks, row, at)
            at += ranks
        _write_word(s.log, row, at)
        _write_word(s.memory[v], row, at + 8)


def read_hand(packed: Packed, ranks: int) -> NDArray[np.uint8]:
    """Returns the counts of the viewer's hand, `uint8[B, R]`."""
    return packed[:, HEAD : HEAD + ranks]


def encode(packed: Packed, layout: Layout) -> NDArray[np.float32]:
    """Unpacks infostates `uint8[B, packed_size]` to the encoding ``flat``, `float32[B, inputs]`.

    `envs.cheat.env.raw_env` lists the inputs.
    """
    out = np.zeros((len(packed), layout.inputs), np.float32)
    shape = layout.ranks, layout.copies, layout.players, layout.most
    _encode(packed, *shape, np.float32(layout.health), layout.picking, log_width(layout.most), out)
    return out


@kernel
def _encode(packed, ranks, copies, players, most, health, picking, width, out):
    cards = np.float32(ranks * copies)
    for b in range(packed.shape[0]):
        row, to = packed[b], out[b]
        to[np.int64(row[PHASE])] = 1
        to[2 + np.int64(row[CLAIMED])] = 1
        at = 3 + most
        to[at + np.int64(row[DISCARDER])] = 1
        at += players
        table = HEAD + 3 * ranks
        for p in range(players):
            size, points, put = row[table + 3 * p], row[table + 3 * p + 1], row[table + 3 * p + 2]
            to[at + p] = size / cards
            to[at + players + p] = points / health
            to[at + 2 * players + p] = points == 1
            to[at + 3 * players + p] = put / cards
        at += 4 * players
        for holder in range(players):
            held = HEAD if holder == 0 else table + 3 * players + (holder - 1) * ranks
            for rank in range(ranks):
                for card in range(min(np.int64(row[held + rank]), copies)):
                    to[at + card] = 1
                at += copies
        for rank in range(ranks):
            to[at + rank] = row[HEAD + ranks + rank] / np.float32(copies)
            to[at + ranks + rank] = row[HEAD + 2 * ranks + rank] / np.float32(copies)
        at += 2 * ranks
        log = np.uint64(0)
        for byte in range(8):
            log |= np.uint64(row[packed.shape[1] - DIGESTS + byte]) << np.uint64(8 * byte)
        for _ in range(TURNS):
            if log > np.uint64(1):  # a log without turns is 1, its leading bit
                entry = np.int64(log & np.uint64((1 << width) - 1))
                to[at + (entry >> 1)] = 1
                to[at + most] = entry & 1
                log >>= np.uint64(width)
            at += most + 1
        if picking:
            to[at + np.int64(row[LOWEST])] = 1


__all__ = ["Layout", "encode", "observe", "read_hand"]
