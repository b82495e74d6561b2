"""Chance-sampled CFR below one deal of two-player Cheat (Zinkevich et al. 2008; paper 001, 2.4), compiled.

The whole tree below the deal is walked once with a stack of frames, for both players at a time. The strategy of an
iteration is fixed when it first meets an infoset: with imperfect recall it meets one again and again.
"""

import numpy as np

from envs.cheat.cards import contains, size_of, turned
from envs.cheat.rules import LOG_BITS, log_width, logged
from envs.compiled import kernel
from learners.cfr.cheat.keys import KIND_BITS, PLAYER_BITS, RANK_BITS, second_word
from learners.cfr.cheat.table import HEAD, LOAD, enlarged, lengthened, match_regrets, probe, record_size

FRAME = np.dtype(
    [
        ("hand", np.uint64, (2,)),
        ("pile", np.uint64),
        ("discard", np.uint64),
        ("log", np.uint64),
        ("reach", np.float64, (2,)),
        ("value", np.float64),  # of player 0, so far
        ("at", np.int64),  # the infoset's numbers
        ("health", np.int32, (2,)),
        ("count", np.int32),
        ("next", np.int32),
        ("discarder", np.int8),
        ("mover", np.int8),
        ("rank", np.int8),
        ("claimed", np.int8),  # 0 while a discard is chosen
    ],
    align=True,
)

DONE, LOG_FULL = 0, 1


@kernel
def traverse_deals(
    slots, used, values, filled, form, sets, hands, first, health, frames, moves, utilities, stamp, learn
):
    """Iterations below deals, one after the other; arguments are those of `traverse`.

    Args:
        hands, first: The deals, `uint64[n, 2]` and `int64[n]`.
        stamp: The first iteration.

    Returns:
        The table, the sum of the values of player 0, number of nodes, `DONE` or `LOG_FULL`.
    """
    total, nodes, status = 0.0, 0, DONE
    for i in range(hands.shape[0]):
        table = slots, used, values, filled
        deal = form, sets, hands[i], first[i], health
        slots, used, values, filled, value, walked, status = traverse(
            table, deal, frames, moves, utilities, stamp + i, learn
        )
        total += value
        nodes += walked
        if status != DONE:
            break
    return slots, used, values, filled, total, nodes, status


