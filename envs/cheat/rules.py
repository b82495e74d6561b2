"""The rules of Cheat on a batch of games, compiled (paper 001, 2.3 and 4.1.2).

A turn is a discard and the answers to it. The discarder lays 1 to `most` cards face down and claims that all are of the
current rank; the others in turn pass or challenge. A challenge shows the cards: the loser takes the whole pile and
loses a health point. Then the rank rises and the next player discards.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from envs.cheat.cards import card_of, contains, count_of, larger, less, size_of, turned
from envs.compiled import kernel
from envs.extensive import CHANCE, OVER
from envs.game import States

PASS, CHALLENGE = 0, 1
STOP, PICK = 2, 3
"""Actions of a discard that is picked card by card: that was all; a card of the current rank, `PICK + 1` the next."""
SET = 2
"""First action of a discard that is chosen as a whole."""

DISCARDING, ANSWERING = 0, 1

RUNNING, BY_EMPTY_HAND, BY_HEALTH, BY_PLY_LIMIT = 0, 1, 2, 3
ENDINGS = ("running", "hand empty", "health gone", "ply limit")

LOG_BITS = 63
"""Of `log`, which begins with a 1 and has the newest turn in its lowest bits; the oldest turns are left out."""


@cache
def state_type(players: int) -> np.dtype[np.void]:
    """A game: cards are words of `envs.cheat.cards`, counted from the current rank."""
    return np.dtype(
        [
            ("hand", np.uint64, (players,)),
            ("put", np.uint64, (players,)),  # what each has put into the present pile
            ("seen", np.uint64, (players, players)),  # [viewer, holder]: known to be in his hand or put by him
            ("memory", np.uint64, (players,)),  # a digest of all that each has observed
            ("discard", np.uint64),  # the last one, or what has been picked for the next
            ("shown", np.uint64),  # by a challenge in the last transition
            ("log", np.uint64),  # turns that are over: cards claimed and whether challenged
            ("health", np.int16, (players,)),
            ("ply", np.int32),
            ("last", np.int16),  # last action
            ("taken", np.int8),  # who took the pile in the last transition, or -1
            ("mover", np.int8),
            ("rank", np.int8),  # current rank, from Ace
            ("discarder", np.int8),
            ("phase", np.int8),
            ("claimed", np.int8),  # cards of the last discard
            ("lowest", np.int8),  # rank below which nothing may be picked any more
            ("passes", np.int8),
            ("winner", np.int8),  # or -1
            ("loser", np.int8),  # whose health is gone, or -1
            ("ending", np.int8),
        ],
        align=True,
    )


def new_games(batch: int, players: int, health: int) -> States:
    """Games before the deal."""
    states = np.zeros(batch, state_type(players))
    states["mover"] = CHANCE
    states["health"] = health
    states["log"] = 1
    for name in ("winner", "loser", "taken"):
        states[name] = -1
    return states


@kernel
def deal(states, deck, each, draws):
    """Deals `each` cards to every player, in place, and draws who begins.

    Args:
        states: Games before the deal.
        deck: Every card as a word.
        each: Cards of each player; 0 deals all of them, one by one.
        draws: Uniform draws from [0, 1), `float64[B, 1 + cards]`.
    """
    players = states["hand"].shape[1]
    count = deck.shape[0] if each == 0 else each * players
    left = deck.copy()
    for b in range(states.shape[0]):
        s = states[b]
        left[:] = deck
        for i in range(count):
            j = i + np.int64(draws[b, 1 + i] * (deck.shape[0] - i))
            left[i], left[j] = left[j], left[i]
            s.hand[i % players] += left[i]
        begin_game(s, np.int64(draws[b, 0] * players))


@kernel
def begin_game(s, first):
    """The hands are dealt; that player begins."""
    s.discarder = first
    s.mover = first
    s.last = -1
    for p in range(s.hand.shape[0]):
        s.memory[p] = mixed(np.uint64(p + 1), s.hand[p])


@kernel
def mixed(digest, word):
    """The digest after one more word (SplitMix64's finaliser, Steele, Lea and Flood 2014)."""
    x = (digest ^ word) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def legal_sets(states, discards, out):
    """Legal actions into `bool[B, SET + D]`, of discards that are chosen as a whole."""
    for b in range(states.shape[0]):
        s = states[b]
        answering = s.mover >= 0 and s.phase == ANSWERING
        discarding = s.mover >= 0 and s.phase == DISCARDING
        out[b, PASS] = out[b, CHALLENGE] = answering
        hand = s.hand[s.mover] if discarding else np.uint64(0)
        row = out[b, SET:]
        for a in range(discards.shape[0]):
            row[a] = contains(hand, discards[a])


@kernel
def legal_picks(states, ranks, most, out):
    """The same into `bool[B, PICK + R]`, of discards that are picked card by card."""
    for b in range(states.shape[0]):
        s = states[b]
        answering = s.mover >= 0 and s.phase == ANSWERING
        discarding = s.mover >= 0 and s.phase == DISCARDING
        out[b, PASS] = out[b, CHALLENGE] = answering
        picked = size_of(s.discard) if discarding else 0
        out[b, STOP] = discarding and picked > 0
        for rank in range(ranks):
            out[b, PICK + rank] = discarding and rank >= s.lowest and count_of(s.hand[s.mover], rank) > 0


@kernel
def _fits(s, action, discards, ranks, picking):
    """Whether an action is legal for the player to move."""
    if s.phase == ANSWERING:
        return PASS <= action <= CHALLENGE
    if picking:
        if action == STOP:
            return s.discard != 0
        rank = action - PICK
        return s.lowest <= rank < ranks and rank >= 0 and count_of(s.hand[s.mover], rank) > 0
    return SET <= action < SET + discards.shape[0] and contains(s.hand[s.mover], discards[action - SET])


@kernel
def step(states, actions, discards, ranks, most, picking, ply_limit):
    """Plays `actions[b]` in game b where it runs; returns the first game whose action is not legal, else -1.

    Nothing has changed where an action is not legal.
    """
    for b in range(states.shape[0]):
        if states[b].mover >= 0 and not _fits(states[b], np.int64(actions[b]), discards, ranks, picking):
            return b
    for b in range(states.shape[0]):
        if states[b].mover >= 0:
            play(states[b], np.int64(actions[b]), discards, ranks, most, picking, ply_limit)
    return -1


@kernel
def play(s, action, discards, ranks, most, picking, ply_limit):
    """Plays a legal action."""
    s.ply += 1
    s.last = action
    s.shown = np.uint64(0)
    s.taken = -1
    actor = s.mover
    if s.phase == ANSWERING:
        if action == CHALLENGE:
            _challenge(s, actor, ranks, most)
        else:
            s.passes += 1
            _remember(s, np.uint64(0), np.uint64(0), actor)
            if s.passes == s.hand.shape[0] - 1:
                if s.hand[s.discarder] == 0:
                    _end(s, s.discarder, -1, BY_EMPTY_HAND)
                else:
                    _next_turn(s, False, ranks, most)
            else:
                s.mover = (actor + 1) % s.hand.shape[0]
    else:
        card = card_of(action - PICK) if picking else discards[action - SET]
        if not picking:
            s.discard = np.uint64(0)
        if not picking or action != STOP:
            s.discard += card
            s.hand[actor] -= card
        if picking and action != STOP:
            s.lowest = action - PICK
        if not picking or action == STOP or not _more_to_pick(s, actor, most):
            s.claimed = size_of(s.discard)
            s.put[actor] += s.discard
            s.phase = ANSWERING
            s.passes = 0
            s.mover = (actor + 1) % s.hand.shape[0]
        _remember(s, np.uint64(1 + s.phase * s.claimed), s.discard, actor)
    if s.mover >= 0 and ply_limit > 0 and s.ply >= ply_limit:
        _end(s, -1, -1, BY_PLY_LIMIT)


@kernel
def _more_to_pick(s, actor, most):
    """Whether the discarder goes on, if only to say that it was all.

    That must follow from what all can see, here the sizes of discard and hand: were a discard to end of itself where no
    card may follow, the others would learn from it what the hand lacks.
    """
    return size_of(s.discard) < most and s.hand[actor] != 0


@kernel
def _remember(s, public, own, actor):
    """Adds to everybody's memory what all saw, and to the actor's what he did."""
    for p in range(s.hand.shape[0]):
        s.memory[p] = mixed(s.memory[p], public)
    s.memory[actor] = mixed(s.memory[actor], own)


@kernel
def _challenge(s, challenger, ranks, most):
    """Shows the last discard; the loser takes the pile and loses a health point."""
    d = s.discarder
    lie = s.discard >> np.uint64(4) != 0
    loser = d if lie else challenger
    pile = np.uint64(0)
    for p in range(s.hand.shape[0]):
        pile += s.put[p]
    _learn(s, loser, pile)
    s.hand[loser] += pile
    s.put[:] = np.uint64(0)
    s.shown = s.discard
    s.taken = loser
    gone = s.health[loser] == 1  # 0 is no limit, and stays
    if s.health[loser] > 0:
        s.health[loser] -= 1
    for p in range(s.hand.shape[0]):
        s.memory[p] = mixed(s.memory[p], (s.discard << np.uint64(4)) + np.uint64(8 + challenger))
    s.memory[loser] = mixed(s.memory[loser], pile)
    if gone:
        _end(s, 1 - loser if s.hand.shape[0] == 2 else -1, loser, BY_HEALTH)
    elif s.hand[d] == 0:
        _end(s, d, -1, BY_EMPTY_HAND)
    else:
        _next_turn(s, True, ranks, most)


@kernel
def _learn(s, loser, pile):
    """What each player knows of the others' cards after the loser has taken the pile.

    `seen` bounds from below what a holder has in his hand or has put himself. The loser's grows by what the viewer had
    put, and by what was shown; another holder's shrinks by what he may have put.
    """
    players = s.hand.shape[0]
    for viewer in range(players):
        for holder in range(players):
            if holder == viewer:
                continue
            known = s.seen[viewer, holder]
            if holder == loser:
                if s.discarder == loser:
                    known = larger(known, s.discard)
                elif s.discarder != viewer:
                    known += s.discard
                s.seen[viewer, holder] = known + s.put[viewer]
            elif viewer == loser and players == 2:
                s.seen[viewer, holder] = less(known, s.put[holder])
            else:
                gone = s.put[holder]
                if holder == s.discarder:
                    known = less(known, s.discard)
                    gone -= s.discard
                s.seen[viewer, holder] = _less_any(known, size_of(gone))


@kernel
def _less_any(cards, count):
    """What is surely left of a multiset after that many cards of it, no matter which."""
    kept = np.uint64(0)
    shift = np.uint64(0)
    while cards != 0:
        kept |= np.uint64(max(np.int64(cards & np.uint64(15)) - count, 0)) << shift
        cards >>= np.uint64(4)
        shift += np.uint64(4)
    return kept


@kernel
def log_width(most):
    """Bits of a turn in `log`: whether challenged, and the claim."""
    bits = 1
    while 1 << (bits - 1) < most:
        bits += 1
    return bits


@kernel
def logged(log, claimed, challenged, most):
    """The log after one more turn."""
    width = log_width(most)
    rest = np.uint64(1) << np.uint64((LOG_BITS - 1) // width * width - width)  # where it begins without the oldest turn
    if log >= rest << np.uint64(width):
        log = rest | (log & (rest - np.uint64(1)))
    entry = 2 * (np.int64(claimed) - 1) + (1 if challenged else 0)
    return (log << np.uint64(width)) | np.uint64(entry)


@kernel
def _next_turn(s, challenged, ranks, most):
    """The rank rises, and the next player discards."""
    players = s.hand.shape[0]
    s.log = logged(s.log, s.claimed, challenged, most)
    for p in range(players):
        s.hand[p] = turned(s.hand[p], ranks)
        s.put[p] = turned(s.put[p], ranks)
        for q in range(players):
            s.seen[p, q] = turned(s.seen[p, q], ranks)
    s.rank = (s.rank + 1) % ranks
    s.discarder = (s.discarder + 1) % players
    s.mover = s.discarder
    s.phase = DISCARDING
    s.discard = np.uint64(0)
    s.claimed = 0
    s.lowest = 0


@kernel
def _end(s, winner, loser, ending):
    s.winner = winner
    s.loser = loser
    s.ending = ending
    s.mover = OVER


def utilities(states: States) -> NDArray[np.float64]:
    """Return of each player, `float64[B, players]`: who wins gets 1 and who loses his health -1, from or to the others
    in equal shares."""
    players = states["hand"].shape[1]
    out = np.zeros((len(states), players))
    for field, gain in (("winner", 1.0), ("loser", -1.0)):
        rows = np.flatnonzero(states[field] >= 0)
        if field == "loser":
            rows = rows[states["winner"][rows] < 0]
        out[rows] = -gain / (players - 1)
        out[rows, states[field][rows]] = gain
    return out


@kernel
def begin(states, first):
    """The hands are dealt; player `first[b]` begins game b."""
    for b in range(states.shape[0]):
        begin_game(states[b], first[b])
