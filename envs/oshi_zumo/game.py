"""Oshi-zumo with hidden bids as an `envs.extensive.ExtensiveGame`."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.extensive import FactoredGame, check_types, one_hot
from envs.game import GameSpec, Packed, States
from envs.oshi_zumo import rules


@dataclass(frozen=True)
class OshiZumo(FactoredGame):
    """Oshi-zumo for two players with hidden bids (Buro 2003; paper 003). Implements `envs.extensive.ExtensiveGame`.

    Action k bids k coins. The players bid in turn, the second without seeing the first bid; both then learn who pushed
    the wrestler, but not the bids. Both bids are spent. The player who pushes the wrestler off the board wins 1. Once a
    player cannot bid, the opponent pushes once for every `min_bid` coins left, and the side of the wrestler decides.

    Attributes:
        coins: Coins of each player at the start.
        size: Cells on each side of the middle; the board has 2 * `size` + 1 cells.
        min_bid: Smallest bid.
        name: Name on the command line.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option is out of range, or `coins` is so small that every game is a draw.
    """

    coins: int = 8
    size: int = 1
    min_bid: int = 1
    name: str = "oshi_zumo"
    input_bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    spec: GameSpec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_types(self, {"coins": int, "size": int, "min_bid": int, "name": str})
        if not 1 <= self.coins <= rules.MOST_COINS:
            raise ValueError(f"coins must be from 1 to {rules.MOST_COINS}, got {self.coins}")
        if not 1 <= self.size <= 50:
            raise ValueError(f"size must be from 1 to 50, got {self.size}")
        if not 1 <= self.min_bid <= self.coins:
            raise ValueError(f"min_bid must be from 1 to coins={self.coins}, got {self.min_bid}")
        if self.coins == self.min_bid or (self.coins, self.min_bid) == (2, 1):
            raise ValueError(f"coins={self.coins} with min_bid={self.min_bid} makes every game a draw: use more coins")
        n = self._rounds
        spec = GameSpec(
            name=self.name,
            num_players=2,
            num_actions=self.coins + 1,
            packed_size=1 + 2 * n,
            shapes={"flat": (2 + n * (self.coins + 1 + 3),)},
            slots={"action": self.coins + 1},
            endings=("running", "over"),
            max_plies=2 * n,
        )
        object.__setattr__(self, "spec", spec)

    @property
    def _rounds(self) -> int:
        """Maximum number of rounds."""
        return self.coins // self.min_bid

    def initial(self, batch: int) -> States:
        states = np.zeros(batch, rules.STATE)
        states["coins"] = self.coins
        states["bids"] = states["results"] = rules.NONE
        states["winner"] = -1
        return states

    def legal(self, states: States) -> NDArray[np.bool_]:
        own = states["coins"][np.arange(len(states)), np.maximum(states["mover"], 0)]
        bids = np.arange(self.coins + 1)
        return np.asarray((bids >= self.min_bid) & (bids <= own[:, None]) & (states["mover"] >= 0)[:, None])

    def chance(self, states: States) -> NDArray[np.float64]:
        """Chance never moves."""
        return np.ones((len(states), 1))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        rules.apply(states, np.asarray(choices, np.int64), self.size, self.min_bid)

    def public(self, states: States) -> NDArray[np.int64]:
        """0 after the first bid, 1 + result of the round after the second, 4 + result if the game is over."""
        done = states["round"].astype(np.int64)
        result = states["results"][np.arange(len(states)), np.maximum(done, 1) - 1].astype(np.int64) + 1
        return np.where((states["mover"] == 1) | (done == 0), 0, result + 3 * self.finished(states))

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """Players observe nothing in private besides their own bids."""
        return np.zeros(len(states), np.int64)

    def utilities(self, states: States) -> NDArray[np.float64]:
        won = np.array([1.0, -1.0, 0.0])[states["winner"]]  # the last one is for -1, no winner
        return np.stack([won, -won], axis=1)

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        n = self._rounds
        packed = np.empty((len(states), self.spec.packed_size), np.uint8)
        packed[:, 0] = players
        packed[:, 1 : 1 + n] = states["bids"][np.arange(len(states)), players, :n]
        packed[:, 1 + n :] = states["results"][:, :n]
        return packed

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        """One-hot vectors of the player and, for each round, of the player's bid and the result."""
        n, rows = self._rounds, len(packed)
        bids = one_hot(packed[:, 1 : 1 + n], self.coins + 1).reshape(rows, -1)
        results = one_hot(packed[:, 1 + n :], 3).reshape(rows, -1)
        return np.concatenate([one_hot(packed[:, 0], 2), bids, results], axis=1)

    def describe(self, state: np.void, view: int | None = None) -> str:
        cells = ["."] * (2 * self.size + 1)
        if abs(state["wrestler"]) <= self.size:
            cells[int(state["wrestler"]) + self.size] = "W"
        coins = ["?" if view == 1 - p and state["round"] > 0 else str(int(c)) for p, c in enumerate(state["coins"])]
        rounds = []
        for r in range(int(state["round"]) + (state["mover"] == 1)):
            hidden = [view == 1 - p or state["bids"][p, r] == rules.NONE for p in (0, 1)]
            bids = ["?" if hidden[p] else str(int(state["bids"][p, r])) for p in (0, 1)]
            pushed = ("tie", "first", "second")[state["results"][r]] if r < state["round"] else "open"
            rounds.append(f"{bids[0]}-{bids[1]} {pushed}")
        return f"|{''.join(cells)}| coins {coins[0]} {coins[1]}: {'; '.join(rounds) or 'no bids yet'}"

    def describe_action(self, action: int) -> str:
        return f"bid {action}"
