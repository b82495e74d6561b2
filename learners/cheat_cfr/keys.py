"""Infoset keys of two-player Cheat, which contain the features that the agents of paper 001 distinguish (4.2 and 4.3).

A key is two words. The first holds the player's hand, the claim to be answered (or whether there is a pile), and the
player; then, depending on the agent, the current rank and the health of both players. The second holds the log of past
turns, or 0 for agents without a history.

Example, Mini-Cheat (3 ranks, health bits 21): player 1 with two Aces and a 3, current rank A, answers a claim of 2
cards with 3 health points against 2. From the lowest bit:

    hand  counts 2 0 1    4 bits each    0x102
    kind  1 + claim = 3   4 bits         3 << 12
    player 1              1 bit          1 << 16
    rank 0 (Ace)          4 bits         0 << 17
    own health 3          21 bits        3 << 21
    other's health 2      21 bits        2 << 42
"""

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.cheat import Cheat
from envs.cheat.observation import CLAIMED, DIGESTS, HEAD, PHASE, RANK, VIEWER
from envs.cheat.turns import ANSWERING, LOG_BITS
from envs.compiled import kernel
from envs.game import Packed

MEMORYLESS, HP_AWARE, HISTORY_AWARE, GENERAL = "memoryless", "hp-aware", "history-aware", "general"
AGENTS = (MEMORYLESS, HP_AWARE, HISTORY_AWARE, GENERAL)
CLAIMS = ("all", "challenged")
KIND_BITS, PLAYER_BITS, RANK_BITS = 4, 1, 4


class Form(NamedTuple):
    """The layout of keys, for kernels.

    Attributes:
        ranks: Ranks in the deck.
        has_rank: Whether the current rank is in the key.
        health_bits: Bits for the health of one player; 0 leaves health out.
        most_health: Health above this counts as this.
        turns: Past turns in the key: 0 for all of them, -1 for none.
        width: Bits of one turn in the log.
        challenges: The bit of each turn in the log that says whether it was challenged, if only challenged claims
            count, `uint64`; 0 if all claims count.
    """

    ranks: int
    has_rank: bool
    health_bits: int
    most_health: int
    turns: int
    width: int
    challenges: np.uint64


@dataclass(frozen=True)
class KeyForm:
    """The information that an agent's infosets contain.

    Attributes:
        agent: One of `AGENTS`.
        cards: Cards abstraction: the hand is counted from the current rank, and the rank is left out.
        turns: History abstraction: the number of past turns that count; 0 for all of them.
        claims: Past claims that count: ``all`` or only the ``challenged`` ones.
    """

    agent: str = GENERAL
    cards: bool = False
    turns: int = 0
    claims: str = "all"

    def check(self, game: Cheat) -> None:
        """Raises ValueError if keys cannot describe infosets of the game."""
        if self.agent not in AGENTS:
            raise ValueError(f"agent must be one of {', '.join(AGENTS)}, got {self.agent!r}")
        if self.claims not in CLAIMS:
            raise ValueError(f"claims must be one of {', '.join(CLAIMS)}, got {self.claims!r}")
        if game.players != 2 or game.picking:
            raise ValueError("keys describe Cheat for 2 players with discards=sets only")
        if game.max_discard + 2 > 1 << KIND_BITS:
            raise ValueError(
                f"max_discard must be at most {(1 << KIND_BITS) - 2} for infoset keys, got {game.max_discard}"
            )
        most_turns = (LOG_BITS - 1) // game.rule_set.width
        if not 0 <= self.turns <= most_turns:
            raise ValueError(f"turns must be from 0 to {most_turns}, got {self.turns}")
        most_health = (1 << _health_bits(game.ranks)) - 1
        if self.health and not 1 <= game.health <= most_health:
            raise ValueError(
                f"health must be from 1 to {most_health} for infoset keys with {game.ranks} ranks, got {game.health}"
            )

    @property
    def health(self) -> bool:
        """Whether health points are in the key."""
        return self.agent in (HP_AWARE, GENERAL)

    @property
    def history(self) -> bool:
        """Whether past turns are in the key."""
        return self.agent in (HISTORY_AWARE, GENERAL)

    def form(self, game: Cheat, most_health: int) -> Form:
        """The layout for kernels; health above `most_health` counts as `most_health`."""
        bits = _health_bits(game.ranks) if self.health else 0
        turns = self.turns if self.history else -1
        width = game.rule_set.width
        challenges = sum(1 << bit for bit in range(0, LOG_BITS, width)) if self.claims == "challenged" else 0
        return Form(game.ranks, not self.cards, bits, most_health, turns, width, np.uint64(challenges))


def _health_bits(ranks: int) -> int:
    """Bits that a key has for the health of one player."""
    return (64 - 4 * ranks - KIND_BITS - PLAYER_BITS - RANK_BITS) // 2


