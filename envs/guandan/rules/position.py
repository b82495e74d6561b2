"""Legal actions of a single position, in the notation for people."""

from collections.abc import Sequence

import numpy as np

from envs.guandan.rules.cards import (
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
from envs.guandan.rules.comparison import reads_as
from envs.guandan.rules.generation import LONGEST, plays

HAND_LIMIT = 28


def legal_actions(hand: Sequence[str], to_beat: Sequence[object] | None = None, level: str = "2") -> list[Notation]:
    """Lists the legal actions of a player with a hand.

        legal_actions(["S3", "H3", "C9"], ("Pair", "2", ["S2", "C2"]), level="7")
        [("PASS", "PASS", "PASS"), ("Pair", "3", ["H3", "S3"])]

    Args:
        hand: At most 28 cards, such as ``["S3", "HT", "SB"]``.
        to_beat: The move to beat as kind, rank and cards; None or a pass if the player leads.
        level: Rank of the round's level, ``"2"`` .. ``"A"``.

    Returns:
        Every distinct multiset of cards in every reading.

    Raises:
        NoSuchCard: invalid hand or level, or `to_beat` is not a combination.
    """
    low, high = (np.uint64(word) for word in pack(hand))
    if not 1 <= len(hand) <= HAND_LIMIT:
        raise NoSuchCard(f"a hand must have 1 to {HAND_LIMIT} cards, got {len(hand)}")
    rank = parse_level(level)
    other = parse_action(("PASS", "PASS", "PASS") if to_beat is None else to_beat)[0]
    kind = int(other["kind"])
    if kind in (TRIBUTE, BACK) or not reads_as(other["low"], other["high"], kind, int(other["rank"]), rank):
        raise NoSuchCard(
            f"to_beat must be a combination: at level {level} the cards of {to_beat!r} are not one of that kind"
        )
    rows = np.empty(LONGEST, action_dtype)
    size = size_of(other["low"], other["high"]) if kind != PASS else 0
    count = plays(low, high, rank, kind, int(other["rank"]), int(size), rows, 0)
    return [notation(row) for row in rows[:count]]
