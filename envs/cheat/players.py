"""Bots for Cheat: `random`, `heuristic` and `heuristic-tracking` (paper 001, 5.2).

`random` plays each legal action with equal probability; if discards are picked card by card, an action is a card.

The two heuristic bots always discard a single card: one of the current rank if they hold one, and otherwise one of the
rank that is nearest on the circle of ranks. Of two equally near ranks they prefer the one before the current rank, so
the order of relative ranks is 0, R - 1, 1, R - 2, 2, and so on. The bots differ in when they challenge, see
`choose_heuristic`.

They read packed infostates, which do not contain hidden cards. They have no memory: the known cards of the other
players are part of an infostate.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent, Named
from envs.cheat.game import Cheat
from envs.cheat.observation import CLAIMED, DISCARDER, HEAD, PASSES, PHASE
from envs.cheat.rules import ANSWERING, CHALLENGE, PASS, PICK, SET, STOP
from envs.compiled import kernel
from envs.game import Game, States
from envs.players import RandomAgent

ROUNDING = 1e-9  # probabilities that are equal on paper differ by less than this


@kernel
def _sum(row, at, count):
    """Returns the sum of `count` bytes from `at` on, `int64`."""
    total = np.int64(0)
    for i in range(at, at + count):
        total += np.int64(row[i])
    return total


@kernel
def _nearest(row, ranks):
    """Returns the rank in the hand to discard, counted from the current one; -1 if the hand is empty."""
    for distance in range(ranks // 2 + 1):
        for rank in ((ranks - distance) % ranks, distance):
            if row[HEAD + rank] > 0:
                return rank
    return -1


@kernel
def _choose(n, k):
    """Returns the binomial coefficient "n choose k" as a float; 0 if k is not from 0 to n."""
    if k < 0 or k > n:
        return 0.0
    ways = 1.0
    for i in range(min(k, n - k)):
        ways *= (n - i) / (i + 1)
    return ways


@kernel
def _probability(row, ranks, copies, players, wanted):
    """Returns the probability that the discarder has at least `wanted` cards of the claimed rank, given the infostate.

    The discarder's cards are those in the hand and those put into the pile. Some of them are known. The `unknown` ones
    belong to the `free` cards, whose owners are not known (another player, or none if a card is out of play). All
    selections from the free cards are assumed to be equally likely, so the number of cards of the claimed rank among
    the unknown ones has a hypergeometric distribution.
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
    """Counts the cards in the hand of a player and those that this player put into the pile; player 0 is the viewer."""
    at = HEAD + 3 * ranks + 3 * player
    return np.int64(row[at]) + np.int64(row[at + 2])


@kernel
def _challenges(row, ranks, copies, players, tracking, challenge_last):
    """Returns whether to challenge the last discard, see `choose_heuristic`."""
    claimed, discarder = np.int64(row[CLAIMED]), np.int64(row[DISCARDER])
    emptied = row[HEAD + 3 * ranks + 3 * discarder] == 0
    if challenge_last and emptied and row[PASSES] == players - 2:  # may not pass
        return True
    if not tracking:
        return emptied or claimed > copies - np.int64(row[HEAD]) - np.int64(row[HEAD + ranks])
    if _probability(row, ranks, copies, players, claimed) <= 1 / players + ROUNDING:
        return True
    all_of_the_rank = _probability(row, ranks, copies, players, _cards_of(row, ranks, discarder))
    return emptied and all_of_the_rank < 1 - ROUNDING


@kernel
def choose_heuristic(packed, ranks, copies, players, picking, tracking, challenge_last=False):
    """Chooses the action of a heuristic bot for each packed infostate.

    Without `tracking`, the bot challenges a discarder whose hand is empty. It also challenges a claim that cannot be
    true because the bot holds, or has put into the present pile, too many cards of the rank itself.

    With `tracking`, the bot also takes into account all cards that were shown or taken. In a game of P players, it
    challenges a claim if the probability that the discarder has the cards (`_probability`) is at most 1/P. Losing a
    health point costs a player 1 and gains each other player 1/(P - 1), so such a challenge does not lose on average.
    It always challenges a claim that cannot be true. It never challenges a discarder who is known to have the cards
    and whose hand is not empty. If the hand is empty, it challenges unless every card that the discarder can have put
    into the pile is of the claimed rank.

    Args:
        packed: Infostates of the players to move, `uint8[B, packed_size]`.
        ranks, copies, players, picking: See `envs.cheat.observation.Layout`.
        tracking: Whether to take into account the cards that were shown.
        challenge_last: See `envs.cheat.Cheat`.

    Returns:
        The actions, `int64[B]`.
    """
    actions = np.empty(packed.shape[0], np.int64)
    first = PICK if picking else SET
    for b in range(packed.shape[0]):
        row = packed[b]
        if row[PHASE] == ANSWERING:
            challenges = _challenges(row, ranks, copies, players, tracking, challenge_last)
            actions[b] = CHALLENGE if challenges else PASS
        elif picking and _sum(row, HEAD + 2 * ranks, ranks) > 0:
            actions[b] = STOP
        else:
            actions[b] = first + _nearest(row, ranks)
    return actions


class HeuristicAgent(Named):
    """Plays the actions of `choose_heuristic`. Implements `envs.agent.Agent`.

    Args:
        tracking: Whether to take into account the cards that were shown.

    Raises:
        ValueError: `begin` is called with a game other than Cheat.
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
        game = self._begun(self._game)
        packed = game.observe(states, game.to_move(states))
        chosen: NDArray[np.int64] = choose_heuristic(
            packed, game.ranks, game.copies, game.players, game.picking, self.tracking, game.challenge_last
        )
        return chosen


def heuristic() -> HeuristicAgent:
    """Discards a single card, a true one if possible; challenges empty hands and claims that its own cards disprove."""
    return HeuristicAgent()


def heuristic_tracking() -> HeuristicAgent:
    """Discards like heuristic, but remembers every card that was shown or taken, and challenges by probability."""
    return HeuristicAgent(tracking=True)


BOTS: dict[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "heuristic": heuristic,
    "heuristic-tracking": heuristic_tracking,
}
"""The bots of Cheat by their names on the command line."""

__all__ = ["BOTS", "HeuristicAgent", "choose_heuristic", "heuristic", "heuristic_tracking"]
