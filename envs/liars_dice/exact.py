"""Exact values of policies in liar's dice: one walk over the public tree, with vectors over the hands.

A public state is the set of the bids made. It is written as a *code*: bid 0 is the highest bit, the last of the `B`
bids bit 0. A walk that goes depth first through the bids from the highest to the lowest visits the codes in increasing
order, and so reads tables that are sorted by code from the first row to the last. The number of bids says who is to
move, so bit 0 follows from the other bits and the player: the infosets of a player are ranked by ``(code >> 1) * H +
hand`` for `H` hands.

Example with 4 bids, as with one die of two faces: after the bids 0 and 2 the code is 0b1010. Player 0 is to move, with
the hand 1 at rank 0b101 * 2 + 1 = 11. One public state follows, 0b1011 after the bid 3, where player 1 is to call and
has the ranks 10 and 11.

The hands of the players are independent, so the opponent's hands are weighted by the product of chance and the
opponent's reach probability, whatever the player holds. At a call the outcome depends on the number of matching dice
alone: the opponent's hands are summed by this number first, and a call costs `O(H)`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.capabilities import TOLERANCE
from envs.compiled import kernel
from envs.liars_dice.hands import Hands


class Frames(NamedTuple):
    """The public states from the root to the current one, `D` = `B` + 2 frames; the depth is the number of bids made.

    Attributes:
        code: Bids made, `uint64[D]`.
        last: Last bid, -1 at the root, `int64[D]`.
        following: Bid whose subtree is walked next, `int64[D]`.
        scale: What the probabilities of each hand of the mover are multiplied by, `float64[D, H]`.
        reach: Probability of each player's hands, that of chance included, `float64[D, 2, H]`.
        best: Value of a best response to each player's hand, weighted by the opponent's reach, `float64[D, 2, H]`.
    """

    code: NDArray[np.uint64]
    last: NDArray[np.int64]
    following: NDArray[np.int64]
    scale: NDArray[np.float64]
    reach: NDArray[np.float64]
    best: NDArray[np.float64]


def evaluate(
    hands: Hands, bids: int, first: NDArray[np.float32], second: NDArray[np.float32]
) -> tuple[float, float, float]:
    """Computes the value of two policies and of a best response to each.

    Args:
        hands: The hands of each player.
        bids: Number of bids `B`.
        first: Policy of player 0 by rank of the infoset, `float32[I, B + 1]`; 0 at illegal actions.
        second: Policy of player 1.

    Returns:
        The expected return of player 0 under both policies, the return of a best response of player 0 to `second`, and
        that of a best response of player 1 to `first`.

    Raises:
        ValueError: the probabilities of an infoset are negative, or do not sum to 1 within `TOLERANCE`.
    """
    depths, count = bids + 2, len(hands.probability)
    frames = Frames(
        np.zeros(depths, np.uint64),
        np.full(depths, -1, np.int64),
        np.zeros(depths, np.int64),
        np.empty((depths, count)),
        np.empty((depths, 2, count)),
        np.empty((depths, 2, count)),
    )
    frames.reach[0] = hands.probability
    value, player, rank = _walk(frames, hands.matching, first, second)
    if rank >= 0:
        row = (first, second)[player][rank]
        raise ValueError(f"the policy of player {player} at infoset {rank} is not a distribution: {row.tolist()}")
    best = frames.best[0] @ hands.probability
    return value, float(best[0]), float(best[1])


@kernel
def _walk(frames, matching, first, second):
    """Walks the public tree, and leaves the values of best responses at the root in ``frames.best[0]``.

    Returns:
        The expected return of player 0; a player and the rank of an infoset without a distribution, or -1 and -1.
    """
    outcome = np.empty(matching[-1, 0] + 2)  # the last hand has all wild dice
    value, depth = 0.0, 0
    rank = _enter(frames, depth, first)
    while rank < 0:
        if frames.following[depth] > frames.last[depth]:
            bid = frames.following[depth]
            frames.following[depth] = bid - 1
            _descend(frames, depth, bid, first if depth % 2 == 0 else second)
            depth += 1
            policy = first if depth % 2 == 0 else second
            rank = _enter(frames, depth, policy)
            if rank < 0:
                value += _call(frames, depth, matching, outcome, policy)
        elif depth > 0:
            depth -= 1
            _join(frames, depth)
        else:
            return value, -1, -1
    return value, depth % 2, rank


@kernel
def _row(frames, depth):
    """Returns the rank of the mover's first hand at a depth."""
    return np.int64(frames.code[depth] >> np.uint64(1)) * frames.scale.shape[1]


@kernel
def _enter(frames, depth, policy):
    """Prepares the frame of a public state; returns the rank of an infoset without a distribution, or -1."""
    bids, hands = policy.shape[1] - 1, frames.scale.shape[1]
    mover, row, start = depth % 2, _row(frames, depth), frames.last[depth] + 1
    frames.following[depth] = bids - 1
    for hand in range(hands):
        total, least = 0.0, 0.0
        for action in range(start, bids + (depth > 0)):
            probability = np.float64(policy[row + hand, action])
            total += probability
            least = min(least, probability)
        if not (least >= 0.0 and abs(total - 1.0) <= TOLERANCE):
            return row + hand
        frames.scale[depth, hand] = 1.0 / total
        frames.best[depth, mover, hand] = -np.inf
        frames.best[depth, 1 - mover, hand] = 0.0
    return -1


