"""Depth-limited external sampling from belief states of self-play, compiled (paper 002, Algorithms 2 and 3)."""

import numpy as np

from envs.compiled import kernel
from envs.geister.rules import RUNNING
from learners.geister_beliefs.belief import begin, play, regenerate
from learners.geister_beliefs.tables import (
    LEGAL,
    ROWS_OF_OWN,
    SLOTS,
    action_of,
    draw_slot,
    explore,
    normalise,
    row_of,
)

MOST_DEPTH = 6


@kernel
def collect(sums, rules, start, game, count, epsilon, epsilon_belief, policy, roots, rng):
    """Self-play by the average policy, mixed with the uniform one, until `count` belief states are met.

    Args:
        sums: Strategy sums, `float64[ROWS, 8]`.
        rules: How beliefs are updated (a number of `UPDATES`), whether escapes are forced, and the ply limit.
        start: The first position, a record of `STATE`.
        game: The game at hand, `NODE[1]`: the last one of the former call goes on.
        epsilon: Share of uniform moves.
        epsilon_belief: Share of belief states whose beliefs are regenerated.
        policy: Room, `float64[8]`.
        roots: Where they go, `NODE[count]`.
    """
    update, forced, ply_limit = rules
    node = game[0]
    for i in range(count):
        if node.ending != RUNNING:
            begin(node, start, rng)
        roots[i] = node
        if rng.random() < epsilon_belief:
            regenerate(roots[i], rng)
        red = node.red[node.to_move]
        row = row_of(node, node.to_move, red)
        legal = LEGAL[forced, row // ROWS_OF_OWN]
        normalise(sums[row], legal, policy)
        explore(policy, legal, epsilon)
        play(node, action_of(draw_slot(policy, rng), red), sums, update, forced, ply_limit)


@kernel
def traverse(tables, rules, room, limit, traverser, weight, decay, rng):
    """Algorithm 3 below the belief state `room.nodes[0]`, by a stack of frames. Tables change at once.

    Args:
        tables: Regrets, strategy sums, `float64[ROWS, 8]`; values of belief states by traverser, `float64[2, ROWS]`.
        rules: See `collect`.
        room: `NODE[D + 1]`, rows and columns `int64[2, D]`, policies and values `float64[2, D, 8]`.
        limit: Moves to the leaves, `D` at most.
        traverser: Whose regrets and values are learnt.
        weight: Of regrets and policies: the iteration.
        decay: Share of a value that a new one replaces; 0 keeps all of them at 0.

    Returns:
        The traverser's value, and the number of nodes.
    """
    regrets, sums, values = tables
    update, forced, ply_limit = rules
    nodes, places, numbers = room
    rows, slots, policy, value = places[0], places[1], numbers[0], numbers[1]
    d = 0
    count = 0
    while True:
        node = nodes[d]
        count += 1
        player = np.int64(node.to_move)
        if node.ending != RUNNING:
            result = 0.0 if node.winner < 0 else (1.0 if node.winner == traverser else -1.0)
        elif d == limit:
            result = values[traverser, row_of(node, player, node.red[player])] if player == traverser else 0.0
        else:
            row = row_of(node, player, node.red[player])
            rows[d] = row
            normalise(regrets[row], LEGAL[forced, row // ROWS_OF_OWN], policy[d])
            if player == traverser:
                slots[d] = next_slot(LEGAL[forced, row // ROWS_OF_OWN], -1)
            else:
                for slot in range(SLOTS):
                    sums[row, slot] += weight * policy[d, slot]
                slots[d] = draw_slot(policy[d], rng)
            descend(nodes, d, slots[d], sums, update, forced, ply_limit)
            d += 1
            continue
        while d > 0:  # back up, as far as nothing is left to be tried
            d -= 1
            if nodes[d].to_move != traverser:
                continue
            value[d, slots[d]] = result
            row = rows[d]
            legal = LEGAL[forced, row // ROWS_OF_OWN]
            slots[d] = next_slot(legal, slots[d])
            if slots[d] < SLOTS:
                descend(nodes, d, slots[d], sums, update, forced, ply_limit)
                d += 1
                break
            result = 0.0
            for slot in range(SLOTS):
                if (legal >> slot) & 1:
                    result += policy[d, slot] * value[d, slot]
            for slot in range(SLOTS):
                if (legal >> slot) & 1:
                    regrets[row, slot] += weight * (value[d, slot] - result)
            values[traverser, row] += decay * (result - values[traverser, row])
        else:
            return result, count


@kernel
def next_slot(legal, slot):
    """The first legal column after `slot`; `SLOTS` if there is none."""
    slot += 1
    while slot < SLOTS and (legal >> slot) & 1 == 0:
        slot += 1
    return slot


@kernel
def descend(nodes, d, slot, sums, update, forced, ply_limit):
    """Plays a column in the node at depth d, into that below it."""
    nodes[d + 1] = nodes[d]
    node = nodes[d + 1]
    play(node, action_of(slot, node.red[node.to_move]), sums, update, forced, ply_limit)


@kernel
def iterate(tables, rules, start, game, roots, room, first, iterations, repeats, sampling, limit, decay, rng):
    """Iterations `first`, `first` + 1, ... of Algorithm 1, each of `repeats` times Algorithm 2.

    Args:
        sampling: `epsilon` and `epsilon_belief` of `collect`.

    Returns:
        Number of nodes, and of traversals that began in a terminal node, which there are none of.
    """
    sums = tables[1]
    nodes, policy = room[0], room[2][0, 0]
    total = 0
    for t in range(first, first + iterations):
        for _ in range(repeats):
            collect(sums, rules, start, game, len(roots), sampling[0], sampling[1], policy, roots, rng)
            for i in range(len(roots)):
                for traverser in range(2):
                    nodes[0] = roots[i]
                    _, count = traverse(tables, rules, room, limit, traverser, float(t), decay, rng)
                    total += count
    return total
