"""Monte Carlo CFR, compiled: sampled traversals of a tree, each for one player, the traverser (Lanctot et al. 2009).

The regrets added at an infoset I of the traverser i are unbiased estimates of the counterfactual regrets of CFR: a
sampled value has weight pi_{-i}(h) / q(h), where pi_{-i}(h) is the others' probability of reaching h and q(h) the
probability of sampling it. Chance and the opponent are always sampled with their own probabilities, which cancel, so
that the weight is 1 over the probability of sampling the traverser's own actions.

The expected contribution of an iteration to the averages at I is proportional to the player's reach probability of I
times the policy there. The factor, chance's probability of the histories of I, is the same in all iterations and
cancels in the average policy.

Example: external sampling in Kuhn poker, with player 0 as the traverser. Chance deals, say, Q to player 0 and K to
player 1. At the infoset "Q" the traverser tries both actions, so a step is pushed on the path. The first action is
pass: the opponent's policy at "K, pass" is added to the averages, and an action is drawn, say bet. At "Q, pass, bet"
the traverser tries both actions again, with a second step: fold ends with -1, call with -2. With the uniform policy the
infoset is worth -1.5; its regrets change by 0.5 and -0.5, and the step is popped. So pass is worth -1.5. The second
action is bet: the opponent calls, and the game ends with -2. The infoset "Q" is worth -1.75, its regrets change by 0.25
and -0.25, and with its step the traversal ends. It met 9 nodes, two of them chance nodes.

Stacks are explicit because Numba's cached recursive functions can crash when they are loaded again (its issue 6061),
and because passing arrays from call to call costs more than a node.
"""

from envs.compiled import kernel
from envs.extensive import CHANCE, OVER
from learners.cfr.sampling_state import (
    add_policy,
    add_regrets,
    descend,
    draw_action,
    draw_outcome,
    expect,
    match_regrets,
)

BOTH = 2
"""Traverser of a traversal that serves both players."""


@kernel
def traverse_chance_sampled(tables, rng, options, traverser, weights, now):
    """Chance-sampled CFR (Zinkevich et al. 2007): every action of both players below sampled outcomes of chance.

    A policy does not change during a traversal: it is computed when its infoset is first met, which sets `matched` of
    the infoset to `now`. With `floor`, negative regrets become 0 at that time.

    Args:
        tables: The solver's arrays.
        rng: Draws the outcomes.
        options: The variant.
        traverser: 0, 1 or `BOTH`.
        weights: Weights of this iteration in the regrets and in the averages.
        now: Number of this traversal, from 1.

    Returns:
        Sampled value of the game to player 0, and the number of nodes met.
    """
    nodes, table, path, matched = tables.nodes, tables.table, tables.path, tables.matched
    n, depth, met = 0, 0, 0
    path[0].first = path[0].second = 1.0
    while True:
        met += 1
        mover, slot, actions = nodes[n].mover, nodes[n].slot, nodes[n].actions
        if mover == CHANCE:
            n = draw_outcome(nodes, n, rng)
            continue
        # A decision that the policy of a player reaches: compute the policy once, and continue with the first action.
        if mover != OVER and (path[depth].first > 0 or path[depth].second > 0):
            if matched[slot] != now:
                matched[slot] = now
                if options.floor:
                    add_regrets(table, slot, actions, 0.0, 0.0, True)
                match_regrets(table, slot, actions)
            path[depth].node, path[depth].tried = n, 0
            depth += 1
            n = descend(nodes, table, path, depth)
            continue
        # An end, or a node that both players reach with probability 0, below which neither regrets nor averages change:
        # go back to the last decision with an action left, and update the infosets of complete decisions.
        value = nodes[n].utility
        while depth > 0:
            step = path[depth - 1]
            mover, slot, actions = nodes[step.node].mover, nodes[step.node].slot, nodes[step.node].actions
            table[slot + step.tried].value = value
            step.tried += 1
            if step.tried < actions:
                n = descend(nodes, table, path, depth)
                break
            value = expect(table, slot, actions)
            if traverser != 1 - mover:
                own, others = (step.first, step.second) if mover == 0 else (step.second, -step.first)
                add_regrets(table, slot, actions, value, weights[0] * others, False)
                add_policy(table, slot, actions, weights[1] * own)
            depth -= 1
        if depth == 0:
            return value, met


