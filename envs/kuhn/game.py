"""Kuhn poker as an `envs.extensive.ExtensiveGame`."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, FactoredGame, check_types, one_hot
from envs.facts import POKER_FACES
from envs.game import GameSpec, Packed, States
from envs.kuhn import rules

ACTIONS = ("pass", "bet")


@dataclass(frozen=True)
class Kuhn(FactoredGame):
    """Kuhn poker (Kuhn 1950) for two players. Implements `envs.extensive.ExtensiveGame`.

    Action 0 passes (checks, folds), 1 bets (calls). With three cards the value to player 0 is -1/18.

    Attributes:
        cards: Number of cards in the deck, all of different rank.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: `cards` is out of range.
    """

    public_actions: ClassVar[bool] = True
    input_bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    cards: int = 3
    spec: GameSpec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_types(self, {"cards": int})
        if not 2 <= self.cards <= 100:
            raise ValueError(f"cards must be from 2 to 100, got {self.cards}")
        spec = GameSpec(
            name="kuhn",
            num_players=2,
            num_actions=2,
            packed_size=2 + rules.LONGEST,
            shapes={"flat": (2 + self.cards + 2 * rules.LONGEST,)},
            slots={"action": 2},
            endings=("running", "over"),
            max_plies=rules.LONGEST,
            max_return=2.0,
        )
        object.__setattr__(self, "spec", spec)

    def initial(self, batch: int) -> States:
        states = np.zeros(batch, rules.STATE)
        states["mover"] = CHANCE
        states["cards"] = rules.NONE
        states["actions"] = rules.NONE
        return states

    def legal(self, states: States) -> NDArray[np.bool_]:
        return np.repeat((states["mover"] >= 0)[:, None], 2, axis=1)

    def chance(self, states: States) -> NDArray[np.float64]:
        left = np.arange(self.cards) != states["cards"][:, :1]
        return np.asarray(left / left.sum(axis=1, keepdims=True))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        rules.apply(states, np.asarray(choices, np.int64))

    def public(self, states: States) -> NDArray[np.int64]:
        """The last action; 2 after a card was dealt."""
        last = states["actions"][np.arange(len(states)), np.maximum(states["length"], 1) - 1]
        return np.where(states["length"] > 0, last, 2).astype(np.int64)

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """1 + the player's card between the deal and the first action, else 0."""
        card = states["cards"][:, player]
        return np.where((states["length"] == 0) & (card != rules.NONE), card + np.int64(1), 0)

    def utilities(self, states: States) -> NDArray[np.float64]:
        won = np.where(states["winner"] == 0, 1.0, -1.0) * states["stake"]
        return np.stack([won, -won], axis=1)

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        packed = np.empty((len(states), self.spec.packed_size), np.uint8)
        packed[:, 0] = players
        packed[:, 1] = states["cards"][np.arange(len(states)), players]
        packed[:, 2:] = states["actions"]
        return packed

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        """One-hot vectors of the player, their card and each action."""
        actions = one_hot(packed[:, 2:], 2).reshape(len(packed), -1)
        return np.concatenate([one_hot(packed[:, 0], 2), one_hot(packed[:, 1], self.cards), actions], axis=1)

    secret: ClassVar[str] = "card"

    @property
    def secret_values(self) -> tuple[str, ...]:
        """See `envs.capabilities.Readable`."""
        return tuple(map(str, range(self.cards)))

    def secrets(self, states: States, players: NDArray[np.int8]) -> NDArray[np.int8]:
        """See `Readable.secrets`: the player's card."""
        return states["cards"][np.arange(len(states)), players][:, None].astype(np.int8)

    def odds(self, states: States, players: NDArray[np.int8]) -> NDArray[np.float32]:
        """See `Readable.odds`."""
        return np.full((len(states), 1, self.cards), 1 / self.cards, np.float32)

    def clues(self, states: States, players: NDArray[np.int8]) -> NDArray[np.float32]:
        """See `Readable.clues`: the player and the actions."""
        actions = one_hot(states["actions"], 2).reshape(len(states), -1)
        return np.concatenate([one_hot(players, 2), actions], axis=1)[:, None]

    def disguise(self, packed: Packed, rng: np.random.Generator) -> Packed:
        """See `envs.capabilities.DisguisedGame`: another card, or the same."""
        found = packed.copy()
        found[:, 1] = rng.integers(self.cards, size=len(packed))
        return found

    def describe(self, state: np.void, view: int | None = None) -> str:
        cards = [
            "?" if card == rules.NONE or view == 1 - p else self.face(int(card))
            for p, card in enumerate(state["cards"])
        ]
        played = " ".join(ACTIONS[a] for a in state["actions"][: state["length"]])
        return f"cards {cards[0]} {cards[1]}: {played or 'no action yet'}"

    def describe_hand(self, state: np.void, player: int) -> str:
        return self.face(int(state["cards"][player]))

    def face(self, card: int) -> str:
        """The name of a card: jack, queen and king where there are three, else a number from 1."""
        return POKER_FACES[card] if self.cards == len(POKER_FACES) else str(card + 1)

    def describe_action(self, action: int) -> str:
        return ACTIONS[action]
