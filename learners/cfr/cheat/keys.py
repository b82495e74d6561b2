"""What the agents of paper 001 tell apart: infoset keys of two-player Cheat (4.2 and 4.3).

An infoset's key holds the player, his hand, and while he answers the claim, else whether there is a pile; then, as the
agent wills, the current rank, both players' health, and the turns so far.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from envs.cheat import Cheat
from envs.cheat.observation import CLAIMED, DIGESTS, HEAD, PHASE, RANK, VIEWER
from envs.cheat.rules import ANSWERING, LOG_BITS, log_width
from envs.compiled import kernel
from envs.game import Packed

MEMORYLESS, HP_AWARE, HISTORY_AWARE, GENERAL = "memoryless", "hp-aware", "history-aware", "general"
AGENTS = (MEMORYLESS, HP_AWARE, HISTORY_AWARE, GENERAL)
KIND_BITS, PLAYER_BITS, RANK_BITS = 4, 1, 4

Form = NDArray[np.int64]
"""A `KeyForm` for kernels: ranks, cards of a discard at most, whether the rank counts, bits of health, largest health,
turns of the log or 0 for all or -1 for none."""


@dataclass(frozen=True)
class KeyForm:
    """What an agent tells apart.

    Attributes:
        agent: One of `AGENTS`.
        cards: Cards abstraction: the hand is counted from the current rank, and the rank left out.
        turns: History abstraction: the last so many turns; 0 for all of them.
    """

    agent: str = GENERAL
    cards: bool = False
    turns: int = 0

    def check(self, game: Cheat) -> None:
        """Raises ValueError where keys of that game cannot hold what the agent wants."""
        if self.agent not in AGENTS:
            raise ValueError(f"agent must be one of {', '.join(AGENTS)}, not {self.agent!r}")
        if game.players != 2 or game.picking:
            raise ValueError("keys are of Cheat for 2 players with discards=sets")
        if game.max_discard + 2 > 1 << KIND_BITS:
            raise ValueError(f"keys hold claims of up to {(1 << KIND_BITS) - 2} cards, not {game.max_discard}")
        if self.turns < 0 or self.turns * log_width(game.max_discard) >= LOG_BITS:
            raise ValueError(f"keys hold up to {(LOG_BITS - 1) // log_width(game.max_discard)} turns, not {self.turns}")
        if self.health and not 1 <= game.health < 1 << _health_bits(game.ranks):
            most = (1 << _health_bits(game.ranks)) - 1
            raise ValueError(f"with {game.ranks} ranks keys hold health from 1 to {most}, not {game.health}")

    @property
    def health(self) -> bool:
        """Whether health points are in the key."""
        return self.agent in (HP_AWARE, GENERAL)

    @property
    def history(self) -> bool:
        """Whether turns are in the key."""
        return self.agent in (HISTORY_AWARE, GENERAL)

    def form(self, game: Cheat, most_health: int) -> Form:
        """For kernels; health above `most_health` counts as that."""
        bits = _health_bits(game.ranks) if self.health else 0
        turns = self.turns if self.history else -1
        return np.array([game.ranks, game.max_discard, not self.cards, bits, most_health, turns], np.int64)


def _health_bits(ranks: int) -> int:
    """Bits that a key has for the health of one player."""
    return (64 - 4 * ranks - KIND_BITS - PLAYER_BITS - RANK_BITS) // 2


@kernel
def first_word(form, player, hand, kind, rank, own, other):
    """First word of a key; `kind` is 0 or 1 for a discard without or with a pile, 1 + claim for an answer."""
    shift = np.uint64(4 * form[0])
    word = hand | (np.uint64(kind) << shift)
    shift += np.uint64(KIND_BITS)
    word |= np.uint64(player) << shift
    shift += np.uint64(PLAYER_BITS)
    if form[2] != 0:
        word |= np.uint64(rank) << shift
    if form[3] != 0:
        shift += np.uint64(RANK_BITS)
        word |= np.uint64(min(own, form[4])) << shift
        word |= np.uint64(min(other, form[4])) << (shift + np.uint64(form[3]))
    return word


@kernel
def second_word(form, log):
    """Second word of a key: the turns that the agent minds."""
    turns = form[5]
    if turns < 0:
        return np.uint64(0)
    if turns == 0:
        return log
    begin = np.uint64(1) << np.uint64(turns * log_width(form[1]))
    return log if log < begin else begin | (log & (begin - np.uint64(1)))


@kernel
def _infostate_keys(packed, form, out):
    """Keys of packed infostates into `uint64[B, 2]`."""
    ranks = form[0]
    for b in range(packed.shape[0]):
        row = packed[b]
        hand = np.uint64(0)
        for rank in range(ranks):
            hand |= np.uint64(row[HEAD + rank]) << np.uint64(4 * rank)
        own, other = HEAD + 3 * ranks, HEAD + 3 * ranks + 3  # size, health and cards put of each
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
    """Keys of packed infostates of the players to move, `uint64[B, 2]`."""
    out = np.empty((len(packed), 2), np.uint64)
    _infostate_keys(packed, form, out)
    return out


def raised(keys: NDArray[np.uint64], form: Form, before: int, now: int) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Keys with health above `before`, up to `now`, and the place of the key that stands for each so far.

    Health of `before` had stood for all above it (paper 001, 4.1.2); agents that do not mind health have none.
    """
    bits = int(form[3])
    if not bits:
        return keys[:0], np.zeros(0, np.intp)
    shift = np.uint64(4 * form[0] + KIND_BITS + PLAYER_BITS + RANK_BITS)
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


__all__ = ["AGENTS", "GENERAL", "HISTORY_AWARE", "HP_AWARE", "MEMORYLESS", "Form", "KeyForm", "keys_of", "raised"]
