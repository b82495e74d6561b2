"""Chance-sampled CFR on Mini-Cheat in plain Python: what the compiled solver is measured against, and tested with.

Rules and infosets are written here once more from paper 001, with tuples and dictionaries.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

Cards = tuple[int, ...]
"""Count of each rank, from Ace."""
Key = tuple[object, ...]


class Turn(NamedTuple):
    """Where a game of two players stands; `claimed` is 0 while a discard is chosen."""

    hands: tuple[Cards, Cards]
    pile: Cards
    rank: int
    health: tuple[int, int]
    discarder: int
    discard: Cards
    claimed: int
    log: tuple[tuple[int, bool], ...]


@dataclass
class Infoset:
    """Regrets and strategy sums by action, and the strategy of iteration `stamp`."""

    regrets: list[float]
    sums: list[float]
    policy: list[float] = field(default_factory=list)
    stamp: int = 0

    def match(self, stamp: int) -> list[float]:
        """The strategy of an iteration, fixed when it first comes here."""
        if self.stamp != stamp:
            positive = [max(regret, 0.0) for regret in self.regrets]
            total = sum(positive)
            count = len(positive)
            self.policy = [p / total for p in positive] if total > 0 else [1.0 / count] * count
            self.stamp = stamp
        return self.policy


class PlainSolver:
    """Both players' infosets of one agent of paper 001, 4.2, without abstraction.

    Args:
        ranks: Ranks in the deck.
        most: Cards of a discard at most.
        agent: ``memoryless``, ``hp-aware``, ``history-aware`` or ``general``.
        prune: Leave out what neither player reaches: it changes no number.
    """

    def __init__(self, ranks: int, most: int, agent: str, prune: bool = True) -> None:
        self.ranks, self.most, self.prune = ranks, most, prune
        self.health, self.history = agent in ("hp-aware", "general"), agent in ("history-aware", "general")
        self.infosets: dict[Key, Infoset] = {}
        self.stamp = 0

    def iterate(self, hands: tuple[Cards, Cards], first: int, health: int) -> float:
        """One iteration below a deal; the value of player 0."""
        self.stamp += 1
        nothing = (0,) * self.ranks
        return self._walk(Turn(hands, nothing, 0, (health, health), first, nothing, 0, ()), (1.0, 1.0))

    def _walk(self, turn: Turn, reach: tuple[float, float]) -> float:
        """Value of player 0 below a node; adds to regrets and sums on the way back."""
        mover = turn.discarder if turn.claimed == 0 else 1 - turn.discarder
        followers = list(self._discards(turn) if turn.claimed == 0 else self._answers(turn))
        infoset = self._infoset(turn, mover, len(followers))
        policy = infoset.match(self.stamp)
        values = []
        for chance, follower in zip(policy, followers, strict=True):
            below = (reach[0] * chance, reach[1]) if mover == 0 else (reach[0], reach[1] * chance)
            if isinstance(follower, int):
                values.append(1.0 if follower == 0 else -1.0)
            elif self.prune and below == (0.0, 0.0):
                values.append(0.0)
            else:
                values.append(self._walk(follower, below))
        value = sum(chance * v for chance, v in zip(policy, values, strict=True))
        counterfactual = reach[1 - mover] * (1.0 if mover == 0 else -1.0)
        for a, (chance, v) in enumerate(zip(policy, values, strict=True)):
            infoset.regrets[a] += counterfactual * (v - value)
            infoset.sums[a] += reach[mover] * chance
        return value

    def _infoset(self, turn: Turn, mover: int, count: int) -> Infoset:
        kind = 1 + turn.claimed if turn.claimed else int(sum(turn.pile) > 0)
        key: Key = (mover, turn.hands[mover], turn.rank, kind)
        if self.health:
            key += (turn.health[mover], turn.health[1 - mover])
        if self.history:
            key += (turn.log,)
        if key not in self.infosets:
            self.infosets[key] = Infoset([0.0] * count, [0.0] * count)
        return self.infosets[key]

    def _discards(self, turn: Turn) -> Iterator[Turn]:
        """What follows each discard: fewer cards first, then by ranks counted from the current one."""
        hand = turn.hands[turn.discarder]
        held = [
            (turn.rank + r) % self.ranks for r in range(self.ranks) for _ in range(hand[(turn.rank + r) % self.ranks])
        ]
        for size in range(1, self.most + 1):
            for chosen in dict.fromkeys(combinations(held, size)):
                discard = tuple(chosen.count(r) for r in range(self.ranks))
                left = tuple(h - d for h, d in zip(hand, discard, strict=True))
                hands = (left, turn.hands[1]) if turn.discarder == 0 else (turn.hands[0], left)
                pile = tuple(p + d for p, d in zip(turn.pile, discard, strict=True))
                yield turn._replace(hands=hands, pile=pile, discard=discard, claimed=size)

    def _answers(self, turn: Turn) -> Iterator[Turn | int]:
        """What follows a pass, and a challenge: a turn, or who has won."""
        d = turn.discarder
        empty = sum(turn.hands[d]) == 0
        yield d if empty else self._next(turn, turn.hands, turn.pile, turn.health, False)
        loser = d if turn.discard[turn.rank] < turn.claimed else 1 - d
        health = (turn.health[0] - (loser == 0), turn.health[1] - (loser == 1))
        if health[loser] == 0:
            yield 1 - loser
        elif empty and loser != d:
            yield d
        else:
            taken = tuple(h + p for h, p in zip(turn.hands[loser], turn.pile, strict=True))
            hands = (taken, turn.hands[1]) if loser == 0 else (turn.hands[0], taken)
            yield self._next(turn, hands, (0,) * self.ranks, health, True)

    def _next(
        self, turn: Turn, hands: tuple[Cards, Cards], pile: Cards, health: tuple[int, int], challenged: bool
    ) -> Turn:
        rank, log = (turn.rank + 1) % self.ranks, (*turn.log, (turn.claimed, challenged))
        return Turn(hands, pile, rank, health, 1 - turn.discarder, (0,) * self.ranks, 0, log)
