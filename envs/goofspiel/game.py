"""Goofspiel with hidden bids as an `envs.extensive.ExtensiveGame`."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, FactoredGame, check_types, one_hot
from envs.game import GameSpec, Packed, States
from envs.goofspiel import rules


@dataclass(frozen=True)
class Goofspiel(FactoredGame):
    """Goofspiel for two players with hidden bids (Lanctot et al. 2013). Implements `envs.extensive.ExtensiveGame`.

    Each player holds the cards 1 .. N; action k bids card k + 1. The players bid in turn, the second without seeing
    the first bid; both then learn who took the prize, but not the bids. Returns are the points minus the opponent's.
    The last bid is forced, and is a decision nevertheless.

    Attributes:
        cards: Number of cards and prizes, `N`.
        prizes: Order of the prizes: ``descending``, ``ascending``, or ``random``, turned up one per round.
        name: Name on the command line.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option is out of range.
    """

    cards: int = 5
    prizes: str = "descending"
    name: str = "goofspiel"
    input_bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    spec: GameSpec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_types(self, {"cards": int, "prizes": str, "name": str})
        if not 2 <= self.cards <= rules.MOST_CARDS:
            raise ValueError(f"cards must be from 2 to {rules.MOST_CARDS}, got {self.cards}")
        if self.prizes not in ("descending", "ascending", "random"):
            raise ValueError(f"prizes must be descending, ascending or random, got {self.prizes!r}")
        n = self.cards
        spec = GameSpec(
            name=self.name,
            num_players=2,
            num_actions=n,
            packed_size=1 + 3 * n,
            shapes={"flat": (2 + n * (n + 3 + n),)},
            slots={"action": n},
            endings=("running", "over"),
            max_plies=2 * n,
            max_return=float(n * (n + 1) // 2 - 2),  # all prizes but the least, which the opponent takes
        )
        object.__setattr__(self, "spec", spec)

    def initial(self, batch: int) -> States:
        states = np.zeros(batch, rules.STATE)
        for name in ("prizes", "bids", "results"):
            states[name] = rules.NONE
        if self.prizes == "random":
            states["mover"] = CHANCE
        else:
            order = np.arange(self.cards)
            states["prizes"][:, : self.cards] = order[::-1] if self.prizes == "descending" else order
        return states

    def legal(self, states: States) -> NDArray[np.bool_]:
        out = np.empty((len(states), self.cards), np.bool_)
        rules.legal(states, out)
        return out

    def chance(self, states: States) -> NDArray[np.float64]:
        left = np.empty((len(states), self.cards))
        rules.prizes_left(states, left)
        return np.asarray(left / np.maximum(left.sum(axis=1, keepdims=True), 1))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        rules.apply(states, np.asarray(choices, np.int64), self.cards, self.prizes == "random")

    def public(self, states: States) -> NDArray[np.int64]:
        """0 after the first bid, 1 + result of the round after the second, 4 + prize after a prize was turned up."""
        done = states["round"].astype(np.int64)
        result = states["results"][np.arange(len(states)), np.maximum(done, 1) - 1].astype(np.int64) + 1
        code = np.where(states["mover"] == 1, 0, np.where(done > 0, result, 3))
        if self.prizes == "random":
            turned = states["prizes"][np.arange(len(states)), np.minimum(done, self.cards - 1)]
            code = np.where((states["mover"] == 0) & (turned != rules.NONE), turned + np.int64(4), code)
        return code

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """Players observe nothing in private besides their own bids."""
        return np.zeros(len(states), np.int64)

    def utilities(self, states: States) -> NDArray[np.float64]:
        won = np.where(self.finished(states), states["difference"].astype(np.float64), 0.0)
        return np.stack([won, -won], axis=1)

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        n = self.cards
        packed = np.empty((len(states), self.spec.packed_size), np.uint8)
        packed[:, 0] = players
        packed[:, 1 : 1 + n] = states["bids"][np.arange(len(states)), players, :n]
        packed[:, 1 + n : 1 + 2 * n] = states["results"][:, :n]
        packed[:, 1 + 2 * n :] = states["prizes"][:, :n]
        return packed

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        """One-hot vectors of the player and, for each round, of the player's bid, the result and the prize."""
        n, rows = self.cards, len(packed)
        parts = [one_hot(packed[:, 0], 2)]
        for k, size in enumerate((n, 3, n)):
            parts.append(one_hot(packed[:, 1 + k * n : 1 + (k + 1) * n], size).reshape(rows, -1))
        return np.concatenate(parts, axis=1)

    def describe(self, state: np.void, view: int | None = None) -> str:
        rounds = []
        for r in range(min(int(state["round"]) + 1, self.cards)):
            if state["prizes"][r] == rules.NONE:
                continue
            hidden = [view == 1 - p or state["bids"][p, r] == rules.NONE for p in (0, 1)]
            bids = ["?" if hidden[p] else str(int(state["bids"][p, r]) + 1) for p in (0, 1)]
            taken = ("tie", "first", "second")[state["results"][r]] if r < state["round"] else "open"
            rounds.append(f"{int(state['prizes'][r]) + 1}: {bids[0]}-{bids[1]} {taken}")
        return "; ".join(rounds) or "no prize yet"

    def describe_action(self, action: int) -> str:
        return f"bid {action + 1}"
