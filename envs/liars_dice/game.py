"""Liar's dice with any number of dice and faces as an `envs.extensive.ExtensiveGame`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.capabilities import check_infosets, check_policies, check_policy
from envs.extensive import CHANCE, OVER, FactoredGame, check_types
from envs.game import GameSpec, Packed, States
from envs.liars_dice import exact, rules
from envs.liars_dice.hands import Hands, all_hands


@dataclass(frozen=True)
class LiarsDice(FactoredGame):
    """Liar's dice for two players (Lanctot et al. 2019, OpenSpiel). Implements `envs.extensive.ExtensiveGame`.

    Action ``(quantity - 1) * faces + face - 1`` bids that the dice of both players show a face at least `quantity`
    times; the last action calls the bid before it a lie. Chance deals a hand to each player in turn; a hand is a
    multiset of dice.

    Attributes:
        dice: Number of dice of each player.
        faces: Number of faces of a die; the highest is wild.
        name: Name on the command line.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option is out of range.
    """

    public_actions: ClassVar[bool] = True
    input_bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    dice: int = 1
    faces: int = 6
    name: str = "liars_dice"
    spec: GameSpec = field(init=False, repr=False, compare=False)
    hands: Hands = field(init=False, repr=False, compare=False)
    """The hands of a player, and their probabilities."""

    def __post_init__(self) -> None:
        check_types(self, {"dice": int, "faces": int, "name": str})
        if self.dice < 1:
            raise ValueError(f"dice must be at least 1, got {self.dice}")
        if self.faces < 2:
            raise ValueError(f"faces must be at least 2, got {self.faces}")
        if self.bids > rules.MOST_BIDS:
            raise ValueError(
                f"dice * faces must be at most {rules.MOST_BIDS // 2}, so that there are at most {rules.MOST_BIDS} "
                f"bids, got {self.dice} * {self.faces}"
            )
        object.__setattr__(self, "hands", all_hands(self.dice, self.faces))
        spec = GameSpec(
            name=self.name,
            num_players=2,
            num_actions=self.bids + 1,
            packed_size=1 + self.dice + self.bids // 8 + 1,
            shapes={"flat": (2 + self.dice * self.faces + self.bids + 1 + 2,)},
            slots={"action": self.bids + 1},
            endings=("running", "over"),
            max_plies=self.bids + 1,
        )
        object.__setattr__(self, "spec", spec)

    @property
    def bids(self) -> int:
        """Number of different bids: a quantity of both players' dice, and a face."""
        return 2 * self.dice * self.faces

    def initial(self, batch: int) -> States:
        states = np.zeros(batch, rules.STATE)
        states["mover"] = CHANCE
        states["winner"] = -1
        states["last"] = rules.NO_BID
        states["hands"] = rules.NO_HAND
        return states

    def legal(self, states: States) -> NDArray[np.bool_]:
        out = np.empty((len(states), self.bids + 1), np.bool_)
        rules.legal(states, out)
        return out

    def chance(self, states: States) -> NDArray[np.float64]:
        return np.tile(self.hands.probability, (len(states), 1))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        rules.apply(states, np.asarray(choices, np.int64), self.hands.matching, self.bids)

    def public(self, states: States) -> NDArray[np.int64]:
        """0 after a deal, 1 + action after an action."""
        bid = np.where(states["last"] == rules.NO_BID, 0, states["last"] + np.int64(1))
        return np.where(states["mover"] == OVER, self.bids + 1, bid)

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """1 + the player's hand between its deal and the first bid, else 0."""
        hand = states["hands"][:, player]
        dealing = (states["last"] == rules.NO_BID) & (hand != rules.NO_HAND)
        return np.where(dealing, hand + np.int64(1), 0)

    def utilities(self, states: States) -> NDArray[np.float64]:
        won = np.where(states["winner"] < 0, 0.0, 1.0 - 2.0 * states["winner"])
        return np.stack([won, -won], axis=1)

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        packed = np.zeros((len(states), self.spec.packed_size), np.uint8)
        packed[:, 0] = players
        hand = states["hands"][np.arange(len(states)), players]
        dealt = hand != rules.NO_HAND
        packed[:, 1 : 1 + self.dice] = np.where(dealt[:, None], self.hands.dice[np.where(dealt, hand, 0)] + 1, 0)
        made = states["bids"].astype("<u8").view(np.uint8).reshape(-1, 8)
        width = min(8, self.spec.packed_size - 1 - self.dice)
        packed[:, 1 + self.dice : 1 + self.dice + width] = made[:, :width]
        packed[:, -1] |= ((states["mover"] == OVER) << (self.bids % 8)).astype(np.uint8)
        return packed

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        """The player, the player's dice of each face as a thermometer, the actions made, and who made the last."""
        encoded = np.zeros((len(packed), *self.spec.shapes["flat"]), np.float32)
        rules.encode(np.ascontiguousarray(packed), self.dice, self.faces, encoded)
        return encoded

    def describe(self, state: np.void, view: int | None = None) -> str:
        hands = [self.describe_hand(state, p) if view in (None, p) else "?" for p in (0, 1)]
        actions = [self.describe_action(bid) for bid in self.bids_of(state)]
        if state["mover"] == OVER:
            actions.append(self.describe_action(self.bids))
        return f"dice {hands[0]} {hands[1]}: {' '.join(actions)}".rstrip(": ")

    def describe_hand(self, state: np.void, player: int) -> str:
        """The player's dice in increasing order."""
        return ",".join(map(str, self.dice_of(state, player))) or "-"

    def describe_action(self, action: int) -> str:
        return "liar" if action == self.bids else f"{int(action) // self.faces + 1}x{int(action) % self.faces + 1}"

    def dice_of(self, state: np.void, player: int) -> list[int]:
        """Returns the dice of a player in increasing order, from 1; none before they are dealt."""
        hand = int(state["hands"][player])
        return [] if hand == rules.NO_HAND else [int(face) + 1 for face in self.hands.dice[hand]]

    def bids_of(self, state: np.void) -> list[int]:
        """Returns the bids made so far, in the order of play."""
        return [bid for bid in range(self.bids) if int(state["bids"]) >> bid & 1]

    def num_infosets(self, player: int) -> int:
        """Returns the number of infosets of a player: hands x sets of bids after which the player is to move."""
        return len(self.hands.dice) << (self.bids - 1)

    def infosets(self, player: int, start: int, stop: int) -> States:
        """Returns states in which `player` is to move at the infosets ranked `start` .. `stop` - 1, `[stop - start]`.

        What the other player holds is arbitrary. The order is that of `envs.liars_dice.exact`.

        Raises:
            ValueError: there are no such ranks.
        """
        check_infosets(self, player, start, stop)
        states = self.initial(stop - start)
        half, hand = divmod(start, len(self.hands.dice))
        exact.fill_infosets(states, player, np.uint64(half), hand, self.bids, len(self.hands.dice))
        return states

    def decisions_before(
        self, states: States, player: int
    ) -> Iterator[tuple[NDArray[np.int64], States, NDArray[np.int64]]]:
        """See `envs.capabilities.ExactGame`: the player's earlier decisions, in the order of play."""
        places = np.arange(self.bids)
        made = (states["bids"][:, None] >> places.astype(np.uint64) & np.uint64(1)).astype(bool)
        order = np.cumsum(made, axis=1) - made  # number of bids before each one
        for number in range(player, int(made.sum(axis=1).max(initial=0)), 2):
            rows, actions = np.nonzero(made & (order == number))
            earlier = states[rows]
            earlier["mover"] = player
            earlier["bids"] &= (np.uint64(1) << actions.astype(np.uint64)) - np.uint64(1)
            before = np.where(made[rows] & (places < actions[:, None]), places, -1).max(axis=1)
            earlier["last"] = np.where(before < 0, rules.NO_BID, before)
            yield rows, earlier, actions.astype(np.int64)

    def own_reach(self, player: int, policy: NDArray[np.float32]) -> NDArray[np.float64]:
        """See `envs.capabilities.ExactGame`."""
        check_policy(self, player, policy)
        reach = np.empty(len(policy))
        exact.own_reach(player, self.bids, len(self.hands.dice), np.ascontiguousarray(policy), reach)
        return reach

    def evaluate(
        self, policies: tuple[NDArray[np.float32], NDArray[np.float32]], threads: int = 1
    ) -> tuple[float, float, float]:
        """Computes the value of two policies and of best responses to them, exactly.

        Args:
            policies: Policy of each player by rank of the infoset, `float32[num_infosets(player), A]`; 0 at illegal
                actions. A row may be off by rounding; it is divided by its sum.
            threads: Not used: one is fast enough.

        Returns:
            The expected return of player 0 under both policies, the return of a best response of player 0 to policy 1,
            and that of a best response of player 1 to policy 0.

        Raises:
            ValueError: an array has another shape or type, or a row is not a distribution.
        """
        check_policies(self, policies)
        first, second = (np.ascontiguousarray(policy)[:] for policy in policies)
        first.flags.writeable = second.flags.writeable = False  # one type of arrays, whatever the caller may write
        return exact.evaluate(self.hands, self.bids, first, second)


__all__ = ["LiarsDice"]
