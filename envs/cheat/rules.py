"""Batches of games of Cheat, compiled: the deal, legal actions, steps, and each player's knowledge.

What happens to cards, health and turns is in `envs.cheat.turns`. This module applies it to every game of a batch and
keeps, beside it, what each player has observed (`seen` and `memory`).
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.cheat.cards import card_of, contains, count_of, larger, less, size_of, turned
from envs.cheat.turns import (
    ANSWERING,
    BY_EMPTY_HAND,
    BY_HEALTH,
    BY_PLY_LIMIT,
    CHALLENGE,
    DISCARDING,
    ENDINGS,
    LOG_BITS,
    PASS,
    RUNNING,
    Rules,
    answer,
    claim,
    end,
    log_width,
    loser_of,
    make_rules,
    must_challenge,
    pick,
    position_fields,
)
from envs.compiled import kernel
from envs.extensive import CHANCE
from envs.game import States

STOP, PICK = 2, 3
"""Actions of a discard that is picked card by card: `STOP` ends it; `PICK` adds a card of the current rank, `PICK + 1`
one of the next rank, and so on."""
SET = 2
"""First action of a discard that is chosen as a whole."""


@cache
def state_type(players: int) -> np.dtype[np.void]:
    """A game: its position, and the players' knowledge. Cards are words of `envs.cheat.cards`."""
    knowledge: list[Any] = [
        ("seen", np.uint64, (players, players)),  # [viewer, holder]: cards known to be in a hand, or put by the holder
        ("memory", np.uint64, (players,)),  # a digest of everything that each player has observed
        ("shown", np.uint64),  # cards shown by a challenge in the last transition
        ("ply", np.int32),
        ("last", np.int16),  # last action
        ("taken", np.int8),  # player who took the pile in the last transition, or -1
        ("lowest", np.int8),  # rank below which no card may be picked any more
    ]
    # With the position at another offset than in `learners.cheat_cfr.traversal.GAME`, Numba compiles the kernels of
    # `envs.cheat.turns` for each of the two types, instead of treating one as a subtype of the other with a warning.
    return np.dtype(knowledge + position_fields(players), align=True)


def new_games(batch: int, players: int, health: int) -> States:
    """Games before the deal, `state_type(players)[batch]`."""
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
        states: `B` games before the deal.
        deck: Every card as a word, `uint64[cards]`.
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
def begin(states, first):
    """Begins `B` games whose hands are dealt; player `first[b]` discards first in game b."""
    for b in range(states.shape[0]):
        begin_game(states[b], first[b])


@kernel
def begin_game(s, first):
    """Begins one game whose hands are dealt."""
    s.discarder = first
    s.mover = first
    s.last = -1
    for p in range(s.hand.shape[0]):
        s.memory[p] = mixed(np.uint64(p + 1), s.hand[p])


@kernel
def legal_sets(states, discards, rules, out):
    """Writes legal actions to `bool[B, SET + D]` where discards `uint64[D]` are chosen as a whole."""
    for b in range(states.shape[0]):
        s = states[b]
        answering = s.mover >= 0 and s.phase == ANSWERING
        discarding = s.mover >= 0 and s.phase == DISCARDING
        out[b, CHALLENGE] = answering
        out[b, PASS] = answering and not must_challenge(s, rules)
        hand = s.hand[s.mover] if discarding else np.uint64(0)
        row = out[b, SET:]
        for a in range(discards.shape[0]):
            row[a] = contains(hand, discards[a])


@kernel
def legal_picks(states, rules, out):
    """Writes legal actions to `bool[B, PICK + R]` where discards are picked card by card."""
    for b in range(states.shape[0]):
        s = states[b]
        answering = s.mover >= 0 and s.phase == ANSWERING
        discarding = s.mover >= 0 and s.phase == DISCARDING
        out[b, CHALLENGE] = answering
        out[b, PASS] = answering and not must_challenge(s, rules)
        picked = size_of(s.discard) if discarding else 0
        out[b, STOP] = discarding and picked > 0
        for rank in range(rules.ranks):
            out[b, PICK + rank] = discarding and rank >= s.lowest and count_of(s.hand[s.mover], rank) > 0


@kernel
def _is_legal(s, action, discards, rules):
    """Whether an action is legal for the player to move."""
    if s.phase == ANSWERING:
        return action == CHALLENGE or (action == PASS and not must_challenge(s, rules))
    if rules.picking:
        if action == STOP:
            return s.discard != 0
        rank = action - PICK
        return s.lowest <= rank < rules.ranks and rank >= 0 and count_of(s.hand[s.mover], rank) > 0
    return SET <= action < SET + discards.shape[0] and contains(s.hand[s.mover], discards[action - SET])


