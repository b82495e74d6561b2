"""Chance-sampled CFR below one deal of two-player Cheat (Zinkevich et al. 2008; paper 001, 2.4), compiled.

One walk visits the whole tree below a deal, depth first, for both players together. `games[d]` and `frames[d]` hold the
node at depth d of the present path, so no memory is allocated. The rules are those of `envs.cheat.turns`. Because of
imperfect recall a walk meets an infoset many times; the strategy of an iteration is fixed at its first visit. A
node where only a challenge is allowed (`Rules.challenge_last`) has the key of others where a pass is allowed, too, and
does not change the numbers of its infoset.

Example, a node of player 0 with two actions, reached with probability 0.5 by player 0 and 0.2 by player 1. Its strategy
is (0.25, 0.75), and the subtrees behind the two actions are worth +1 and -1 to player 0:

    value of the node          0.25 * 1 - 0.75 * 1             = -0.5
    regrets grow by            0.2 * (1 + 0.5), 0.2 * (-1 + 0.5) = 0.3, -0.1   (weighted by the opponent's reach)
    strategy sums grow by      0.5 * 0.25, 0.5 * 0.75          = 0.125, 0.375  (weighted by the player's own reach)

For a node of player 1 values and regrets change sign, since all values are those of player 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.cheat.cards import contains
from envs.cheat.turns import (
    ANSWERING,
    CHALLENGE,
    DISCARDING,
    Rules,
    answer,
    claim,
    must_challenge,
    pick,
    position_fields,
)
from envs.compiled import kernel
from learners.cheat_cfr.keys import Form, first_word, second_word
from learners.cheat_cfr.table import HEAD, Infosets, add_infoset, enlarged, has_space, match_regrets, probe

GAME = np.dtype(position_fields(2), align=True)
"""The position at a node of the path."""
FRAME = np.dtype(
    [
        ("reach", np.float64, (2,)),  # reach probability of each player
        ("value", np.float64),  # of player 0, summed over the finished actions
        ("at", np.int64),  # where the record of the infoset begins
        ("count", np.int32),  # number of actions
        ("next", np.int32),  # the action whose subtree is being walked
        ("forced", np.bool_),  # whether only a challenge is allowed
    ],
    align=True,
)
"""The progress of the walk at a node of the path."""

DONE, LOG_FULL, TABLE_FULL = 0, 1, 2


class Tree(NamedTuple):
    """The parameters of the tree below a deal.

    Attributes:
        form: Layout of the infoset keys.
        rules: Numbers of the rules.
        discards: Every discard as a word of cards, `uint64[D]`.
        health: Health points of both players at the start.
        counterfactual: Whether strategy sums are weighted by the opponent's reach in place of the player's own.
    """

    form: Form
    rules: Rules
    discards: NDArray[np.uint64]
    health: int
    counterfactual: bool = False


class Deals(NamedTuple):
    """Deals to walk, one per iteration.

    Attributes:
        hands: Cards of both players, `uint64[N, 2]`.
        first: Player who begins, `int64[N]`.
    """

    hands: NDArray[np.uint64]
    first: NDArray[np.int64]


class Scratch(NamedTuple):
    """Scratch buffers by depth; a path has at most `D` nodes, a node at most `A` actions.

    Attributes:
        games: `GAME[D]`.
        frames: `FRAME[D]`.
        moves: Discards that the hand allows, as indices of `Tree.discards`, `int32[D, A]`.
        values: Value of each action for player 0, `float64[D, A]`.
    """

    games: NDArray[np.void]
    frames: NDArray[np.void]
    moves: NDArray[np.int32]
    values: NDArray[np.float64]


def make_scratch(depth: int, actions: int) -> Scratch:
    """Scratch buffers for paths of `depth` nodes with up to `actions` actions each."""
    return Scratch(
        np.zeros(depth, GAME),
        np.zeros(depth, FRAME),
        np.zeros((depth, actions), np.int32),
        np.zeros((depth, actions)),
    )


def walk_deals(
    table: Infosets, tree: Tree, deals: Deals, scratch: Scratch, stamp: int, learn: bool
) -> tuple[Infosets, float, int, int]:
    """Runs one iteration below each deal.

    Args:
        table: The infosets; its arrays change in place.
        tree: The game and its keys.
        deals: N deals.
        scratch: Buffers of `make_scratch`.
        stamp: Number of the first iteration, from 1.
        learn: Whether to add to regrets and strategy sums; otherwise infosets are only listed.

    Returns:
        The table, whose arrays may be new; the sum of the values of player 0; the number of nodes; and `DONE`, or
        `LOG_FULL` if a game has more turns than a log holds.

    Raises:
        ValueError: the deals have other shapes or types.
    """
    hands, first = deals
    if hands.dtype != np.uint64 or hands.ndim != 2 or hands.shape[1] != 2:
        raise ValueError(f"hands must be uint64[N, 2], got {hands.dtype}{list(hands.shape)}")
    if first.dtype != np.int64 or first.shape != (len(hands),) or not np.isin(first, (0, 1)).all():
        raise ValueError(f"first must be int64[{len(hands)}] of players 0 and 1, got {first.dtype}{list(first.shape)}")
    table, total, nodes, status = _walk_deals(table, tree, deals, scratch, float(stamp), learn)
    return Infosets(*table), float(total), int(nodes), int(status)


@kernel
def _walk_deals(table, tree, deals, scratch, stamp, learn):
    """See `walk_deals`."""
    total, nodes, status = 0.0, 0, DONE
    for i in range(deals.first.shape[0]):
        place_root(scratch, deals.hands[i], deals.first[i], tree.health)
        status, depth = TABLE_FULL, 0
        while status == TABLE_FULL:
            status, depth, walked, value = walk(table, tree, scratch, depth, stamp + i, learn)
            nodes += walked
            if status == TABLE_FULL:
                table = enlarged(table, scratch.values.shape[1])
        total += value
        if status != DONE:
            break
    return table, total, nodes, status


@kernel
def place_root(scratch, hands, first, health):
    """Writes the root of the tree below a deal to depth 0."""
    game, frame = scratch.games[0], scratch.frames[0]
    for p in range(2):
        game.hand[p] = hands[p]
        game.put[p] = np.uint64(0)
        game.health[p] = health
        frame.reach[p] = 1.0
    game.discard = np.uint64(0)
    game.log = np.uint64(1)
    game.discarder = game.mover = first
    game.rank = game.claimed = game.passes = 0
    game.phase = DISCARDING
    game.winner = game.loser = -1
    game.ending = 0


@kernel
def walk(table, tree, scratch, depth, stamp, learn):
    """One iteration below the root; see `walk_deals`.

    Replacing the arrays of the table inside the loop would cost an atomic operation per step, so the table does not
    grow here. The walk stops with `TABLE_FULL` at a new node, and continues there when it is called again with the
    depth of that node.

    Args:
        depth: First depth: 0, or the depth at which the walk stopped.

    Returns:
        `DONE`, `LOG_FULL` or `TABLE_FULL`; the depth at that time; nodes walked in this call; the value of player 0.
    """
    slots, values, _ = table
    form, rules, discards, _, counterfactual = tree
    games, frames, moves, action_values = scratch
    nodes = 0
    arriving = True
    while True:
        game, frame = games[depth], frames[depth]
        if arriving:
            # Find the infoset of this node; add it at its first visit, and fix its strategy once an iteration.
            count = 2 if game.phase == ANSWERING else list_moves(game, discards, moves, depth)
            first, second = key_of(game, form)
            place = probe(slots, first, second)
            if slots[place].count == 0:
                if not has_space(table, count):
                    return TABLE_FULL, depth, nodes, 0.0
                add_infoset(table, place, first, second, count)
            slots[place].visited = 1
            frame.at = slots[place].at
            frame.count = count
            frame.forced = game.phase == ANSWERING and must_challenge(game, rules)
            frame.next = CHALLENGE if frame.forced else 0
            frame.value = 0.0
            if values[frame.at] != stamp:
                match_regrets(values, frame.at, count, stamp)
            nodes += 1
            arriving = False
        if frame.next == frame.count:
            # All actions have values: update the infoset, and pass the value of the node to its parent.
            if learn and not frame.forced:
                update_infoset(values, frame, game.mover, action_values, depth, counterfactual)
            if depth == 0:
                return DONE, depth, nodes, frame.value
            depth -= 1
            add_value(frames[depth], action_values, depth, values, frame.value)
            continue
        # Take the next action.
        mover = game.mover
        chance = chance_of(frame, values)
        if learn and frame.reach[1 - mover] == 0 and (chance == 0 or frame.reach[mover] == 0):
            # Neither player reaches the subtree, so all regrets and strategy sums in it would grow by 0.
            action_values[depth, frame.next] = 0.0
            frame.next += 1
            continue
        child = games[depth + 1]
        games[depth + 1] = game
        if game.phase == ANSWERING:
            answer(child, frame.next, rules)
        else:
            pick(child, discards[moves[depth, frame.next]])
            claim(child)
        if child.winner >= 0:
            nodes += 1
            add_value(frame, action_values, depth, values, 1.0 if child.winner == 0 else -1.0)
            continue
        if form.turns == 0 and child.phase == DISCARDING and game.log >= rules.full:
            return LOG_FULL, depth, nodes, 0.0
        # Descend to the child.
        reach = frames[depth + 1].reach
        reach[mover] = frame.reach[mover] * chance
        reach[1 - mover] = frame.reach[1 - mover]
        depth += 1
        arriving = True


@kernel
def list_moves(game, discards, moves, depth):
    """Writes the discards that the hand allows to row `depth` of `moves`, `int32[D, A]`; returns their number."""
    hand = game.hand[game.mover]
    count = 0
    for a in range(discards.shape[0]):
        if contains(hand, discards[a]):
            moves[depth, count] = a
            count += 1
    return count


@kernel
def key_of(game, form):
    """Key of the infoset of the player to move, two words."""
    mover = game.mover
    if game.phase == ANSWERING:
        kind = 1 + game.claimed
    else:
        kind = 1 if game.put[0] | game.put[1] != 0 else 0
    health = game.health
    word = first_word(form, mover, game.hand[mover], kind, game.rank, health[mover], health[1 - mover])
    return word, second_word(form, game.log)


@kernel
def chance_of(frame, values):
    """Probability of the current action; `values` are the records of the table, `float64[V]`."""
    if frame.forced:
        return 1.0
    return values[frame.at + HEAD + 2 * frame.count + frame.next]


@kernel
def add_value(frame, action_values, depth, values, value):
    """Stores the value of the current action for player 0, and moves on to the next action.

    Args:
        frame: The node, a record of `FRAME`; its value grows by the probability of the action times `value`.
        action_values: Values of actions by depth, `float64[D, A]`.
        depth: Depth of the node.
        values: Records of the table, `float64[V]`.
    """
    action_values[depth, frame.next] = value
    frame.value += value * chance_of(frame, values)
    frame.next += 1


@kernel
def update_infoset(values, frame, mover, action_values, depth, counterfactual):
    """Adds to the regrets and strategy sums of the node's infoset; arguments as for `add_value`, and see `Tree`."""
    sign = 1.0 if mover == 0 else -1.0
    others = frame.reach[1 - mover]
    weight = others if counterfactual else frame.reach[mover]
    count = frame.count
    regrets, sums, policy = frame.at + HEAD, frame.at + HEAD + count, frame.at + HEAD + 2 * count
    for a in range(count):
        values[regrets + a] += sign * others * (action_values[depth, a] - frame.value)
        values[sums + a] += weight * values[policy + a]


__all__ = ["DONE", "LOG_FULL", "Deals", "Scratch", "Tree", "make_scratch", "walk_deals"]