@kernel
def traverse_external_sampling(tables, rng, options, traverser, weights):
    """External sampling (Lanctot et al. 2009, 3.2): every action of the traverser, one of chance and the opponent.

    Each infoset of the traverser is met at most once, because one history leads to it, given the actions of the others.
    So regrets can be added immediately: r(I, a) = u(ha) - sum_b sigma(b) u(hb) with sampled values u. The opponent's
    policies are added to the opponent's averages without weights: since the traverser tries all actions, the frequency
    of an infoset of the opponent is proportional to the opponent's own reach probability.

    Args:
        tables: The solver's arrays.
        rng: Draws outcomes and the opponent's actions.
        options: The variant.
        traverser: 0 or 1.
        weights: Weights of this iteration in the regrets and in the averages.

    Returns:
        Sampled value of the game to the traverser, and the number of nodes met.
    """
    nodes, table, path = tables.nodes, tables.table, tables.path
    n, depth, met = 0, 0, 0
    while True:
        met += 1
        mover, first, slot, actions = nodes[n].mover, nodes[n].first, nodes[n].slot, nodes[n].actions
        if mover == CHANCE:
            n = draw_outcome(nodes, n, rng)
            continue
        # The traverser tries the first action; the others follow on the way back.
        if mover == traverser:
            path[depth].node, path[depth].tried = n, 0
            depth += 1
            n = first
            continue
        # Add the opponent's policy to the averages, and draw one of the actions.
        if mover != OVER:
            match_regrets(table, slot, actions)
            add_policy(table, slot, actions, weights[1])
            n = first + draw_action(table, slot, actions, 0.0, rng)
            continue
        # An end: go back to the last decision with an action left, and update the infosets of complete decisions.
        value = nodes[n].utility if traverser == 0 else -nodes[n].utility
        while depth > 0:
            step = path[depth - 1]
            slot, actions = nodes[step.node].slot, nodes[step.node].actions
            table[slot + step.tried].value = value
            step.tried += 1
            if step.tried < actions:
                n = nodes[step.node].first + step.tried
                break
            match_regrets(table, slot, actions)
            value = expect(table, slot, actions)
            add_regrets(table, slot, actions, value, weights[0], options.floor)
            depth -= 1
        if depth == 0:
            return value, met


@kernel
def sample_game(nodes, table, path, rng, traverser, epsilon, weight):
    """Samples a game from the root into `path`: the traverser explores, chance and the opponent do not.

    The opponent's policies are added to the averages, divided by the probability of sampling the traverser's actions.

    Returns:
        Number of moves.
    """
    n, depth, reach = 0, 0, 1.0
    while nodes[n].mover != OVER:
        path[depth].node, path[depth].reach = n, reach
        depth += 1
        if nodes[n].mover == CHANCE:
            n = draw_outcome(nodes, n, rng)
            continue
        slot, actions = nodes[n].slot, nodes[n].actions
        match_regrets(table, slot, actions)
        if nodes[n].mover == traverser:
            chosen = draw_action(table, slot, actions, epsilon, rng)
            reach *= epsilon / actions + (1.0 - epsilon) * table[slot + chosen].policy
        else:
            chosen = draw_action(table, slot, actions, 0.0, rng)
            add_policy(table, slot, actions, weight / reach)
        n = nodes[n].first + chosen
    path[depth].node = n
    return depth