@kernel
def first_word(form, player, hand, kind, rank, own, other):
    """First word of a key, `uint64`.

    Args:
        form: `Form`.
        player: Player to move.
        hand: That player's cards, a word of `envs.cheat.cards`.
        kind: 1 + claim when the player answers; when the player discards, whether there is a pile.
        rank: Current rank.
        own, other: Health of the player and of the opponent.
    """
    shift = np.uint64(4 * form.ranks)
    word = hand | (np.uint64(kind) << shift)
    shift += np.uint64(KIND_BITS)
    word |= np.uint64(player) << shift
    shift += np.uint64(PLAYER_BITS)
    if form.has_rank:
        word |= np.uint64(rank) << shift
    if form.health_bits != 0:
        shift += np.uint64(RANK_BITS)
        word |= np.uint64(min(np.int64(own), form.most_health)) << shift
        word |= np.uint64(min(np.int64(other), form.most_health)) << (shift + np.uint64(form.health_bits))
    return word


@kernel
def second_word(form, log):
    """Second word of a key, `uint64`: the past turns that the agent distinguishes."""
    if form.turns < 0:
        return np.uint64(0)
    if form.challenges != 0:  # keep the turns whose bit is set, and the leading 1
        log &= (log & form.challenges) * np.uint64((1 << form.width) - 1)
    if form.turns == 0:
        return log
    begin = np.uint64(1) << np.uint64(form.turns * form.width)
    return log if log < begin else begin | (log & (begin - np.uint64(1)))


@kernel
def _infostate_keys(packed, form, out):
    """Writes the keys of packed infostates to `uint64[B, 2]`."""
    ranks = form.ranks
    for b in range(packed.shape[0]):
        row = packed[b]
        hand = np.uint64(0)
        for rank in range(ranks):
            hand |= np.uint64(row[HEAD + rank]) << np.uint64(4 * rank)
        own, other = HEAD + 3 * ranks, HEAD + 3 * ranks + 3  # of each player: hand size, health, cards put
        if row[PHASE] == ANSWERING:
            kind = 1 + row[CLAIMED]
        else:
            kind = 1 if row[own + 2] + row[other + 2] > 0 else 0
        out[b, 0] = first_word(form, row[VIEWER], hand, kind, row[RANK], row[own + 1], row[other + 1])
        log = np.uint64(0)
        for byte in range(8):
            log |= np.uint64(row[packed.shape[1] - DIGESTS + byte]) << np.uint64(8 * byte)
        out[b, 1] = second_word(form, log)


def keys_of(packed: Packed, form: Form) -> NDArray[np.uint64]:
    """Keys of packed infostates `uint8[B, P]` of the players to move, `uint64[B, 2]`."""
    out = np.empty((len(packed), 2), np.uint64)
    _infostate_keys(packed, form, out)
    return out


def raised(keys: NDArray[np.uint64], form: Form, before: int, now: int) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Keys of infosets with more health, for the next game of a curriculum (paper 001, 4.1.2).

    So far, a health of `before` has stood for every health above it.

    Args:
        keys: Known keys, `uint64[I, 2]`.
        form: Their layout.
        before: Largest health in the keys.
        now: Largest health from now on.

    Returns:
        The new keys `uint64[n, 2]`, with a health above `before` and up to `now`, and for each of them the index of
        the known key that stood for it, `intp[n]`. Both are empty for agents that do not distinguish health.
    """
    bits = form.health_bits
    if not bits:
        return keys[:0], np.zeros(0, np.intp)
    shift = np.uint64(4 * form.ranks + KIND_BITS + PLAYER_BITS + RANK_BITS)
    steps = np.uint64(1) << shift, np.uint64(1) << (shift + np.uint64(bits))
    mask = np.uint64((1 << bits) - 1)
    own, other = (keys[:, 0] >> shift) & mask, (keys[:, 0] >> (shift + np.uint64(bits))) & mask
    found, source = [], []
    for more_own, more_other in product(range(now - before + 1), repeat=2):
        if more_own == more_other == 0:
            continue
        rows = np.flatnonzero(((own == before) | (more_own == 0)) & ((other == before) | (more_other == 0)))
        fresh = keys[rows].copy()
        fresh[:, 0] += np.uint64(more_own) * steps[0] + np.uint64(more_other) * steps[1]
        found.append(fresh)
        source.append(rows)
    return np.concatenate(found), np.concatenate(source)


__all__ = [
    "AGENTS",
    "CLAIMS",
    "GENERAL",
    "HISTORY_AWARE",
    "HP_AWARE",
    "MEMORYLESS",
    "Form",
    "KeyForm",
    "first_word",
    "keys_of",
    "raised",
    "second_word",
]
