"""One turn of Cheat: a discard, the answers to it, and the step to the next turn (paper 001, 2.3 and 4.1.2), compiled.

In a turn the discarder lays 1 to `Rules.most` cards face down and claims that all of them are of the current rank. The
other players answer in order of play: each passes or challenges. A challenge shows the discard; whoever was wrong takes
the pile and loses a health point. Then the rank rises by one and the next player discards.

The kernels work on one record and touch the fields of `position_fields` only. They serve every record that has these
fields: the states of `envs.cheat.rules`, which add what each player knows, and the nodes of the tree that CFR walks
(`learners.cheat_cfr.traversal`), which do not need it.

Example, Mini-Cheat with 3 ranks of 2 cards; words of cards are written as counts by rank, the current rank first:

    rank A, player 0 to discard    hand [1 1 0] [0 1 2]   put [0 0 0] [0 0 0]   health 3 3
    pick(s, [0 1 0])               hand [1 0 0] [0 1 2]   discard [0 1 0]: a 2 instead of an Ace, which is a lie
    claim(s)                       put [0 1 0] [0 0 0]    claimed 1, player 1 to answer
    answer(s, CHALLENGE, rules)    player 0 lied, takes the pile and loses a point: hand [1 1 0] [0 1 2], health 2 3;
                                   the rank rises to 2, so the words turn: hand [1 0 1] [1 2 0], player 1 to discard
"""

from typing import NamedTuple

import numpy as np

from envs.cheat.cards import size_of, turned
from envs.compiled import kernel
from envs.extensive import OVER

PASS, CHALLENGE = 0, 1
DISCARDING, ANSWERING = 0, 1

RUNNING, BY_EMPTY_HAND, BY_HEALTH, BY_PLY_LIMIT = 0, 1, 2, 3
ENDINGS = ("running", "hand empty", "health gone", "ply limit")

LOG_BITS = 63
"""Bits of `log` in use. The log begins with a 1 bit, the newest turn is in its lowest bits, and the oldest turns are
dropped where they no longer fit."""


class Rules(NamedTuple):
    """The numbers that the rules depend on.

    Attributes:
        ranks: Ranks in the deck.
        most: Largest number of cards in a discard.
        width: Bits of one turn in the log.
        full: A log of this size or more has no space for another turn, `uint64`.
        picking: Whether discards are picked card by card.
        ply_limit: Number of decisions after which the game is drawn; 0 for no limit.
        challenge_last: Whether a discard that empties the hand must be challenged.
    """

    ranks: int
    most: int
    width: int
    full: np.uint64
    picking: bool
    ply_limit: int
    challenge_last: bool