@kernel
def step(states, actions, discards, rules):
    """Plays `actions[b]` in each game b that is running.

    Returns:
        The first game whose action is not legal, or -1. If an action is not legal, no game has changed.
    """
    for b in range(states.shape[0]):
        if states[b].mover >= 0 and not _is_legal(states[b], np.int64(actions[b]), discards, rules):
            return b
    for b in range(states.shape[0]):
        if states[b].mover >= 0:
            play(states[b], np.int64(actions[b]), discards, rules)
    return -1


@kernel
def play(s, action, discards, rules):
    """Plays a legal action in one game."""
    s.ply += 1
    s.last = action
    s.shown = np.uint64(0)
    s.taken = -1
    if s.phase == ANSWERING:
        # What the players learn depends on the cards before the challenge moves them.
        if action == CHALLENGE:
            _observe_challenge(s)
        else:
            _remember(s, np.uint64(0), np.uint64(0), s.mover)
        answer(s, action, rules)
        if s.phase == DISCARDING:
            _turn_knowledge(s, rules.ranks)
    else:
        discarder = s.mover
        if rules.picking:
            _pick_or_stop(s, action, rules.most)
        else:
            pick(s, discards[action - SET])
            claim(s)
        _remember(s, np.uint64(1 + s.phase * s.claimed), s.discard, discarder)
    if s.mover >= 0 and rules.ply_limit > 0 and s.ply >= rules.ply_limit:
        end(s, -1, -1, BY_PLY_LIMIT)


@kernel
def _pick_or_stop(s, action, most):
    """Picks one card, or ends the discard; a discard that cannot grow is claimed immediately.

    Whether it can grow must follow from what all players see, here the sizes of discard and hand: if a discard ended by
    itself where no further card may be picked, the others would learn from it what the hand lacks.
    """
    if action != STOP:
        pick(s, card_of(action - PICK))
        s.lowest = action - PICK
    if action == STOP or size_of(s.discard) == most or s.hand[s.mover] == 0:
        claim(s)


@kernel
def mixed(digest, word):
    """The digest after one more word (SplitMix64's finaliser, Steele, Lea and Flood 2014)."""
    x = (digest ^ word) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def _remember(s, public, own, actor):
    """Adds public observations to all memories, and the actor's own actions to theirs."""
    for p in range(s.hand.shape[0]):
        s.memory[p] = mixed(s.memory[p], public)
    s.memory[actor] = mixed(s.memory[actor], own)


@kernel
def _observe_challenge(s):
    """Updates the players' knowledge by a challenge of the player to move, before the cards move."""
    loser = loser_of(s)
    pile = np.uint64(0)
    for p in range(s.hand.shape[0]):
        pile += s.put[p]
    _learn(s, loser, pile)
    s.shown = s.discard
    s.taken = loser
    for p in range(s.hand.shape[0]):
        s.memory[p] = mixed(s.memory[p], (s.discard << np.uint64(4)) + np.uint64(8 + s.mover))
    s.memory[loser] = mixed(s.memory[loser], pile)


@kernel
def _learn(s, loser, pile):
    """Updates `seen` for a challenge after which `loser` takes the pile.

    `seen` is a lower bound of the cards that a holder has in hand or has put into the pile. For the loser it grows by
    the cards that the viewer had put, and by those shown; for another holder it shrinks by those he may have put.
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
    """The cards of a multiset that are surely left after any `count` of its cards are removed."""
    kept = np.uint64(0)
    shift = np.uint64(0)
    while cards != 0:
        kept |= np.uint64(max(np.int64(cards & np.uint64(15)) - count, 0)) << shift
        cards >>= np.uint64(4)
        shift += np.uint64(4)
    return kept


@kernel
def _turn_knowledge(s, ranks):
    """Counts the known cards from the new rank, at the beginning of a turn."""
    players = s.hand.shape[0]
    for p in range(players):
        for q in range(players):
            s.seen[p, q] = turned(s.seen[p, q], ranks)
    s.lowest = 0


def utilities(states: States) -> NDArray[np.float64]:
    """Return of each player, `float64[B, players]`.

    A winner gets 1 and a player without health -1; the other players pay or receive equal shares of it.
    """
    players = states["hand"].shape[1]
    out = np.zeros((len(states), players))
    for field, gain in (("winner", 1.0), ("loser", -1.0)):
        rows = np.flatnonzero(states[field] >= 0)
        if field == "loser":
            rows = rows[states["winner"][rows] < 0]
        out[rows] = -gain / (players - 1)
        out[rows, states[field][rows]] = gain
    return out


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
    "PICK",
    "RUNNING",
    "SET",
    "STOP",
    "Rules",
    "begin",
    "deal",
    "legal_picks",
    "legal_sets",
    "log_width",
    "make_rules",
    "mixed",
    "new_games",
    "state_type",
    "step",
    "utilities",
]
