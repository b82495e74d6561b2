"""Strategies of two-player Cheat by infoset key, and the agent that plays them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named
from envs.cheat import Cheat
from envs.compiled import kernel
from envs.game import Game, States
from envs.tree import Tree
from learners.cheat_cfr.keys import KeyForm, keys_of
from learners.cheat_cfr.table import SLOT, Table, probe
from learners.storage import arrays_under


@dataclass(frozen=True, eq=False)
class Strategy:
    """Policies at all infosets that a solver has met.

    Attributes:
        keys: `uint64[I, 2]`, see `learners.cheat_cfr.keys`.
        counts: Number of legal actions at each infoset, `int32[I]`.
        policies: By name, such as ``average`` and ``last``: probabilities of the legal actions in the order of the
            game's actions, concatenated over infosets, `float64[sum of counts]`.
    """

    keys: NDArray[np.uint64]
    counts: NDArray[np.int32]
    policies: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(cls, table: Table) -> "Strategy":
        """The average strategy and the last one of a solver."""
        here = table.occupied
        keys = np.stack([here["first"], here["second"]], axis=1)
        return cls(keys, here["count"].copy(), {"average": table.policies(True), "last": table.policies(False)})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The strategy as arrays for a file."""
        return {"keys": self.keys, "counts": self.counts, **{f"policy.{k}": v for k, v in self.policies.items()}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Strategy":
        """Restores a strategy from its `arrays`.

        Raises:
            ValueError: the arrays are not a strategy.
        """
        kinds: dict[str, tuple[type, int]] = {"keys": (np.uint64, 2), "counts": (np.int32, 1)}
        found = arrays_under(arrays, "policy")
        kinds |= {f"policy.{name}": (np.float64, 1) for name in found}
        if not found or arrays.keys() != kinds.keys():
            raise ValueError("the file does not hold a strategy of Cheat")
        if any(arrays[name].dtype != kind or arrays[name].ndim != ndim for name, (kind, ndim) in kinds.items()):
            raise ValueError("the arrays of the strategy have other types or dimensions")
        keys, counts = arrays["keys"], arrays["counts"]
        fits = keys.shape == (len(counts), 2) and len(counts) > 0 and (counts > 0).all()
        if not fits or any(len(policy) != counts.sum() for policy in found.values()):
            raise ValueError("the arrays of the strategy do not fit each other")
        for name, policy in found.items():
            sums = np.add.reduceat(policy, np.cumsum(counts) - counts)
            if not (policy >= 0).all() or (np.abs(sums - 1) > 1e-6).any():  # nor nan
                raise ValueError(f"policy {name} must have probabilities that add up to 1 at each infoset")
        return cls(keys, counts, found)


class CheatAgent(Named):
    """Plays a strategy of two-player Cheat, and uniformly at unknown infosets. Satisfies `envs.agent.Agent`.

    Args:
        game: The game that the strategy was trained on. Health above the health of this game counts as that health.
        keys: What the infosets of the strategy distinguish.
        strategy: The strategy.
        policy: Name of one of its policies.
        name: Name of the agent in messages.

    Raises:
        ValueError: keys or strategy do not fit the game.
        KeyError: the strategy has no such policy.
    """

    def __init__(self, game: Cheat, keys: KeyForm, strategy: Strategy, policy: str = "average", name: str = "") -> None:
        keys.check(game)
        self.name = name or policy
        self._form = keys.form(game, game.health)
        self._policy = strategy.policies[policy]
        if strategy.counts.max() >= game.spec.num_actions:
            raise ValueError(f"the strategy has {strategy.counts.max()} actions at an infoset, more than {game.name}")
        slots = np.zeros(len(strategy.counts), SLOT)
        slots["first"], slots["second"], slots["count"] = strategy.keys[:, 0], strategy.keys[:, 1], strategy.counts
        self._slots = np.zeros(1 << int(2 * len(slots) - 1).bit_length(), SLOT)
        _place(self._slots, slots)

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        packed = self._game.observe(states, self._game.to_move(states))
        bounds = np.cumsum(self.table(packed, self._game.legal(states)), axis=1)
        draws = rng.random(len(states)) * bounds[:, -1]
        return np.asarray((bounds <= draws[:, None]).sum(axis=1))

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `envs.agent.StatesPolicy`."""
        packed = self._game.observe(states, self._game.to_move(states))
        policy = self.table(packed, self._game.legal(states))
        return np.asarray(policy / policy.sum(axis=1, keepdims=True))

    def table(self, packed: NDArray[np.uint8], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Probabilities at packed infostates `uint8[B, P]` with legal actions `bool[B, A]`, `float64[B, A]`."""
        out = np.zeros(legal.shape)
        _look_up(keys_of(packed, self._form), legal, self._slots, self._policy, out)
        return out

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The policy of both players on a tree, `float64[S]`."""
        return tree.to_slots(self.table(tree.observed, tree.legal()))


@kernel
def _place(slots, listed):
    at = 0
    for i in range(listed.shape[0]):
        place = probe(slots, listed[i].first, listed[i].second)
        slots[place] = listed[i]
        slots[place].at = at
        at += listed[i].count


@kernel
def _look_up(keys, legal, slots, policy, out):
    """Writes the probabilities of the legal actions at each infoset to `float64[B, A]`; uniform if it is unknown."""
    for b in range(keys.shape[0]):
        slot = slots[probe(slots, keys[b, 0], keys[b, 1])]
        count = 0
        for a in range(legal.shape[1]):
            count += legal[b, a]
        known = slot.count == count
        seen = 0
        for a in range(legal.shape[1]):
            if legal[b, a]:
                out[b, a] = policy[slot.at + seen] if known else 1.0 / count
                seen += 1


__all__ = ["CheatAgent", "Strategy"]
