"""Monte Carlo CFR, compiled: sampled traversals of a tree, each for one player, the traverser (Lanctot et al. 2009).

Whatever is sampled, the regrets added at an infoset I of the traverser i have the counterfactual regrets of CFR as
their mean: a sampled value counts pi_{-i}(h) / q(h), with pi_{-i}(h) the others' probability of reaching h and q(h)
that of sampling it. Chance and the opponent are always sampled by their own probabilities, which therefore cancel:
what is left of the factor is 1 over the probability of sampling the traverser's own actions.

What is added to the averages at I has a mean proportional to the own reach probability of I times the policy there;
the factor, chance's probability of the histories of I, is the same in all iterations and cancels in the average policy.

Stacks are explicit: Numba's cached recursive functions can crash when they are loaded again (its issue 6061), and
passing arrays from call to call costs more than a node.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.extensive import CHANCE, OVER
from envs.tree import Tree

BOTH = 2
"""Traverser where one traversal serves both players."""


def _record(**fields: type) -> np.dtype:
    """Type of a table's rows. What a traversal reads together lies together, and one array costs one argument."""
    return np.dtype((np.record, np.dtype(list(fields.items()), align=True)))  # fields are attributes, compiled or not


NODE = _record(
    first=np.int32,  # child; the others are its neighbours
    slot=np.int32,  # first slot of the infoset; -1 where no player moves
    actions=np.int32,  # or outcomes
    mover=np.int8,
    equal=np.bool_,  # all outcomes of chance are equally likely
    utility=np.float64,  # of player 0; 0 before the end
    probability=np.float64,  # of the outcome of chance that led here
)
"""Row of `nodes`, `NODE[N]`: what is to be known of a node of the tree."""

SLOT = _record(
    regret=np.float64,  # sum of the sampled regrets
    average=np.float64,  # sum of the policies, weighted
    policy=np.float64,  # in the traversal that goes on
    value=np.float64,  # of the action, likewise
)
"""Row of `table`, `SLOT[S]`: what is learned of an action at an infoset."""

STEP = _record(
    node=np.int64,
    tried=np.int64,  # actions that have been traversed
    first=np.float64,  # probability of player 0's own actions before the node
    second=np.float64,  # of player 1's
    reach=np.float64,  # probability that the traverser's actions before the node are sampled
)
"""Row of `path`, `STEP[D]`: a node on the way from the root."""


def make_nodes(tree: Tree) -> NDArray[np.void]:
    """`NODE[N]`."""
    nodes = np.zeros(tree.num_nodes, NODE)
    nodes["first"], nodes["actions"] = tree.children[:-1], np.diff(tree.children)
    nodes["slot"] = np.where(tree.mover >= 0, tree.slots[tree.infoset], -1)
    nodes["mover"], nodes["utility"], nodes["probability"] = tree.mover, tree.utility, tree.probability
    uneven = np.abs(tree.probability * nodes["actions"][tree.parent] - 1.0) > 1e-12
    uneven[0] = False
    nodes["equal"] = True
    nodes["equal"][tree.parent[uneven]] = False
    return nodes


@kernel
def match_regrets(table, slot, actions):
    """The policy proportional to the positive regrets, uniform without any (regret matching)."""
    total = 0.0
    for s in range(slot, slot + actions):
        total += max(table[s].regret, 0.0)
    scale = 1.0 / total if total > 0 else 0.0
    for s in range(slot, slot + actions):
        table[s].policy = max(table[s].regret, 0.0) * scale if total > 0 else 1.0 / actions


@kernel
def add_policy(table, slot, actions, weight):
    """Adds `weight` times the policy of an infoset to its average."""
    for s in range(slot, slot + actions):
        table[s].average += weight * table[s].policy


@kernel
def add_regrets(table, slot, actions, value, weight, floor):
    """Adds `weight` (v(a) - v) to the regrets of an infoset; `floor` makes negative sums 0 (regret matching+)."""
    for s in range(slot, slot + actions):
        regret = table[s].regret + weight * (table[s].value - value)
        table[s].regret = max(regret, 0.0) if floor else regret


@kernel
def expect(table, slot, actions):
    """Value of an infoset: sum_a sigma(a) v(a)."""
    value = 0.0
    for s in range(slot, slot + actions):
        value += table[s].policy * table[s].value
    return value


