"""Bots for Cheat: `random`, `heuristic` and `heuristic-tracking` (paper 001, 5.2).

`random` plays each legal action with equal probability; where discards are picked card by card, each card.

The two others always discard one card: one of the current rank if they hold it, and otherwise one of the rank that is
nearest to it on the circle of ranks, of two equally near the one that has been passed: relative ranks R - 1, 1, R - 2,
2, and so on. With three ranks that is the rank just passed, which is wanted last, and then the next. What they differ
in is when they challenge, see `choose_heuristic`.

They read packed infostates, so what a player does not know cannot reach them. Nor do they remember anything: what a
player knows of the others' cards is part of the infostate.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent
from envs.cheat.game import Cheat
from envs.cheat.observation import CLAIMED, DISCARDER, HEAD, PHASE
from envs.cheat.rules import ANSWERING, CHALLENGE, PASS, PICK, SET, STOP
from envs.compiled import kernel
from envs.game import Game, States
from envs.players import RandomAgent

ROUNDING = 1e-9  # probabilities that are equal on paper differ by less than this


@kernel
def _sum(row, at, count):
    """Sum of some bytes, which may be more than a byte holds."""
    total = np.int64(0)
    for i in range(at, at + count):
        total += np.int64(row[i])
    return total


@kernel
def _nearest(row, ranks):
    """The rank of the own hand that is to be discarded, counted from the current one; -1 without cards."""
    for distance in range(ranks // 2 + 1):
        for rank in ((ranks - distance) % ranks, distance):
            if row[HEAD + rank] > 0:
                return rank
    return -1


@kernel
def _choose(n, k):
    """Ways to choose k of n, as a float; 0 where there are none."""
    if k < 0 or k > n:
        return 0.0
    ways = 1.0
    for i in range(min(k, n - k)):
        ways *= (n - i) / (i + 1)
    return ways


@kernel
def _probability(row, ranks, copies, players, wanted):
    """Probability that the discarder has at least `wanted` cards of the claimed rank, by the infostate.

    His cards are those in his hand and those that he has put into the pile. Each of them is known to be his, or is one
    of the `free` cards, which nobody is known to have: what of these he has not the others hold, or it is out of play.
    Every choice among them is taken as equally likely, so that the number of the rank is hypergeometric.
    """
    table = HEAD + 3 * ranks
    seen = table + 3 * players
    discarder = np.int64(row[DISCARDER])
    at = seen + (discarder - 1) * ranks
    unknown = _cards_of(row, ranks, discarder) - _sum(row, at, ranks)
    free = ranks * copies - _sum(row, HEAD, 2 * ranks) - _sum(row, seen, (players - 1) * ranks)
    claimed = copies - np.int64(row[HEAD]) - np.int64(row[HEAD + ranks])
    for other in range(players - 1):
        claimed -= np.int64(row[seen + other * ranks])
    least = max(wanted - np.int64(row[at]), 0)
    ways = 0.0
    for count in range(least, min(claimed, unknown) + 1):
        ways += _choose(claimed, count) * _choose(free - claimed, unknown - count)
    return ways / _choose(free, unknown)


@kernel
def _cards_of(row, ranks, player):
    """Cards of a player, counted from the viewer, in his hand and in the pile."""
    at = HEAD + 3 * ranks + 3 * player
    return np.int64(row[at]) + np.int64(row[at + 2])


@kernel
def _challenges(row, ranks, copies, players, tracking):
    """Whether the last discard is challenged, see `choose_heuristic`."""
    claimed, discarder = np.int64(row[CLAIMED]), np.int64(row[DISCARDER])
    emptied = row[HEAD + 3 * ranks + 3 * discarder] == 0
    if not tracking:
        return emptied or claimed > copies - np.int64(row[HEAD]) - np.int64(row[HEAD + ranks])
    if _probability(row, ranks, copies, players, claimed) <= 1 / players + ROUNDING:
        return True
    all_of_the_rank = _probability(row, ranks, copies, players, _cards_of(row, ranks, discarder))
    return emptied and all_of_the_rank < 1 - ROUNDING


@kernel
def choose_heuristic(packed, ranks, copies, players, picking, tracking):
    """The action of a heuristic player for each packed infostate.

    Without `tracking` it challenges a discarder whose hand is empty, and a claim of more cards than there can be beside
    those of the rank in its own hand and those that it has put into the present pile itself.

    With `tracking` it also reckons with all cards that were shown or taken. Among P players it challenges a claim for
    which the discarder has the cards with a probability of at most 1/P, see `_probability`: as a health point that one
    loses is worth 1 to him and 1/(P - 1) to each other, such a challenge does not lose on average. So it challenges
    always if he cannot have them, and never if it is known that he has and his hand is not empty. An empty hand it
    challenges unless all that he can have laid is of the rank. Where all cards are known, chance has no part in it.

    Args:
        packed: Infostates of the players to move, `uint8[B, P]`.
        ranks, copies, players, picking: Of the game's layout.
        tracking: Whether to reckon with the cards that were shown.

    Returns:
        The actions, `int64[B]`.
    """
    actions = np.empty(packed.shape[0], np.int64)
    first = PICK if picking else SET
    for b in range(packed.shape[0]):
        row = packed[b]
        if row[PHASE] == ANSWERING:
            actions[b] = CHALLENGE if _challenges(row, ranks, copies, players, tracking) else PASS
        elif picking and _sum(row, HEAD + 2 * ranks, ranks) > 0:
            actions[b] = STOP
        else:
            actions[b] = first + _nearest(row, ranks)
    return actions


class HeuristicAgent:
    """Plays what `choose_heuristic` says. Satisfies `envs.agent.Agent`.

    Args:
        tracking: Whether to reckon with the cards that were shown.

    Raises:
        ValueError: `begin` is called with another game than Cheat.
    """

    def __init__(self, tracking: bool = False) -> None:
        self.name = "heuristic-tracking" if tracking else "heuristic"
        self.tracking = tracking
        self._game: Cheat | None = None

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        if not isinstance(game, Cheat):
            raise ValueError(f"{self.name} plays cheat and mini-cheat only, not {game.spec.name}")
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        game = self._game
        if game is None:
            raise RuntimeError(f"{self.name}: call begin(game, batch, rng) before act")
        packed = game.observe(states, game.to_move(states))
        chosen: NDArray[np.int64] = choose_heuristic(
            packed, game.ranks, game.copies, game.players, game.picking, self.tracking
        )
        return chosen


def heuristic() -> HeuristicAgent:
    """Discards one card, a true one if it can, and challenges what its own cards give away and every last card."""
    return HeuristicAgent()


def heuristic_tracking() -> HeuristicAgent:
    """Discards like heuristic, but remembers every card that was shown or taken, and challenges by what it knows."""
    return HeuristicAgent(tracking=True)


BOTS: dict[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "heuristic": heuristic,
    "heuristic-tracking": heuristic_tracking,
}
"""The bots of Cheat by the name they have on the command line."""

__all__ = ["BOTS", "HeuristicAgent", "choose_heuristic", "heuristic", "heuristic_tracking"]
