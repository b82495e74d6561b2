"""What a player of Cheat knows, packed into bytes and unpacked for networks.

Bytes, with R ranks counted from the current one and P players counted from the viewer: `HEAD` numbers; R counts of the
own hand, of what the viewer has put into the pile, and of his own discard while he picks it or others answer it; size,
health and cards put of each player; R counts of what is known to be each other player's; log and memory.
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
"""So many of the last turns are shown to networks."""


@dataclass(frozen=True)
class Layout:
    """Sizes that say where everything lies, see above.

    Attributes:
        ranks, copies, players, most, health: Of the game.
        picking: Discards are picked card by card.
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
        """Length of the flat encoding."""
        held = self.ranks * self.copies * self.players  # own hand, and what is known of the others
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
    """Packs what `viewers[b]` knows in game b into `uint8[B, P]`.

    Health above `most_health` is shown as that, and so is health that is not limited.
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


def read_log(packed: Packed) -> NDArray[np.uint64]:
    """The log of each infostate, `uint64[B]`."""
    return np.ascontiguousarray(packed[:, -DIGESTS : -DIGESTS + 8]).view(np.uint64)[:, 0]


def read_hand(packed: Packed, ranks: int) -> NDArray[np.uint8]:
    """Counts of the own hand, `uint8[B, R]`."""
    return packed[:, HEAD : HEAD + ranks]


def encode(packed: Packed, layout: Layout) -> NDArray[np.float32]:
    """Unpacks infostates for networks, `float32[B, inputs]`.

    In this order: phase, claim and discarder one-hot; of each player, the viewer first, size of the hand, health,
    whether that is the last point, and cards put; own hand and what is known of each other player, with a 1 for each
    card; what the viewer has put, and his discard; the last turns, newest first; where discards are picked, the lowest
    rank that may be.
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
            if log > np.uint64(1):  # the 1 that begins the log stands before its oldest turn
                entry = np.int64(log & np.uint64((1 << width) - 1))
                to[at + (entry >> 1)] = 1
                to[at + most] = entry & 1
                log >>= np.uint64(width)
            at += most + 1
        if picking:
            to[at + np.int64(row[LOWEST])] = 1


__all__ = ["Layout", "encode", "observe", "read_hand", "read_log"]
