"""Numbers of infosets of two-player Cheat under readings of the history in them (paper 001, Tables 1 and 2).

The paper does not say which turns the history of History-Aware and General contains, what of them, nor what a "round"
is. `count_histories` walks every game once and counts the infosets of several readings at the same time.

Example: three turns have ended, claims of 1, 2 and 1 card, the second of which was challenged and was a lie. Infosets
distinguish, in addition to player, hand and claim or pile (and rank, health):

    every turn: claim, challenged        (1, no) (2, yes) (1, no)
    challenged turns: claim, lie         (2, lie)
    the last 2 turns: claim, challenged  (2, yes) (1, no)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from envs.cheat import Cheat
from envs.cheat.cards import size_of
from envs.cheat.rules import mixed
from envs.cheat.turns import ANSWERING, CHALLENGE, answer, claim, loser_of, pick
from envs.compiled import kernel
from learners.cheat_cfr.traversal import list_moves, make_scratch, place_root

CLAIM, CHALLENGED, CHALLENGED_CLAIM, LIE, SHOWN, PILE = (1 << bit for bit in range(6))
"""Contents of an entry: the number of cards claimed; whether it was challenged; and, of challenged turns only, the
number of cards claimed, whether it was a lie, the cards shown (ranks counted from the claimed one), and the number of
cards in the pile that the loser took."""
WHOLE, LAST, WITHOUT_FIRST, PILES = range(4)
"""Parts of a history: all entries, the last n, all but the first n, and those since the last n - 1 challenges."""


@dataclass(frozen=True)
class History:
    """A reading of the history in an infoset.

    Attributes:
        name: Description in a table.
        content: Sum of the contents of an entry.
        challenged: Whether only challenged turns have an entry.
        part: `WHOLE`, `LAST`, `WITHOUT_FIRST` or `PILES`.
        size: The n of `part`.
        own: Whether only the discards of the player to move have an entry.
    """

    name: str
    content: int
    challenged: bool = False
    part: int = WHOLE
    size: int = 0
    own: bool = False


TURN = np.dtype(
    [
        ("discarder", np.int8),
        ("claimed", np.int8),
        ("challenged", np.bool_),
        ("lie", np.bool_),
        ("pile", np.int8),
        ("shown", np.uint64),
    ],
    align=True,
)
"""A finished turn; `shown` is 0 if it was not challenged."""


def count_histories(game: Cheat, histories: Sequence[History]) -> NDArray[np.int64]:
    """Counts the infosets of both players that can be reached, for each of H readings.

    Args:
        game: Cheat for two players with ``discards="sets"`` and limited health.
        histories: The readings.

    Returns:
        `int64[H, 2, 2]`: with and without the rank in the infoset (without and with Cards abstraction); and without
        and with health (History-Aware and General). Infosets are told apart by digests of 64 bits, of which two among
        ten million are equal with a probability of 1 in 300,000.
    """
    read = np.array([(h.content, h.challenged, h.part, h.size, h.own) for h in histories], np.int64)
    counts = np.zeros((len(histories), 2, 2), np.int64)
    scratch, slots = make_scratch(game.spec.max_plies + 2, game.spec.num_actions), np.zeros(1 << 16, np.uint64)
    turns = np.zeros(game.spec.max_plies + 2, TURN)
    hands, _ = game.deals()
    used = 0
    for first in (0, 1):
        for deal in hands:
            place_root(scratch, deal, first, game.health)
            slots, used = _walk(scratch, turns, game.rule_set, game.sets, read, counts, slots, used)
    return counts


@kernel
def _walk(scratch, turns, rules, discards, read, counts, slots, used):
    """Walks the tree below the root in `scratch`; returns the set of digests `uint64[S]` and how many it has."""
    games, frames, moves, _ = scratch
    depth, arriving = 0, True
    ended = np.zeros(games.shape[0], np.int64)  # turns that have ended before each node of the path
    while depth >= 0:
        game, frame = games[depth], frames[depth]
        if arriving:
            frame.count = 2 if game.phase == ANSWERING else list_moves(game, discards, moves, depth)
            frame.next = 0
            if used + 4 * read.shape[0] > slots.shape[0] // 2:
                slots = _larger(slots)
            used += _record(game, turns, ended[depth], read, counts, slots)
        if frame.next == frame.count:
            depth -= 1
            arriving = False
            continue
        child, action = games[depth + 1], frame.next
        games[depth + 1] = game
        frame.next += 1
        ended[depth + 1] = ended[depth]
        if game.phase == ANSWERING:
            turn = turns[ended[depth]]
            turn.discarder, turn.claimed, turn.challenged = game.discarder, game.claimed, action == CHALLENGE
            turn.lie = turn.challenged and loser_of(game) == game.discarder
            turn.shown = game.discard if turn.challenged else np.uint64(0)
            turn.pile = size_of(game.put[0]) + size_of(game.put[1])
            answer(child, action, rules)
            ended[depth + 1] += 1
        else:
            pick(child, discards[moves[depth, action]])
            claim(child)
        arriving = child.winner < 0
        if arriving:
            depth += 1
    return slots, used


@kernel
def _record(game, turns, ended, read, counts, slots):
    """Adds the infosets of a node under all readings to the set and to `counts`; returns how many are new."""
    mover, new = game.mover, 0
    kind = 1 + game.claimed if game.phase == ANSWERING else (1 if game.put[0] | game.put[1] != 0 else 0)
    place = mixed(mixed(np.uint64(1), np.uint64(2 * kind + mover)), game.hand[mover])
    health = np.uint64(1 + 256 * np.int64(game.health[mover]) + np.int64(game.health[1 - mover]))
    for h in range(read.shape[0]):
        history = mixed(_digest(turns, ended, mover, read[h]), np.uint64(h))
        for cards in range(2):
            rank = np.uint64(99 if cards == 1 else game.rank)
            base = mixed(mixed(place, rank), history)
            new += _added(slots, base, counts, h, cards, 0) + _added(slots, mixed(base, health), counts, h, cards, 1)
    return new


@kernel
def _digest(turns, ended, mover, read):
    """Digest of the history that a reading leaves to the player to move of `ended` turns."""
    content, challenged, part, size = read[0], read[1] != 0, read[2], read[3]
    begin, found = 0, 0
    if part == WITHOUT_FIRST:
        begin = size
    elif part != WHOLE:
        for i in range(ended - 1, -1, -1):
            if part == LAST and (turns[i].challenged or not challenged):
                found += 1
                if found == size:
                    begin = i
                    break
            elif part == PILES and turns[i].challenged:
                found += 1
                if found == size:
                    begin = i + 1
                    break
    digest = np.uint64(1)
    for i in range(begin, ended):
        turn = turns[i]
        if (challenged and not turn.challenged) or (read[4] != 0 and turn.discarder != mover):
            continue
        entry = np.uint64(1)
        if content & CLAIM:
            entry += np.uint64(2 * turn.claimed)
        if content & CHALLENGED and turn.challenged:
            entry += np.uint64(1 << 8)
        if turn.challenged:
            if content & CHALLENGED_CLAIM:
                entry += np.uint64(turn.claimed << 12)
            if content & LIE:
                entry += np.uint64((1 + turn.lie) << 16)
            if content & PILE:
                entry += np.uint64(turn.pile << 20)
            if content & SHOWN:
                entry += turn.shown << np.uint64(28)
        digest = mixed(digest, entry)
    return digest


@kernel
def _added(slots, digest, counts, h, cards, health):
    """Adds a digest to the set, and 1 to its count if it is new; returns 1 then, otherwise 0."""
    digest |= np.uint64(1)  # 0 marks a free slot
    mask = np.uint64(slots.shape[0] - 1)
    at = (digest >> np.uint64(1)) & mask
    while slots[at] != 0:
        if slots[at] == digest:
            return 0
        at = (at + np.uint64(1)) & mask
    slots[at] = digest
    counts[h, cards, health] += 1
    return 1


@kernel
def _larger(slots):
    """The same set with twice the slots."""
    larger = np.zeros(2 * slots.shape[0], np.uint64)
    mask = np.uint64(larger.shape[0] - 1)
    for i in range(slots.shape[0]):
        if slots[i] != 0:
            at = (slots[i] >> np.uint64(1)) & mask
            while larger[at] != 0:
                at = (at + np.uint64(1)) & mask
            larger[at] = slots[i]
    return larger


__all__ = [
    "CHALLENGED",
    "CHALLENGED_CLAIM",
    "CLAIM",
    "LAST",
    "LIE",
    "PILE",
    "PILES",
    "SHOWN",
    "WHOLE",
    "WITHOUT_FIRST",
    "History",
    "count_histories",
]