@kernel
def _descend(frames, depth, bid, policy):
    """Fills the part of the frame below `depth` that a bid determines."""
    bids, mover, row = policy.shape[1] - 1, depth % 2, _row(frames, depth)
    frames.code[depth + 1] = frames.code[depth] | np.uint64(1) << np.uint64(bids - 1 - bid)
    frames.last[depth + 1] = bid
    for hand in range(frames.scale.shape[1]):
        made = policy[row + hand, bid] * frames.scale[depth, hand]
        frames.reach[depth + 1, mover, hand] = frames.reach[depth, mover, hand] * made
        frames.reach[depth + 1, 1 - mover, hand] = frames.reach[depth, 1 - mover, hand]


@kernel
def _join(frames, depth):
    """Adds the values of best responses below a bid to those of the public state before it."""
    mover, other = depth % 2, 1 - depth % 2
    for hand in range(frames.scale.shape[1]):
        frames.best[depth, mover, hand] = max(frames.best[depth, mover, hand], frames.best[depth + 1, mover, hand])
        frames.best[depth, other, hand] += frames.best[depth + 1, other, hand]


@kernel
def _call(frames, depth, matching, outcome, policy):
    """Adds the values of best responses at a call of the last bid; returns the call's part of player 0's return.

    Args:
        frames: See `Frames`.
        depth: Number of bids made.
        matching: See `Hands`.
        outcome: Working memory, `float64[dice + 2]`.
        policy: That of the mover, who calls.
    """
    hands, faces = matching.shape
    caller, bidder = depth % 2, 1 - depth % 2
    quantity, face = frames.last[depth] // faces + 1, frames.last[depth] % faces
    row, call = _row(frames, depth), policy.shape[1] - 1
    called = frames.reach[depth + 1, caller]  # free until the next bid
    most = len(outcome) - 1
    won = 0.0
    outcome[:] = 0.0
    for hand in range(hands):
        outcome[matching[hand, face]] += frames.reach[depth, bidder, hand]
    _settle(outcome)
    for hand in range(hands):
        returned = -outcome[min(max(quantity - matching[hand, face], 0), most)]
        called[hand] = frames.reach[depth, caller, hand] * policy[row + hand, call] * frames.scale[depth, hand]
        won += called[hand] * returned
        frames.best[depth, caller, hand] = max(frames.best[depth, caller, hand], returned)
    outcome[:] = 0.0
    for hand in range(hands):
        outcome[matching[hand, face]] += called[hand]
    _settle(outcome)
    for hand in range(hands):
        frames.best[depth, bidder, hand] += outcome[min(max(quantity - matching[hand, face], 0), most)]
    return won if caller == 0 else -won


@kernel
def _settle(outcome):
    """Replaces the reach of an opponent with m matching dice by the bidder's return where m dice are needed, in place.

    Args:
        outcome: `float64[dice + 2]`; the last entry is 0 before, and stands for more dice than the opponent has.
    """
    total = outcome.sum()
    at_least = 0.0
    for needed in range(len(outcome) - 1, -1, -1):
        at_least += outcome[needed]
        outcome[needed] = 2.0 * at_least - total


@kernel
def fill_infosets(states, player, half, hand, bids, hands):
    """Writes states at the infosets of successive ranks; the other player has hand 0.

    Args:
        states: `[n]` records, of which `hands`, `bids`, `last` and `mover` are written.
        player: Player to move.
        half: ``code >> 1`` of the first infoset.
        hand: Hand of the first infoset.
        bids: Number of bids `B`.
        hands: Number of hands `H`.
    """
    for i in range(states.shape[0]):
        s = states[i]
        made = 0
        s.bids = 0
        for bid in range(bids - 1):
            if half >> np.uint64(bids - 2 - bid) & np.uint64(1):
                s.bids |= np.uint64(1) << np.uint64(bid)
                s.last = bid
                made += 1
        if made % 2 != player:
            s.bids |= np.uint64(1) << np.uint64(bids - 1)
            s.last = bids - 1
        s.mover = player
        s.hands[player] = hand
        s.hands[1 - player] = 0
        hand += 1
        if hand == hands:
            hand = 0
            half += np.uint64(1)


@kernel
def own_reach(player, bids, hands, policy, reach):
    """Writes the product of a player's probabilities on the way to each infoset.

    The player's bid before is the last but one, so the infoset before is the code without its two lowest bits.

    Args:
        player: The player.
        bids: Number of bids `B`.
        hands: Number of hands `H`.
        policy: `float32[I, B + 1]`.
        reach: `float64[I]`.
    """
    one = np.uint64(1)
    for half in range(len(reach) // hands):
        code, made = np.uint64(half) << one, 0
        rest = code
        while rest:
            rest &= rest - one
            made += 1
        if made % 2 != player:
            code |= one
            made += 1
        if made < 2:
            for hand in range(hands):
                reach[half * hands + hand] = 1.0
            continue
        before = code & (code - one)
        lowest = before & (~before + one)  # the bit of the player's own bid
        bid = bids - 1
        while lowest > one:
            lowest >>= one
            bid -= 1
        start = np.int64((before & (before - one)) >> one) * hands
        for hand in range(hands):
            reach[half * hands + hand] = reach[start + hand] * policy[start + hand, bid]


__all__ = ["Frames", "evaluate", "fill_infosets", "own_reach"]
