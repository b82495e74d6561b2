"""Leduc hold'em with any deck and betting as an `envs.extensive.ExtensiveGame`."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, FactoredGame, check_types, one_hot
from envs.facts import POKER_FACES
from envs.game import GameSpec, Packed, States
from envs.leduc import rules

MOST_SIZES = 20


@dataclass(frozen=True)
class Leduc(FactoredGame):
    """Leduc hold'em (Southey et al. 2005) for two players. Implements `envs.extensive.ExtensiveGame`.

    The defaults are the usual game. ``Leduc(sizes="2,4/4,8", raises=3, deal="ranks")`` is ``leduc_2b2r``, with two bet
    sizes and up to two raises after a bet, which matches the table of paper 003.

    Action 0 folds, 1 checks or calls, 2 + k raises by size k of the round.

    Attributes:
        ranks: Number of ranks in the deck.
        suits: Number of cards of each rank.
        sizes: Raise sizes in chips: those of the first round, a slash, and those of the second, separated by commas.
        raises: Maximum number of raises in a round, including the opening bet.
        ante: Chips that each player pays at the start.
        deal: ``cards``: chance deals card by card, and cards of one rank are distinct, as in OpenSpiel. ``ranks``:
            cards of one rank are not distinct, and one chance event deals both hands.
        name: Name on the command line.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option is out of range.
    """

    public_actions: ClassVar[bool] = True
    input_bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    ranks: int = 3
    suits: int = 2
    sizes: str = "2/4"
    raises: int = 2
    ante: int = 1
    deal: str = "cards"
    name: str = "leduc"
    spec: GameSpec = field(init=False, repr=False, compare=False)
    _sizes: NDArray[np.int16] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_types(self, dict.fromkeys(("ranks", "suits", "raises", "ante"), int))
        check_types(self, dict.fromkeys(("sizes", "deal", "name"), str))
        for name, low, high in (("ranks", 2, 30), ("suits", 1, 4), ("raises", 0, 12), ("ante", 1, 1000)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be from {low} to {high}, got {getattr(self, name)}")
        if self.ranks * self.suits < 3:
            raise ValueError(
                f"ranks * suits must be at least 3 for two hands and the board, got {self.ranks} * {self.suits}"
            )
        if self.deal not in ("cards", "ranks"):
            raise ValueError(f"deal must be cards or ranks, got {self.deal!r}")
        sizes = _parse_sizes(self.sizes)
        object.__setattr__(self, "_sizes", sizes)
        actions = rules.RAISE + sizes.shape[1]
        spec = GameSpec(
            name=self.name,
            num_players=2,
            num_actions=actions,
            packed_size=3 + 2 * self._longest,
            shapes={"flat": (2 + 2 * self.ranks + 2 * self._longest * actions,)},
            slots={"action": actions},
            endings=("running", "over"),
            max_plies=2 * self._longest,
            max_return=float(self.ante + self.raises * sizes.max(axis=1).sum()),
        )
        object.__setattr__(self, "spec", spec)

    @property
    def _longest(self) -> int:
        """Maximum number of actions in a round: a check, the raises, a call."""
        return self.raises + 2

    @property
    def _per_rank(self) -> int:
        return self.suits if self.deal == "cards" else 1

    @property
    def _cards(self) -> int:
        """Number of distinct cards that chance deals: cards, or ranks."""
        return self.ranks * self._per_rank

    def initial(self, batch: int) -> States:
        states = np.zeros(batch, rules.STATE)
        states["mover"] = CHANCE
        states["folded"] = -1
        states["bets"] = self.ante
        for name in ("cards", "board", "actions"):
            states[name] = rules.NONE
        return states

    def legal(self, states: States) -> NDArray[np.bool_]:
        out = np.empty((len(states), self.spec.num_actions), np.bool_)
        rules.legal(states, self.raises, out)
        return out

    def chance(self, states: States) -> NDArray[np.float64]:
        cards = np.arange(self._cards)
        left = np.full((len(states), self._cards), float(self.suits // self._per_rank))
        for player in (0, 1):
            left -= states["cards"][:, player, None] == cards
        if self.deal == "ranks":
            hands = self.suits * (self.suits - 1.0 * (cards[:, None] == cards)).ravel()
            dealing = states["cards"][:, :1] == rules.NONE
            left = np.where(dealing, hands, np.pad(left, ((0, 0), (0, len(hands) - len(cards)))))
        return np.asarray(left / left.sum(axis=1, keepdims=True))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        together = self.ranks if self.deal == "ranks" else 0
        rules.apply(states, np.asarray(choices, np.int64), self._sizes, together)

    def public(self, states: States) -> NDArray[np.int64]:
        """The last action; `A` + the board card once it is dealt; `A` + number of cards after a card for a player."""
        actions = self.spec.num_actions
        last = states["actions"][np.arange(len(states)), states["round"], np.maximum(states["acted"], 1) - 1]
        ended = states["actions"][:, 0]  # the action that ended the first round, before the board is dealt
        length = (ended != rules.NONE).sum(axis=1)
        closing = ended[np.arange(len(states)), np.maximum(length, 1) - 1]
        fresh = np.where(states["board"] == rules.NONE, closing, actions + states["board"].astype(np.int64))
        shown = np.where(states["acted"] > 0, last, fresh)
        return np.where(length == 0, actions + self._cards, shown).astype(np.int64)

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """1 + the player's card between the deal and the first action, else 0."""
        card = states["cards"][:, player]
        dealing = (states["actions"][:, 0, 0] == rules.NONE) & (card != rules.NONE)
        return np.where(dealing, card + np.int64(1), 0)

    def utilities(self, states: States) -> NDArray[np.float64]:
        won = np.empty(len(states))
        rules.won(states, self._per_rank, won)
        return np.stack([won, -won], axis=1)

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        packed = np.empty((len(states), self.spec.packed_size), np.uint8)
        packed[:, 0] = players
        packed[:, 1] = states["cards"][np.arange(len(states)), players]
        packed[:, 2] = states["board"]
        packed[:, 3:] = states["actions"][:, :, : self._longest].reshape(len(states), -1)
        return packed

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        """One-hot vectors of the player, the ranks of their card and the board, and each action of both rounds."""
        own, board = (np.where(c == rules.NONE, c, c // self._per_rank) for c in (packed[:, 1], packed[:, 2]))
        actions = one_hot(packed[:, 3:], self.spec.num_actions).reshape(len(packed), -1)
        return np.concatenate(
            [one_hot(packed[:, 0], 2), one_hot(own, self.ranks), one_hot(board, self.ranks), actions], axis=1
        )

    secret: ClassVar[str] = "rank of a card"

    @property
    def secret_values(self) -> tuple[str, ...]:
        """See `envs.capabilities.Readable`."""
        return tuple(self.face(rank * self._per_rank) for rank in range(self.ranks))

    def secrets(self, states: States, players: NDArray[np.int8]) -> NDArray[np.int8]:
        """See `Readable.secrets`: the rank of the player's card."""
        cards = states["cards"][np.arange(len(states)), players].astype(np.int64)
        return (cards // self._per_rank)[:, None].astype(np.int8)

    def odds(self, states: States, players: NDArray[np.int8]) -> NDArray[np.float32]:
        """See `Readable.odds`: of the cards that are not on the board."""
        board = np.where(states["board"] == rules.NONE, -1, states["board"].astype(np.int64) // self._per_rank)
        left = (self.suits - one_hot(board, self.ranks))[:, None]
        return np.asarray(left / left.sum(axis=2, keepdims=True))

    def clues(self, states: States, players: NDArray[np.int8]) -> NDArray[np.float32]:
        """See `Readable.clues`: the inputs of `encode` but for the player's own card."""
        inputs = self.encode(self.observe(states, players))
        return np.delete(inputs, np.arange(2, 2 + self.ranks), axis=1)[:, None]

    def disguise(self, packed: Packed, rng: np.random.Generator) -> Packed:
        """See `envs.capabilities.DisguisedGame`: any card that is not on the board."""
        found, board = packed.copy(), packed[:, 2].astype(np.int64)
        shown, alike = board != rules.NONE, self.suits // self._per_rank  # cards of the deck with one packed number
        drawn = rng.integers(self.ranks * self.suits - shown)
        found[:, 1] = (drawn + (shown & (drawn >= board * alike))) // alike
        return found

    def describe(self, state: np.void, view: int | None = None) -> str:
        cards = [self._card(c) if view in (None, p) else "?" for p, c in enumerate(state["cards"])]
        rounds = [" ".join(self.describe_action(a) for a in r if a != rules.NONE) for r in state["actions"]]
        board = f", board {self._card(state['board'])}: {rounds[1]}" if state["board"] != rules.NONE else ""
        return f"cards {cards[0]} {cards[1]}, pot {int(state['bets'].sum())}: {rounds[0]}{board}".rstrip(": ")

    def describe_hand(self, state: np.void, player: int) -> str:
        """The rank of the player's card."""
        card = state["cards"][player]
        return "-" if card == rules.NONE else self.face(card)

    def face(self, card: int) -> str:
        """Returns the name of a card's rank: J, Q or K, or numbers from 1 if there are not three ranks."""
        rank = int(card) // self._per_rank
        return POKER_FACES[rank] if self.ranks == len(POKER_FACES) else str(rank + 1)

    def _card(self, card: int) -> str:
        if card == rules.NONE:
            return "-"
        return self.face(card) + ("abcd"[int(card) % self.suits] if self.deal == "cards" else "")

    def describe_action(self, action: int) -> str:
        sizes = self._sizes.shape[1]
        if action < rules.RAISE:
            return ("fold", "call")[action]
        return "raise" if sizes == 1 else f"raise{int(action) - rules.RAISE + 1}"


def _parse_sizes(text: str) -> NDArray[np.int16]:
    """Parses the raise sizes of both rounds, `int16[2, K]`."""
    try:
        rounds = [[int(size) for size in part.split(",")] for part in text.split("/")]
    except ValueError:
        rounds = []
    fitting = len(rounds) == 2 and len(rounds[0]) == len(rounds[1]) <= MOST_SIZES
    if not fitting or not all(0 < size <= 1000 for part in rounds for size in part):
        raise ValueError(
            f"sizes must be 1 to {MOST_SIZES} numbers from 1 to 1000 of the first round, a slash, and as many of the "
            f"second, such as 2/4 or 2,4/4,8, got {text!r}"
        )
    return np.array(rounds, np.int16)