def make_rules(ranks: int, most: int, picking: bool = False, ply_limit: int = 0, challenge_last: bool = False) -> Rules:
    """Rules of a game, see `Rules`."""
    width = log_width(most)
    full = np.uint64(1 << (LOG_BITS - 1) // width * width)
    return Rules(ranks, most, width, full, picking, ply_limit, challenge_last)


def log_width(most: int) -> int:
    """Bits of one turn in the log: one for whether it was challenged, the others for the claim of 1 to `most` cards."""
    return 1 + (most - 1).bit_length()


def position_fields(players: int) -> list[tuple[object, ...]]:
    """Fields of a record that the kernels below need; cards are words of `envs.cheat.cards`."""
    return [
        ("hand", np.uint64, (players,)),
        ("put", np.uint64, (players,)),  # cards that each player has put into the present pile
        ("discard", np.uint64),  # the last discard, or the cards picked so far for the next one
        ("log", np.uint64),  # finished turns: number of cards claimed, and whether it was challenged
        ("health", np.int16, (players,)),  # 0 means no limit
        ("mover", np.int8),  # player to move, or `CHANCE` or `OVER`
        ("rank", np.int8),  # current rank, counted from Ace
        ("discarder", np.int8),
        ("phase", np.int8),  # `DISCARDING` or `ANSWERING`
        ("claimed", np.int8),  # size of the discard that is answered
        ("passes", np.int8),  # players who have passed on it
        ("winner", np.int8),  # or -1
        ("loser", np.int8),  # player who has no health left, or -1
        ("ending", np.int8),
    ]


@kernel
def pick(s, cards):
    """Moves cards from the hand of the player to move to the discard."""
    s.hand[s.mover] -= cards
    s.discard += cards


@kernel
def claim(s):
    """Lays the discard face down on the pile; the next player answers."""
    s.claimed = size_of(s.discard)
    s.put[s.mover] += s.discard
    s.phase = ANSWERING
    s.passes = 0
    s.mover = (s.mover + 1) % len(s.hand)


@kernel
def must_challenge(s, rules):
    """Whether the player to move, who answers, may not pass: the last one to answer a discard that empties the hand."""
    return rules.challenge_last and s.hand[s.discarder] == 0 and s.passes == len(s.hand) - 2


@kernel
def answer(s, action, rules):
    """Passes on or challenges the claim; then another player answers, the game ends, or the next turn begins."""
    challenged = action == CHALLENGE
    loser = -1
    if challenged:
        loser = loser_of(s)
        for p in range(len(s.hand)):
            s.hand[loser] += s.put[p]
            s.put[p] = np.uint64(0)
    else:
        s.passes += 1
        if s.passes < len(s.hand) - 1:
            s.mover = (s.mover + 1) % len(s.hand)
            return
    if challenged and _lose_point(s, loser):
        end(s, 1 - loser if len(s.hand) == 2 else -1, loser, BY_HEALTH)
    elif s.hand[s.discarder] == 0:
        end(s, s.discarder, -1, BY_EMPTY_HAND)
    else:
        _next_turn(s, challenged, rules)


@kernel
def loser_of(s):
    """Player who loses if the player to move challenges: the discarder if any card is not of the claimed rank."""
    return s.discarder if s.discard >> np.uint64(4) != 0 else s.mover


@kernel
def _lose_point(s, player):
    """Takes a health point from a player; returns whether it was the last one."""
    if s.health[player] == 0:  # no limit
        return False
    s.health[player] -= 1
    return s.health[player] == 0


@kernel
def _next_turn(s, challenged, rules):
    """Writes the turn into the log, raises the rank and lets the next player discard."""
    s.log = logged(s.log, s.claimed, challenged, rules)
    for p in range(len(s.hand)):
        s.hand[p] = turned(s.hand[p], rules.ranks)
        s.put[p] = turned(s.put[p], rules.ranks)
    s.rank = s.rank + 1 if s.rank + 1 < rules.ranks else 0
    s.discarder = (s.discarder + 1) % len(s.hand)
    s.mover = s.discarder
    s.phase = DISCARDING
    s.discard = np.uint64(0)
    s.claimed = 0


@kernel
def logged(log, claimed, challenged, rules):
    """The log with one more turn; the oldest turn is dropped if the log is full."""
    if log >= rules.full:  # the leading 1 takes the place of the oldest turn
        rest = rules.full >> np.uint64(rules.width)
        log = rest | (log & (rest - np.uint64(1)))
    entry = 2 * (np.int64(claimed) - 1) + (1 if challenged else 0)
    return (log << np.uint64(rules.width)) | np.uint64(entry)


@kernel
def end(s, winner, loser, ending):
    """Ends the game; `winner` and `loser` are -1 where there is none."""
    s.winner = winner
    s.loser = loser
    s.ending = ending
    s.mover = OVER


__all__ = [
    "ANSWERING",
    "BY_EMPTY_HAND",
    "BY_HEALTH",
    "BY_PLY_LIMIT",
    "CHALLENGE",
    "DISCARDING",
    "ENDINGS",
    "LOG_BITS",
    "PASS",
    "RUNNING",
    "Rules",
    "answer",
    "claim",
    "end",
    "log_width",
    "logged",
    "loser_of",
    "make_rules",
    "must_challenge",
    "pick",
    "position_fields",
]
