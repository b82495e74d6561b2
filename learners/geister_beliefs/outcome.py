"""What paper 002 compares with: outcome-sampling MCCFR and tabular DREAM on the same tables, compiled.

Lanctot et al. 2009 and Steinberger et al. 2020: of each game one path is sampled to its end, and what is known of the
values of other actions (baselines) makes up for those not taken; without baselines that is outcome sampling.
"""

from envs.compiled import kernel
from envs.geister.rules import RUNNING
from learners.geister_beliefs.belief import begin, play
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


@kernel
def sample_game(tables, rules, start, room, traverser, epsilon, weight, rng):
    """Plays a game, the traverser with exploration, and adds the policies of the other player to the sums.

    Args:
        tables, rules: See `learners.geister_beliefs.traversal.traverse`.
        room: `NODE[1]`, rows and columns `int64[2, D]`, policies and sampling policies `float64[2, D, 8]`.
        epsilon: Share of uniform moves of the traverser.
        weight: Of policies: the iteration.

    Returns:
        Length of the game, and its result for the traverser.
    """
    regrets, sums, _ = tables
    update, forced, ply_limit = rules
    nodes, places, numbers = room
    node = nodes[0]
    begin(node, start, rng)
    d = 0
    reach = 1.0  # with which the traverser's exploring policy has come here
    while node.ending == RUNNING:
        player = node.to_move
        red = node.red[player]
        row = row_of(node, player, red)
        legal = LEGAL[forced, row // ROWS_OF_OWN]
        policy, sampled = numbers[0, d], numbers[1, d]
        normalise(regrets[row], legal, policy)
        sampled[:] = policy
        if player == traverser:
            explore(sampled, legal, epsilon)
        else:
            for slot in range(SLOTS):
                sums[row, slot] += weight / reach * policy[slot]
        slot = draw_slot(sampled, rng)
        places[0, d], places[1, d] = row, slot
        if player == traverser:
            reach *= sampled[slot]
        play(node, action_of(slot, red), sums, update, forced, ply_limit)
        d += 1
    result = 0.0 if node.winner < 0 else (1.0 if node.winner == traverser else -1.0)
    return d, result


@kernel
def learn_from_game(tables, forced, room, length, result, traverser, weight, decay):
    """Regrets of the traverser, and baselines of both players' rows, from the end of a sampled game to its start.

    A baseline learns what the baselines of the next position expect there (Steinberger et al. 2020, eq. 11), not the
    corrected value: corrections multiply along a game, and what learns from them runs away.

    Args:
        tables: Regrets, strategy sums and baselines, `float64[ROWS, 8]`; a baseline is the value of a column for the
            player whose row it is.
        decay: Share of a baseline that a new value replaces; 0 keeps all of them at 0.
    """
    regrets, _, baselines = tables
    _, places, numbers = room
    reach = 1.0
    for d in range(length):
        if d % 2 == traverser:
            reach *= numbers[1, d, places[1, d]]
    value = expected = result  # of the position after move d, by the game and by the baselines alone
    for d in range(length - 1, -1, -1):
        row, taken = places[0, d], places[1, d]
        policy, sampled = numbers[0, d], numbers[1, d]
        legal = LEGAL[forced, row // ROWS_OF_OWN]
        mine = d % 2 == traverser  # player 0 moves first, and nobody passes
        sign = 1.0 if mine else -1.0
        baseline = sign * baselines[row, taken]
        corrected = baseline + (value - baseline) / sampled[taken]
        baselines[row, taken] += decay * (sign * expected - baselines[row, taken])
        value = expected = 0.0
        for slot in range(SLOTS):
            if (legal >> slot) & 1:
                expected += policy[slot] * sign * baselines[row, slot]
                value += policy[slot] * (corrected if slot == taken else sign * baselines[row, slot])
        if mine:
            reach /= sampled[taken]
            for slot in range(SLOTS):
                if (legal >> slot) & 1:
                    action_value = corrected if slot == taken else baselines[row, slot]
                    regrets[row, slot] += weight / reach * (action_value - value)


@kernel
def iterate_games(tables, rules, start, room, first, iterations, games, epsilon, decay, rng):
    """Iterations `first`, `first` + 1, ..., each of so many games with either traverser; the number of nodes."""
    total = 0
    for t in range(first, first + iterations):
        for _ in range(games):
            for traverser in range(2):
                length, result = sample_game(tables, rules, start, room, traverser, epsilon, float(t), rng)
                learn_from_game(tables, rules[1], room, length, result, traverser, float(t), decay)
                total += length + 1
    return total