@kernel
def traverse_outcome_sampling(tables, rng, options, traverser, weights):
    """Outcome sampling with baselines b (VR-MCCFR: Schmid et al. 2019, eqs. 9-11), with values to player 0:

        u(h, a) = b(h, a) + [a sampled] (u(ha) - b(h, a)) / xi(h, a),   u(h) = sum_a sigma(h, a) u(h, a),
        r(I, a) = (u(h, a) - u(h)) / (probability of sampling the traverser's actions before h).

    With b = 0 and decay 0 this is plain outcome sampling (Lanctot et al. 2009, 3.1). A baseline belongs to the acting
    infoset and the action, or to the history after the action, also after actions of chance (Davis et al. 2020). It
    moves towards u(ha) only after it has been used, so estimates are unbiased, however inaccurate the baseline is.

    Args:
        tables: The solver's arrays.
        rng: Draws all actions and outcomes.
        options: The variant.
        traverser: 0 or 1.
        weights: Weights of this iteration in the regrets and in the averages.

    Returns:
        Sampled value of the game to player 0, and the number of nodes met.
    """
    nodes, table, path, baselines = tables.nodes, tables.table, tables.path, tables.baselines
    epsilon, by_history = options.epsilon, options.by_history
    depth = sample_game(nodes, table, path, rng, traverser, epsilon, weights[1])
    value = nodes[path[depth].node].utility
    # From the end of the game back to the root; `value` is u of the node after step d.
    for d in range(depth - 1, -1, -1):
        h = path[d].node
        mover, first, slot, actions = nodes[h].mover, nodes[h].first, nodes[h].slot, nodes[h].actions
        if mover == CHANCE and not by_history:
            continue
        base = first if by_history else slot
        chosen = path[d + 1].node - first
        # The value of the node by the baselines alone, and the error of the baseline of the sampled action.
        expected = 0.0
        for a in range(actions):
            sigma = nodes[first + a].probability if mover == CHANCE else table[slot + a].policy
            expected += sigma * baselines[base + a]
        error = value - baselines[base + chosen]
        if mover == traverser:
            sigma = table[slot + chosen].policy
            correction = error / (epsilon / actions + (1.0 - epsilon) * sigma)
            value = expected + sigma * correction
            for a in range(actions):
                table[slot + a].value = baselines[base + a] + (correction if a == chosen else 0.0)
            sign = 1.0 if traverser == 0 else -1.0
            add_regrets(table, slot, actions, value, sign * weights[0] / path[d].reach, options.floor)
        else:  # sampled with xi = sigma, which cancels
            value = expected + error
        baselines[base + chosen] += options.decay * error
    return value, depth + 1


@kernel
def weigh(t, options):
    """Returns the weights of iteration `t`, from 1, in the regrets and in the averages.

    With `linear`, both are t (Linear CFR: Brown and Sandholm 2019), but with regret matching+ only that in the averages
    (CFR+: Tammelin 2014).
    """
    regrets = 1.0 if options.floor or not options.linear else float(t)
    return regrets, float(t) if options.linear else 1.0


@kernel
def run_chance_sampled(tables, rng, options, done, iterations):
    """Runs iterations `done` + 1 to `done` + `iterations` of chance sampling; returns the number of nodes met."""
    tables.matched[:] = 0
    met = now = 0
    for t in range(done + 1, done + iterations + 1):
        weights = weigh(t, options)
        for traverser in range(0 if options.alternating else BOTH, 2 if options.alternating else BOTH + 1):
            now += 1
            _, more = traverse_chance_sampled(tables, rng, options, traverser, weights, now)
            met += more
    if options.floor:
        add_regrets(tables.table, 0, len(tables.table), 0.0, 0.0, True)
    return met


@kernel
def run_external_sampling(tables, rng, options, done, iterations):
    """Like `run_chance_sampled` for external sampling; an iteration is one traversal for each player."""
    met = 0
    for t in range(done + 1, done + iterations + 1):
        weights = weigh(t, options)
        for traverser in range(2):
            _, more = traverse_external_sampling(tables, rng, options, traverser, weights)
            met += more
    return met


@kernel
def run_outcome_sampling(tables, rng, options, done, iterations):
    """Like `run_chance_sampled` for outcome sampling; an iteration is one game for each player."""
    met = 0
    for t in range(done + 1, done + iterations + 1):
        weights = weigh(t, options)
        for traverser in range(2):
            _, more = traverse_outcome_sampling(tables, rng, options, traverser, weights)
            met += more
    return met
