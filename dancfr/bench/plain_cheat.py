"""Chance-sampled CFR on Mini-Cheat in plain Python: the reference of the compiled solver in benchmarks and tests.

The rules are the functions of `envs.cheat.turns`, run as plain Python on Python's own integers. Infosets are stored in
a dictionary, and regrets in lists.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from inspect import isfunction, unwrap
from operator import add
from types import FunctionType, SimpleNamespace
from typing import Any

from envs.cheat import Cheat
from envs.cheat.cards import contains
from envs.cheat.turns import ANSWERING, CHALLENGE, DISCARDING, answer, claim, must_challenge, pick

Key = tuple[object, ...]


def as_plain_python(kernel: Any) -> Any:
    """Converts a compiled function, and every compiled function that it calls, to plain Python on Python's integers.

    The globals are copied, with NumPy's integer types replaced by `int`, because arithmetic on NumPy's scalars is slow
    outside compiled code.
    """
    function = unwrap(kernel)
    scope: dict[str, Any] = {"__builtins__": __builtins__}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if name == "np":
            scope[name] = SimpleNamespace(uint64=int, int64=int)
        elif value is not None:
            compiled = isfunction(unwrap(value)) if callable(value) else False
            scope[name] = as_plain_python(value) if compiled else int(value)
    return FunctionType(function.__code__, scope, function.__name__)


ANSWER, CLAIM, CONTAINS, MUST_CHALLENGE, PICK = (
    as_plain_python(kernel) for kernel in (answer, claim, contains, must_challenge, pick)
)


class PlainGame:
    """A game with the fields of `envs.cheat.turns.position_fields`, as Python's integers and lists."""

    def __init__(self, hands: list[int], first: int, health: int) -> None:
        self.hand, self.put, self.health = hands, [0, 0], [health, health]
        self.discarder = self.mover = first
        self.phase = DISCARDING
        self.discard = self.rank = self.claimed = self.passes = self.ending = 0
        self.log = 1
        self.winner = self.loser = -1

    def copy(self) -> "PlainGame":
        """Copies the game, so that playing the copy does not change this one."""
        other = object.__new__(PlainGame)
        other.__dict__.update(self.__dict__)
        other.hand, other.put, other.health = self.hand.copy(), self.put.copy(), self.health.copy()
        return other


@dataclass
class Infoset:
    """Regrets and strategy sums by action, and the strategy of iteration `stamp`."""

    regrets: list[float]
    sums: list[float]
    policy: list[float] = field(default_factory=list)
    stamp: int = 0

    def match(self, stamp: int) -> list[float]:
        """Returns the strategy of an iteration, which is computed at its first visit."""
        if self.stamp != stamp:
            positive = [max(regret, 0.0) for regret in self.regrets]
            total = _sum(positive)
            count = len(positive)
            self.policy = [p / total for p in positive] if total > 0 else [1.0 / count] * count
            self.stamp = stamp
        return self.policy


class PlainSolver:
    """CFR for one of the agents of paper 001, 4.2, without abstractions; holds the infosets of both players.

    Args:
        game: Cheat for two players with ``discards="sets"``.
        agent: ``memoryless``, ``hp-aware``, ``history-aware`` or ``general``.
        prune: Whether to skip subtrees that neither player reaches, as the compiled solver does; it changes no result.

    Attributes:
        infosets: Infosets by key.
        nodes: Number of nodes walked so far, ends of games included.
    """

    def __init__(self, game: Cheat, agent: str, prune: bool = True) -> None:
        self.rules = game.rule_set._replace(full=int(game.rule_set.full))  # type: ignore[arg-type]
        self.discards: list[int] = game.sets.tolist()
        self.start_health, self.prune = game.health, prune
        self.health, self.history = agent in ("hp-aware", "general"), agent in ("history-aware", "general")
        self.infosets: dict[Key, Infoset] = {}
        self.stamp = self.nodes = 0

    def iterate(self, hands: list[int], first: int) -> float:
        """Runs one iteration below a deal; returns the value of player 0.

        Args:
            hands: Cards of each player, words of `envs.cheat.cards`.
            first: Player who begins.
        """
        self.stamp += 1
        return self._walk(PlainGame(hands, first, self.start_health), (1.0, 1.0))

    def _walk(self, game: PlainGame, reach: tuple[float, float]) -> float:
        """Returns the value of a node for player 0; adds to regrets and strategy sums on the way back."""
        self.nodes += 1
        mover = game.mover
        actions = self._actions(game)
        infoset = self._infoset(game, len(actions))
        policy = infoset.match(self.stamp)
        if game.phase == ANSWERING and MUST_CHALLENGE(game, self.rules):
            return self._below(game, CHALLENGE, reach)
        values = []
        for chance, action in zip(policy, actions, strict=True):
            below = (reach[0] * chance, reach[1]) if mover == 0 else (reach[0], reach[1] * chance)
            values.append(0.0 if self.prune and below == (0.0, 0.0) else self._below(game, action, below))
        value = _sum(chance * v for chance, v in zip(policy, values, strict=True))
        counterfactual = reach[1 - mover] * (1.0 if mover == 0 else -1.0)
        for a, (chance, v) in enumerate(zip(policy, values, strict=True)):
            infoset.regrets[a] += counterfactual * (v - value)
            infoset.sums[a] += reach[mover] * chance
        return value

    def _actions(self, game: PlainGame) -> Sequence[int]:
        """Returns the answers, or the discards that the hand allows."""
        if game.phase == ANSWERING:
            return 0, 1
        hand = game.hand[game.mover]
        return [discard for discard in self.discards if CONTAINS(hand, discard)]

    def _below(self, game: PlainGame, action: int, reach: tuple[float, float]) -> float:
        """Returns the value for player 0 of the game after an action."""
        child = game.copy()
        if game.phase == ANSWERING:
            ANSWER(child, action, self.rules)
        else:
            PICK(child, action)
            CLAIM(child)
        if child.winner < 0:
            return self._walk(child, reach)
        self.nodes += 1
        return 1.0 if child.winner == 0 else -1.0

    def _infoset(self, game: PlainGame, count: int) -> Infoset:
        mover = game.mover
        kind = 1 + game.claimed if game.claimed else int(sum(game.put) > 0)
        key: Key = (mover, game.hand[mover], game.rank, kind)
        if self.health:
            key += (game.health[mover], game.health[1 - mover])
        if self.history:
            key += (game.log,)
        if key not in self.infosets:
            self.infosets[key] = Infoset([0.0] * count, [0.0] * count)
        return self.infosets[key]


def _sum(numbers: Iterable[float]) -> float:
    """Adds numbers in their order, as a kernel does.

    Since Python 3.12 `sum` compensates rounding, and a regret of 1e-17 in place of 0 decides a policy.
    """
    return reduce(add, numbers, 0.0)


__all__ = ["PlainGame", "PlainSolver", "as_plain_python"]
