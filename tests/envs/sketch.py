"""The base of small games that tests write down: two players, two actions, and no observation."""

import numpy as np
from numpy.typing import NDArray

from envs.extensive import FactoredGame
from envs.game import GameSpec, States


class Sketch(FactoredGame):
    """A game of two players and two actions, in which neither is told anything, with the winnings of player 0 in `won`.

    Args:
        name: Name of the game.
        size: Bytes of an infostate, which networks see as they are.
        most: Most decisions of a game.
        stake: Largest return.
    """

    def __init__(self, name: str, size: int, most: int, stake: float = 1.0) -> None:
        shapes, slots = {"flat": (size,)}, {"action": 2}
        self.spec = GameSpec(name, 2, 2, size, shapes, slots, ("running", "over"), most, stake)

    def legal(self, states: States) -> NDArray[np.bool_]:
        return np.repeat((states["mover"] >= 0)[:, None], 2, axis=1)

    def public(self, states: States) -> NDArray[np.int64]:
        return np.zeros(len(states), np.int64)

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        return np.zeros(len(states), np.int64)

    def utilities(self, states: States) -> NDArray[np.float64]:
        return np.stack([states["won"], -states["won"]], axis=1).astype(np.float64)

    def encode(self, packed: NDArray[np.uint8], encoding: str = "flat") -> NDArray[np.float32]:
        return packed.astype(np.float32)

    def describe(self, state: np.void, view: int | None = None) -> str:
        return str(state)

    def describe_action(self, action: int) -> str:
        return str(action)