@kernel
def draw_outcome(nodes, n, rng):
    """Child of the chance node `n`, drawn."""
    first, outcomes = nodes[n].first, nodes[n].actions
    draw = rng.random()
    if nodes[n].equal:
        return first + int(draw * outcomes)
    child, last = first, first + outcomes - 1
    while child < last and draw >= nodes[child].probability:
        draw -= nodes[child].probability
        child += 1
    return child


@kernel
def draw_action(table, slot, actions, epsilon, rng):
    """Action, counted from 0, drawn from epsilon / |A| + (1 - epsilon) sigma(a)."""
    draw, bound, chosen = rng.random(), 0.0, 0
    for a in range(actions - 1):
        bound += epsilon / actions + (1.0 - epsilon) * table[slot + a].policy
        chosen += draw >= bound
    return chosen


@kernel
def descend(nodes, table, path, depth):
    """The child that is to be tried at the last of `depth` decisions; the reaches of it into the row that follows."""
    step = path[depth - 1]
    chosen = table[nodes[step.node].slot + step.tried].policy
    first = nodes[step.node].mover == 0
    path[depth].first = step.first * chosen if first else step.first
    path[depth].second = step.second if first else step.second * chosen
    return nodes[step.node].first + step.tried


@kernel
def traverse_chance_sampled(nodes, table, path, matched, now, rng, traverser, weights, floor):
    """Chance-sampled CFR (Zinkevich et al. 2007): every action of both players below sampled outcomes of chance.

    Policies stay during a traversal what they are at its beginning: they are matched when an infoset is first met,
    and kept as long as `matched` there is `now`. Regrets are cut off at 0 then, too, if `floor`.

    Args:
        nodes, table: Rows of `NODE` and `SLOT`.
        path: Rows of `STEP`; holds the decisions that are not yet done.
        matched: Number of the last traversal that met the infoset, by its first slot, `int64[S]`.
        now: Number of this traversal, from 1.
        rng: Draws the outcomes.
        traverser: 0, 1 or `BOTH`.
        weights: Weights of this iteration in the regrets and in the averages.
        floor: Whether negative regrets become 0.

    Returns:
        Sampled value of the game to player 0, and the number of nodes met.
    """
    n, depth, met = 0, 0, 0
    path[0].first = path[0].second = 1.0
    while True:
        met += 1
        mover, slot, actions = nodes[n].mover, nodes[n].slot, nodes[n].actions
        if mover == CHANCE:
            n = draw_outcome(nodes, n, rng)
            continue
        if mover != OVER and (path[depth].first > 0 or path[depth].second > 0):
            if matched[slot] != now:
                matched[slot] = now
                if floor:
                    add_regrets(table, slot, actions, 0.0, 0.0, True)
                match_regrets(table, slot, actions)
            path[depth].node, path[depth].tried = n, 0
            depth += 1
            n = descend(nodes, table, path, depth)
            continue
        value = nodes[n].utility  # 0 where nobody wants to go: neither regrets nor averages would change below
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
def traverse_external_sampling(nodes, table, path, rng, traverser, weights, floor):
    """External sampling (Lanctot et al. 2009, 3.2): every action of the traverser, one of chance and the opponent.

    The traverser's infosets are met at most once each, since with the others' actions given his own lead to one
    history. So regrets can be added at once: r(I, a) = u(ha) - sum_b sigma(b) u(hb), u being the sampled values.
    The opponent's policies are added to his averages: his own policy leads him to an infoset and the traverser tries
    everything, so he comes by as often as his own reach probability says.

    Args:
        nodes, table: Rows of `NODE` and `SLOT`.
        path: Rows of `STEP`; holds the decisions of the traverser that are not yet done.
        rng: Draws outcomes and the opponent's actions.
        traverser: 0 or 1.
        weights: Weights of this iteration in the regrets and in the averages.
        floor: Whether negative regrets become 0.

    Returns:
        Sampled value of the game to the traverser, and the number of nodes met.
    """
    n, depth, met = 0, 0, 0
    while True:
        met += 1
        mover, first, slot, actions = nodes[n].mover, nodes[n].first, nodes[n].slot, nodes[n].actions
        if mover == CHANCE:
            n = draw_outcome(nodes, n, rng)
            continue
        if mover == traverser:
            path[depth].node, path[depth].tried = n, 0
            depth += 1
            n = first
            continue
        if mover != OVER:
            match_regrets(table, slot, actions)
            add_policy(table, slot, actions, weights[1])
            n = first + draw_action(table, slot, actions, 0.0, rng)
            continue
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
            add_regrets(table, slot, actions, value, weights[0], floor)
            depth -= 1
        if depth == 0:
            return value, met


