"""The methods that paper 002 compares with, on the same tables: outcome-sampling MCCFR and tabular DREAM, compiled.

Both sample one path to the end of a game (Lanctot et al. 2009). DREAM corrects the sampled value by baselines, learnt
values of the actions that were not taken (Steinberger et al. 2020); without baselines it is outcome sampling.
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
def sample_game(tables, rules, start, scratch, traverser, epsilon, weight, rng):
    """Plays a game, the traverser with exploration, and adds the policies of the other player to the strategy sums.

    Args:
        tables: `learners.belief_tables.traversal.Tables`.
        rules: `BeliefRules`.
        start: The position at the start of a game, a record of `STATE`.
        scratch: `learners.belief_tables.traversal.Scratch` for as many moves as a game can have. Only its first node
            is used; `rows`, `slots`, `policy` and the sampling policies in `numbers` describe the path.
        traverser: Player who explores.
        epsilon: Share of uniform moves of the traverser.
        weight: Weight of policies: the iteration.
        rng: Generator.

    Returns:
        Number of moves, and the return of the traverser.
    """
    node = scratch.nodes[0]
    begin(node, start, rng)
    d = 0
    reach = 1.0  # probability of the traverser's sampled moves so far
    while node.ending == RUNNING:
        player = node.to_move
        red = node.red[player]
        row = row_of(node, player, red)
        legal = LEGAL[rules.forced_escape, row // ROWS_OF_OWN]
        policy, sampled = scratch.policy[d], scratch.numbers[d]
        # The current policy by regret matching; only the traverser mixes it with the uniform one.
        normalise(tables.regrets[row], legal, policy)
        sampled[:] = policy
        if player == traverser:
            explore(sampled, legal, epsilon)
        else:
            for slot in range(SLOTS):
                tables.sums[row, slot] += weight / reach * policy[slot]
        # Sample a move and play it.
        slot = draw_slot(sampled, rng)
        scratch.rows[d], scratch.slots[d] = row, slot
        if player == traverser:
            reach *= sampled[slot]
        play(node, action_of(slot, red), tables.sums, rules)
        d += 1
    result = 0.0 if node.winner < 0 else (1.0 if node.winner == traverser else -1.0)
    return d, result


@kernel
def learn_from_game(tables, rules, scratch, length, result, traverser, weight, decay):
    """Learns from a sampled game, backwards: regrets of the traverser, and baselines of both players.

    A baseline moves towards the value that the baselines of the next position give (Steinberger et al. 2020, eq. 11),
    not towards the corrected value: corrections multiply along a game, and their estimates diverge.

    Args:
        tables: As of `sample_game`; a baseline is the value of a column for the player whose row it is.
        rules: `BeliefRules`.
        scratch: The path of `sample_game`.
        length, result: As returned by `sample_game`.
        traverser: Player whose regrets are learnt.
        weight: Weight of regrets: the iteration.
        decay: Share of a baseline that a new value replaces; 0 keeps all baselines at 0.
    """
    regrets, _, baselines = tables
    reach = 1.0
    for d in range(length):
        if d % 2 == traverser:
            reach *= scratch.numbers[d, scratch.slots[d]]
    value = expected = result  # of the position after move d: corrected by the game, and by baselines alone
    for d in range(length - 1, -1, -1):
        row, taken = scratch.rows[d], scratch.slots[d]
        policy, sampled = scratch.policy[d], scratch.numbers[d]
        legal = LEGAL[rules.forced_escape, row // ROWS_OF_OWN]
        mine = d % 2 == traverser  # player 0 moves first, and there are no passes
        sign = 1.0 if mine else -1.0
        # The value of the sampled column, corrected by its baseline; the baseline itself learns.
        baseline = sign * baselines[row, taken]
        corrected = baseline + (value - baseline) / sampled[taken]
        baselines[row, taken] += decay * (sign * expected - baselines[row, taken])
        # The values of this position for the traverser.
        value = expected = 0.0
        for slot in range(SLOTS):
            if (legal >> slot) & 1:
                expected += policy[slot] * sign * baselines[row, slot]
                value += policy[slot] * (corrected if slot == taken else sign * baselines[row, slot])
        # Regrets of the traverser, divided by the probability of sampling this position.
        if mine:
            reach /= sampled[taken]
            for slot in range(SLOTS):
                if (legal >> slot) & 1:
                    action_value = corrected if slot == taken else baselines[row, slot]
                    regrets[row, slot] += weight / reach * (action_value - value)


@kernel
def iterate_games(tables, rules, start, scratch, first, iterations, games, epsilon, decay, rng):
    """Runs iterations `first`, `first` + 1, ..., each with `games` games for either traverser; arguments as above.

    Returns:
        The number of nodes.
    """
    total = 0
    for t in range(first, first + iterations):
        for _ in range(games):
            for traverser in range(2):
                length, result = sample_game(tables, rules, start, scratch, traverser, epsilon, float(t), rng)
                learn_from_game(tables, rules, scratch, length, result, traverser, float(t), decay)
                total += length + 1
    return total
