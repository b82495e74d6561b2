"""One position at a time, as people write it."""

from collections.abc import Sequence

import numpy as np

from envs.guandan.cards import (
    BACK,
    PASS,
    TRIBUTE,
    NoSuchCard,
    Notation,
    action_dtype,
    notation,
    pack,
    parse_action,
    parse_level,
    size_of,
)
from envs.guandan.comparison import reads_as
from envs.guandan.generation import LONGEST, plays

HAND_LIMIT = 28


def legal_actions(hand: Sequence[str], to_beat: Sequence[object] | None = None, level: str = "2") -> list[Notation]:
    """What a player with this hand may do.

        legal_actions(["S3", "H3", "C9"], ("Pair", "2", ["S2", "C2"]), level="7")
        [("PASS", "PASS", "PASS"), ("Pair", "3", ["H3", "S3"])]

    Args:
        hand: At most 28 cards, such as ``["S3", "HT", "SB"]``.
        to_beat: The move to beat, as kind, rank and cards; None, or a pass, for a leader.
        level: Rank of the round's level, ``"2"`` .. ``"A"``.

    Returns:
        Every distinct multiset of cards in every reading. The order says nothing.

    Raises:
        NoSuchCard: the hand is no hand, the level no level, or what is to be beaten is no combination.
    """
    low, high = (np.uint64(word) for word in pack(hand))
    if not 1 <= len(hand) <= HAND_LIMIT:
        raise NoSuchCard(f"a hand has 1 to {HAND_LIMIT} cards, not {len(hand)}")
    rank = parse_level(level)
    other = parse_action(("PASS", "PASS", "PASS") if to_beat is None else to_beat)[0]
    kind = int(other["kind"])
    if kind in (TRIBUTE, BACK) or not reads_as(other["low"], other["high"], kind, int(other["rank"]), rank):
        raise NoSuchCard(f"{to_beat!r} cannot be beaten: at level {level} its cards make no such combination")
    rows = np.empty(LONGEST, action_dtype)
    size = size_of(other["low"], other["high"]) if kind != PASS else 0
    count = plays(low, high, rank, kind, int(other["rank"]), int(size), rows, 0)
    return [notation(row) for row in rows[:count]]