@kernel
def sample_game(nodes, table, path, rng, traverser, epsilon, weight):
    """One game from the root into `path`: the traverser explores, chance and the opponent play as they do.

    The opponent's policies are added to his averages, over the probability of sampling the traverser's actions.

    Returns:
        Moves played.
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
def traverse_outcome_sampling(
    nodes, table, path, baselines, rng, traverser, epsilon, decay, by_history, weights, floor
):
    """Outcome sampling with baselines b (VR-MCCFR: Schmid et al. 2019, eqs. 9-11), values being those of player 0:

        u(h, a) = b(h, a) + [a sampled] (u(ha) - b(h, a)) / xi(h, a),   u(h) = sum_a sigma(h, a) u(h, a),
        r(I, a) = (u(h, a) - u(h)) / (probability of sampling the traverser's actions before h).

    With b = 0 and decay 0 it is plain outcome sampling (Lanctot et al. 2009, 3.1). Baselines are of the acting
    infoset and the action, or of the history after it, also where chance acts (Davis et al. 2020). Each moves towards
    u(ha) after it has been used: estimates are unbiased, however bad it is.

    Args:
        nodes, table, path: Rows of `NODE`, `SLOT` and `STEP`.
        baselines: `float64[N]` if `by_history`, else `float64[S]`.
        rng: Draws all actions and outcomes.
        traverser: 0 or 1.
        epsilon: Part of the traverser's actions that are drawn uniformly.
        decay: Part of a baseline that a new sample replaces.
        by_history: Whether baselines are by history.
        weights: Weights of this iteration in the regrets and in the averages.
        floor: Whether negative regrets become 0.

    Returns:
        Sampled value of the game to player 0, and the number of nodes met.
    """
    depth = sample_game(nodes, table, path, rng, traverser, epsilon, weights[1])
    value = nodes[path[depth].node].utility
    for d in range(depth - 1, -1, -1):
        h = path[d].node
        mover, first, slot, actions = nodes[h].mover, nodes[h].first, nodes[h].slot, nodes[h].actions
        if mover == CHANCE and not by_history:
            continue
        base = first if by_history else slot
        chosen = path[d + 1].node - first
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
            add_regrets(table, slot, actions, value, sign * weights[0] / path[d].reach, floor)
        else:  # xi = sigma
            value = expected + error
        baselines[base + chosen] += decay * error
    return value, depth + 1


@kernel
def weigh(t, linear, floor):
    """Weights of iteration `t`, from 1, in the regrets and in the averages.

    Linear: t in both (Linear CFR: Brown and Sandholm 2019); with regret matching+ in the averages alone (CFR+:
    Tammelin 2014).
    """
    return 1.0 if floor or not linear else float(t), float(t) if linear else 1.0


@kernel
def run_chance_sampled(nodes, table, path, rng, start, iterations, alternating, linear, floor):
    """Iterations after the first `start` ones; nodes met. `alternating` traverses for each player in turn."""
    matched = np.zeros(len(table), np.int64)
    met = now = 0
    for t in range(start + 1, start + iterations + 1):
        weights = weigh(t, linear, floor)
        for traverser in range(0 if alternating else BOTH, 2 if alternating else BOTH + 1):
            now += 1
            _, more = traverse_chance_sampled(nodes, table, path, matched, now, rng, traverser, weights, floor)
            met += more
    if floor:
        add_regrets(table, 0, len(table), 0.0, 0.0, True)
    return met


@kernel
def run_external_sampling(nodes, table, path, rng, start, iterations, linear, floor):
    """Iterations after the first `start` ones, a traversal for each player in each; nodes met."""
    met = 0
    for t in range(start + 1, start + iterations + 1):
        weights = weigh(t, linear, floor)
        for traverser in range(2):
            _, more = traverse_external_sampling(nodes, table, path, rng, traverser, weights, floor)
            met += more
    return met


@kernel
def run_outcome_sampling(
    nodes, table, path, baselines, rng, start, iterations, epsilon, decay, by_history, linear, floor
):
    """Iterations after the first `start` ones, a game for each player in each; nodes met."""
    met = 0
    for t in range(start + 1, start + iterations + 1):
        weights = weigh(t, linear, floor)
        for traverser in range(2):
            _, more = traverse_outcome_sampling(
                nodes, table, path, baselines, rng, traverser, epsilon, decay, by_history, weights, floor
            )
            met += more
    return met
