"""Multisets of cards as 64-bit words: four bits per rank, the lowest four for the current rank.

Ranks are always counted from the current one: 0 is the rank that the next discard claims, 1 the rank after it, and so
on. When a turn ends, all words are rotated by one rank (`turned`). A lie is therefore a discard with any bit above the
lowest four, and what a net or a table learns at one rank holds for all ranks.
"""

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel

WIDTH = 4
"""Bits of a rank; the highest one is never set, so that a subtraction can borrow from it."""
MOST_RANKS, MOST_COPIES = 13, 7

GUARDS = np.uint64(0x8888888888888888)
_LOW = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_RANK = np.uint64(15)


@kernel
def size_of(cards):
    """Counts the cards of a multiset, up to 255."""
    pairs = (cards & _LOW) + ((cards >> np.uint64(4)) & _LOW)
    return np.int64(((pairs * _ONES) >> np.uint64(56)) & np.uint64(255))  # Python's integers do not wrap around


@kernel
def count_of(cards, rank):
    """Counts the cards of a rank, which is counted from the current one."""
    return np.int64((cards >> np.uint64(4 * rank)) & _RANK)


@kernel
def card_of(rank):
    """Returns one card of a rank as a multiset."""
    return np.uint64(1) << np.uint64(4 * rank)


@kernel
def contains(cards, part):
    """Returns whether a multiset contains another one."""
    return ((cards | GUARDS) - part) & GUARDS == GUARDS


@kernel
def turned(cards, ranks):
    """Returns the multiset with its ranks counted from the next one, in a deck of `ranks` ranks."""
    return (cards >> np.uint64(4)) | ((cards & _RANK) << np.uint64(4 * (ranks - 1)))


@kernel
def less(cards, part):
    """Returns the difference of two multisets; the count of a rank is 0 if it would be negative."""
    kept = (cards | GUARDS) - part
    enough = (kept & GUARDS) >> np.uint64(3)  # 1 where nothing was borrowed
    return kept & (enough * np.uint64(7))


@kernel
def larger(cards, other):
    """Returns the larger count of each rank."""
    return other + less(cards, other)


def pack(counts: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Converts counts by rank, `[..., R]`, to words, `uint64[...]`."""
    shifts = np.arange(counts.shape[-1], dtype=np.uint64) * np.uint64(WIDTH)
    return np.asarray((counts.astype(np.uint64) << shifts).sum(axis=-1, dtype=np.uint64))


def unpack(cards: NDArray[np.uint64], ranks: int) -> NDArray[np.uint8]:
    """Converts words to counts by rank, `uint8[..., R]`."""
    shifts = np.arange(ranks, dtype=np.uint64) * np.uint64(WIDTH)
    return ((np.asarray(cards)[..., None] >> shifts) & np.uint64(15)).astype(np.uint8)


def absolute(cards: int, rank: int, ranks: int) -> list[int]:
    """Converts a word whose ranks are counted from `rank` to counts by rank from Ace."""
    counts = [(int(cards) >> (WIDTH * r)) & 15 for r in range(ranks)]
    return [counts[(r - rank) % ranks] for r in range(ranks)]


def list_discards(ranks: int, copies: int, most: int) -> NDArray[np.uint64]:
    """Lists every multiset of 1 to `most` cards, `uint64[D]`: by size, those with more of the current rank first."""
    found = []
    for size in range(1, most + 1):
        for chosen in combinations_with_replacement(range(ranks), size):
            counts = np.bincount(chosen, minlength=ranks)
            if counts.max() <= copies:
                found.append(counts)
    return pack(np.array(found))


__all__ = [
    "GUARDS",
    "MOST_COPIES",
    "MOST_RANKS",
    "absolute",
    "card_of",
    "contains",
    "count_of",
    "larger",
    "less",
    "list_discards",
    "pack",
    "size_of",
    "turned",
    "unpack",
]