@kernel
def traverse(table, deal, frames, moves, utilities, stamp, learn):
    """One iteration below a deal.

    Args:
        table: Slots, how many are used, numbers, and how many are filled, see `learners.cfr.cheat.table`.
        deal: Form of the keys, see `learners.cfr.cheat.keys`; every discard; hands, who begins, and health points.
        frames, moves, utilities: Room: `FRAME[D]`, `int32[D, A]`, `float64[D, A]`.
        stamp: The iteration, from 1.
        learn: Whether regrets and sums are added; else infosets are only listed.

    Returns:
        The table, value of player 0, number of nodes, `DONE` or `LOG_FULL`.
    """
    slots, used, values, filled = table
    form, sets, hands, first, health = deal
    ranks, width, cap, turns = form[0], np.uint64(log_width(form[1])), form[4], form[5]
    kind_shift = np.uint64(4 * ranks)
    player_shift = kind_shift + np.uint64(KIND_BITS)
    rank_shift = player_shift + np.uint64(PLAYER_BITS)
    own_shift = rank_shift + np.uint64(RANK_BITS)
    other_shift = own_shift + np.uint64(form[3])
    knows_rank, knows_health = form[2] != 0, form[3] != 0
    log_end = np.uint64(1) << (np.uint64(LOG_BITS) - width)
    nodes = np.int64(0)
    root = frames[0]
    root.hand[0], root.hand[1] = hands[0], hands[1]
    root.pile = root.discard = np.uint64(0)
    root.log = np.uint64(1)
    root.reach[0] = root.reach[1] = 1.0
    root.health[0] = root.health[1] = health
    root.discarder = root.mover = first
    root.rank = 0
    root.claimed = 0
    depth = 0
    entering = True
    while True:
        f = frames[depth]
        if entering:  # find the infoset
            nodes += 1
            p = f.mover
            kind = 1 + f.claimed if f.claimed > 0 else (1 if f.pile != 0 else 0)
            word = f.hand[p] | (np.uint64(kind) << kind_shift) | (np.uint64(p) << player_shift)
            if knows_rank:
                word |= np.uint64(f.rank) << rank_shift
            if knows_health:
                word |= np.uint64(min(f.health[p], cap)) << own_shift
                word |= np.uint64(min(f.health[1 - p], cap)) << other_shift
            known = np.uint64(0)
            if turns == 0:
                known = f.log
            elif turns > 0:
                known = second_word(form, f.log)
            if f.claimed > 0:
                count = 2
            else:
                count = 0
                for a in range(sets.shape[0]):
                    if contains(f.hand[p], sets[a]):
                        moves[depth, count] = a
                        count += 1
            place = probe(slots, word, known)
            if slots[place].count == 0:
                if used + 1 > LOAD * slots.shape[0]:
                    slots = enlarged(slots)
                    place = probe(slots, word, known)
                size = record_size(count)
                values = lengthened(values, filled, filled + size)
                slots[place].first, slots[place].second = word, known
                slots[place].at, slots[place].count = filled, count
                filled += size
                used += 1
            slots[place].visited = 1
            f.at = slots[place].at
            f.count = count
            f.next = 0
            f.value = 0.0
            if values[f.at] != stamp:
                match_regrets(values, f.at, count, stamp)
            entering = False
        if f.next == f.count:  # all actions are done
            if learn:
                p = f.mover
                sign = 1.0 if p == 0 else -1.0
                counterfactual = sign * f.reach[1 - p]
                regrets, sums, policy = f.at + HEAD, f.at + HEAD + f.count, f.at + HEAD + 2 * f.count
                for a in range(f.count):
                    values[regrets + a] += counterfactual * (utilities[depth, a] - f.value)
                    values[sums + a] += f.reach[p] * values[policy + a]
            if depth == 0:
                return slots, used, values, filled, f.value, nodes, DONE
            value = f.value
            depth -= 1
            g = frames[depth]
            utilities[depth, g.next] = value
            g.value += value * values[g.at + HEAD + 2 * g.count + g.next]
            g.next += 1
            continue
        # the next action: its end, or its node
        p = f.mover
        chance = values[f.at + HEAD + 2 * f.count + f.next]
        if learn and f.reach[1 - p] == 0 and (chance == 0 or f.reach[p] == 0):  # nothing below has any weight
            utilities[depth, f.next] = 0.0
            f.next += 1
            continue
        d = f.discarder
        c = frames[depth + 1]
        won = -1
        if f.claimed == 0:
            discard = sets[moves[depth, f.next]]
            c.hand[0], c.hand[1] = f.hand[0], f.hand[1]
            c.hand[p] -= discard
            c.pile = f.pile + discard
            c.discard = discard
            c.log = f.log
            c.health[0], c.health[1] = f.health[0], f.health[1]
            c.discarder, c.mover = d, 1 - p
            c.rank = f.rank
            c.claimed = size_of(discard)
        else:
            challenged = f.next == 1
            loser = -1
            if challenged:
                loser = d if f.discard >> np.uint64(4) != 0 else p
                if f.health[loser] == 1:
                    won = 1 - loser
                elif f.hand[d] == 0 and loser != d:
                    won = d
            elif f.hand[d] == 0:
                won = d
            if won < 0:
                if f.log >= log_end and turns == 0:
                    return slots, used, values, filled, 0.0, nodes, LOG_FULL
                for q in range(2):
                    c.hand[q] = turned(f.hand[q] + f.pile if q == loser else f.hand[q], ranks)
                    c.health[q] = f.health[q] - 1 if q == loser else f.health[q]
                c.pile = np.uint64(0) if challenged else turned(f.pile, ranks)
                c.log = (
                    (f.log << width) | np.uint64(2 * (f.claimed - 1) + challenged)
                    if turns == 0
                    else logged(f.log, f.claimed, challenged, form[1])
                )
                c.discarder = c.mover = 1 - d
                c.rank = f.rank + 1 if f.rank + 1 < ranks else 0
                c.claimed = 0
        if won >= 0:
            nodes += 1
            value = 1.0 if won == 0 else -1.0
            utilities[depth, f.next] = value
            f.value += value * chance
            f.next += 1
        else:
            c.reach[p] = f.reach[p] * chance
            c.reach[1 - p] = f.reach[1 - p]
            depth += 1
            entering = True


__all__ = ["DONE", "FRAME", "LOG_FULL", "traverse_deals"]
