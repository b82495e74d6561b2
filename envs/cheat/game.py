"""Cheat as an `envs.extensive.ExtensiveGame`."""

from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import comb, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.cheat import rules
from envs.cheat.cards import MOST_COPIES, MOST_RANKS, absolute, list_discards, pack, unpack
from envs.cheat.observation import Layout, encode, observe
from envs.cheat.turns import Rules, make_rules
from envs.extensive import CHANCE, FactoredGame, TooManyOutcomes, check_types
from envs.game import GameSpec, IllegalAction, Packed, States, check_players
from envs.playable import rules_of

FACES = "A23456789TJQK"
MOST_DEALS = 100_000
"""Largest number of deals that are listed; a game with more deals has no tree."""
MOST_SETS = 5_000
"""Largest number of discards that are numbered; with more of them, discards are picked card by card."""
HEALTH_SHOWN = 100
"""Health points by which observations are divided if health is unlimited."""
MOST_SHOWN = 255
"""Most health points that an observation tells apart: they are a byte."""


@dataclass(frozen=True)
class Cheat(FactoredGame):
    """Cheat (paper 001) for 2 to 6 players. Implements `envs.extensive.ExtensiveGame`.

    Action 0 passes, action 1 challenges. With ``discards="sets"``, each further action is a discard, a multiset of
    ranks counted from the current one. With ``discards="cards"``, action 2 ends the discard, and actions 3, 4, ... add
    a card of the current rank, of the next rank, and so on, in rising order. Both are the same game; with 13 ranks of
    4 cards the second has 16 actions instead of 2,381. `chance` and `apply` list the deals, of which there must be at
    most `MOST_DEALS`.

    Attributes:
        ranks: Number of ranks in the deck.
        copies: Number of identical cards of each rank.
        players: Number of players.
        dealt: Number of cards of each player, the rest being out of play; 0 deals all cards.
        health: Health points of each player; 0 for no limit, which requires a `ply_limit`.
        max_discard: Largest number of cards in a discard.
        discards: ``sets``: an action is a whole discard; ``cards``: it adds a card to the discard, or ends it.
        ply_limit: Number of decisions after which no player wins; 0 for no limit.
        observation_health: Health points by which observations are divided, for nets that are trained with few points
            and play with more; 0 for `health`, or 255 if that is less.
        challenge_last: Whether a discard that empties the hand must be challenged by the last player to answer it.
        name: Name on the command line.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option is out of range, or the deal is impossible.
    """

    may_differ: ClassVar[frozenset[str]] = frozenset({"health", "ply_limit", "observation_health"})

    ranks: int = 13
    copies: int = 4
    players: int = 2
    dealt: int = 0
    health: int = 3
    max_discard: int = 4
    discards: str = "cards"
    ply_limit: int = 0
    observation_health: int = 0
    challenge_last: bool = False
    name: str = "cheat"
    spec: GameSpec = field(init=False, repr=False, compare=False)
    layout: Layout = field(init=False, repr=False, compare=False)
    rule_set: Rules = field(init=False, repr=False, compare=False)
    _sets: NDArray[np.uint64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_types(self, {**dict.fromkeys(_RANGES, int), "discards": str, "challenge_last": bool, "name": str})
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be from {low} to {high}, got {getattr(self, name)}")
        cards = self.ranks * self.copies
        if max(1, self.dealt) * self.players > cards:
            raise ValueError(
                f"{self.players} players with {max(1, self.dealt)} cards need more than the {cards} cards of the deck"
            )
        if self.max_discard > cards:
            raise ValueError(f"max_discard must be at most the {cards} cards of the deck, got {self.max_discard}")
        if self.health == 0 and self.ply_limit == 0:
            raise ValueError("health=0 means unlimited health, so a game might never end: set ply_limit")
        if self.discards not in ("sets", "cards"):
            raise ValueError(f"discards must be sets or cards, got {self.discards!r}")
        picking = self.discards == "cards"
        count = sum(comb(self.ranks + size - 1, size) for size in range(1, self.max_discard + 1))
        if not picking and count > MOST_SETS:
            raise ValueError(
                f"discards of up to {self.max_discard} of {self.ranks} ranks are {count:,} sets, more than the "
                f"{MOST_SETS:,} that are numbered: set discards=cards"
            )
        sets = list_discards(1, 1, 1) if picking else list_discards(self.ranks, self.copies, self.max_discard)
        shown = min(self.observation_health or self.health or HEALTH_SHOWN, MOST_SHOWN)
        layout = Layout(self.ranks, self.copies, self.players, self.max_discard, shown, picking)
        actions = rules.PICK + self.ranks if picking else rules.SET + len(sets)
        factored = {} if picking else {"cards": rules.SET + self.max_discard + self.ranks * self.copies}
        spec = GameSpec(
            name=self.name,
            num_players=self.players,
            num_actions=actions,
            packed_size=layout.packed_size,
            shapes={"flat": (layout.inputs,)},
            slots={"action": actions} | factored,
            endings=rules.ENDINGS,
            max_plies=self._longest(),
        )
        rule_set = make_rules(self.ranks, self.max_discard, picking, self.ply_limit, self.challenge_last)
        for name, value in (("layout", layout), ("spec", spec), ("rule_set", rule_set), ("_sets", sets)):
            object.__setattr__(self, name, value)

    def raw_env(self, render_mode: str | None = None, **options: Any) -> AECEnv:
        from envs.cheat.env import raw_env

        return raw_env(render_mode=render_mode, **rules_of(self), **options)

    def _longest(self) -> int:
        """Returns the maximum number of decisions: between two challenges every card is laid at most once."""
        if self.ply_limit:
            return self.ply_limit
        cards = self.dealt * self.players or self.ranks * self.copies
        turns = cards * ((self.health - 1) * self.players + 1)
        return turns * (self.players - 1) + (2 * turns if self.discards == "cards" else turns)

    @property
    def deck(self) -> NDArray[np.uint64]:
        """Every card as a word of `envs.cheat.cards`."""
        return np.repeat(pack(np.eye(self.ranks, dtype=np.int64)), self.copies)

    @property
    def sets(self) -> NDArray[np.uint64]:
        """The discards of actions 2, 3, ... with ``discards="sets"``, `uint64[D]`."""
        return self._sets

    @property
    def picking(self) -> bool:
        """Whether discards are picked card by card."""
        return self.layout.picking

    def deals(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Lists every deal as the hands of all players, `uint64[O, players]`, and its probability, `float64[O]`.

        Raises:
            ValueError: there are more than `MOST_DEALS` deals.
        """
        return _list_deals(self.ranks, self.copies, self.players, self.dealt, self.name)

    def initial(self, batch: int) -> States:
        return rules.new_games(batch, self.players, self.health)

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        states, deck = self.initial(batch), self.deck
        rules.deal(states, deck, self.dealt, rng.random((batch, 1 + len(deck))))
        return states

    def legal(self, states: States) -> NDArray[np.bool_]:
        out = np.empty((len(states), self.spec.num_actions), np.bool_)
        if self.picking:
            rules.legal_picks(states, self.rule_set, out)
        else:
            rules.legal_sets(states, self._sets, self.rule_set, out)
        return out

    def step(self, states: States, actions: NDArray[np.integer], rng: np.random.Generator | None = None) -> None:
        chosen = np.asarray(actions)
        if chosen.shape != states.shape or chosen.dtype.kind not in "iu":
            raise ValueError(f"actions must be integers [{len(states)}], got {chosen.dtype}{list(chosen.shape)}")
        bad = self._step(states, chosen)
        if bad >= 0:
            raise IllegalAction(f"{self.place(states, bad)}: {self._describe(chosen[bad])} is not legal")

    def _step(self, states: States, actions: NDArray[np.integer]) -> int:
        bad: int = rules.step(states, actions, self._sets, self.rule_set)
        return bad

    def chance(self, states: States) -> NDArray[np.float64]:
        """The deals in the order of `deals`: first with player 0 to begin, then with player 1, and so on."""
        _, probability = self.deals()
        each = np.tile(probability / self.players, self.players)
        return np.broadcast_to(each, (len(states), len(each)))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        chosen = np.asarray(choices, np.int64)
        dealing = np.flatnonzero(states["mover"] == CHANCE)
        if len(dealing):
            hands, _ = self.deals()
            first, which = np.divmod(chosen[dealing], len(hands))
            part = states[dealing]
            part["hand"] = hands[which]
            rules.begin(part, first)
            states[dealing] = part
            chosen = np.where(np.isin(np.arange(len(states)), dealing), -1, chosen)
            rest = np.flatnonzero(chosen >= 0)
            part = states[rest]
            self._step(part, chosen[rest])
            states[rest] = part
        else:
            self._step(states, chosen)

    def public(self, states: States) -> NDArray[np.int64]:
        """0 for a pass or a picked card; otherwise the claim, the player who begins, or the cards shown, in this order
        of codes."""
        first = self.max_discard + 1
        dealt, shown = states["last"] < 0, states["taken"] >= 0
        claimed = ~shown & (states["phase"] == rules.ANSWERING) & (states["passes"] == 0)
        code = np.where(claimed, states["claimed"].astype(np.int64), 0)
        code = np.where(dealt, first + states["discarder"].astype(np.int64), code)
        return np.where(shown, first + self.players + states["shown"].astype(np.int64), code)

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """The player's hand, after the deal and when the player has taken the pile; otherwise 0."""
        seen = (states["last"] < 0) | (states["taken"] == player)
        return np.where(seen, states["hand"][:, player].astype(np.int64), 0)

    def utilities(self, states: States) -> NDArray[np.float64]:
        return rules.utilities(states)

    def endings(self, states: States) -> NDArray[np.int8]:
        return states["ending"].copy()

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        """See `Game.observe`.

        Raises:
            ValueError: `players` has not one player per state.
        """
        check_players(players, len(states), self.players)
        packed = np.empty((len(states), self.spec.packed_size), np.uint8)
        observe(states, np.asarray(players), self.ranks, self.layout.health, self.health > 0, packed)
        return packed

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        """Unpacks infostates; `envs.cheat.env.raw_env` lists the inputs."""
        return encode(packed, self.layout)

    def output_slots(self, packed: Packed, layout: str, other: Packed | None = None) -> NDArray[np.int16]:
        """See `Game.output_slots`. Layout ``action`` has an output per action. In layout ``cards``, the value of a
        discard is the sum of an output for its size and one for each of its ranks and their number of cards."""
        if layout != "cards":
            return super().output_slots(packed, layout, other)
        slots = _card_slots(self.ranks, self.copies, self.max_discard)
        return np.broadcast_to(slots, (len(packed), *slots.shape))

    def describe(self, state: np.void, view: int | None = None) -> str:
        hands = [
            self.name_cards(state["hand"][p], state["rank"]) if view in (None, p) else str(self._size(state, p))
            for p in range(self.players)
        ]
        health = ", health " + " ".join(map(str, state["health"])) if self.health else ""
        pile = int(unpack(state["put"], self.ranks).sum())
        claim = f", claimed {state['claimed']}" if state["phase"] == rules.ANSWERING else ""
        return f"rank {self.name_rank(state['rank'])}, hands {' '.join(hands)}, pile {pile}{health}{claim}"

    def _size(self, state: np.void, player: int) -> int:
        """Returns the size of a hand as the others see it: picked cards that are not yet laid are still in it."""
        picked = state["phase"] == rules.DISCARDING and state["discarder"] == player
        cards = unpack(state["hand"][player : player + 1], self.ranks).sum()
        return int(cards + (unpack(state["discard"], self.ranks).sum() if picked else 0))

    def name_rank(self, rank: int) -> str:
        """Returns the face of a rank that is counted from Ace."""
        return FACES[rank]

    def name_cards(self, cards: np.integer, rank: int) -> str:
        """Returns the faces of a multiset, or ``-`` if it is empty."""
        counts = absolute(int(cards), int(rank), self.ranks)
        return "".join(FACES[r] * count for r, count in enumerate(counts)) or "-"

    def describe_action(self, action: int) -> str:
        """Returns the name of an action; ranks are counted from the current one, which is 0."""
        if action < 2:
            return ("pass", "challenge")[action]
        if self.picking:
            return "lay" if action == rules.STOP else f"add +{action - rules.PICK}"
        counts = unpack(self._sets[action - rules.SET], self.ranks)
        return "discard " + " ".join(f"+{r}" for r, count in enumerate(counts) for _ in range(count))

    def _describe(self, action: np.integer) -> str:
        known = 0 <= action < self.spec.num_actions
        return f"action {int(action)}" + (f" ({self.describe_action(int(action))})" if known else "")


_RANGES = {
    "ranks": (2, MOST_RANKS),
    "copies": (1, MOST_COPIES),
    "players": (2, 6),
    "dealt": (0, MOST_RANKS * MOST_COPIES),
    "health": (0, 10_000),
    "max_discard": (1, MOST_RANKS * MOST_COPIES),
    "ply_limit": (0, 1_000_000),
    "observation_health": (0, MOST_SHOWN),
}


@cache
def _list_deals(
    ranks: int, copies: int, players: int, dealt: int, name: str
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """See `Cheat.deals`."""
    cards = ranks * copies
    sizes = [dealt] * players if dealt else [len(range(p, cards, players)) for p in range(players)]
    hands = (
        {size: [h for h in product(range(copies + 1), repeat=ranks) if sum(h) == size] for size in set(sizes)}
        if (copies + 1) ** ranks <= 10 * MOST_DEALS
        else {}
    )
    if not hands or prod(len(hands[size]) for size in sizes) > MOST_DEALS:
        raise TooManyOutcomes(
            f"{name} has too many deals to list, and therefore no tree: use fewer ranks, copies or cards"
        )
    found, weights = [], []
    for deal in product(*(hands[size] for size in sizes)):
        left, weight = [copies] * ranks, 1
        for hand in deal:
            weight *= prod(comb(have, count) for have, count in zip(left, hand, strict=True))
            left = [have - count for have, count in zip(left, hand, strict=True)]
            if min(left) < 0:
                break
        if min(left) >= 0:
            found.append(deal)
            weights.append(weight)
    probability = np.array(weights, np.float64)
    return pack(np.array(found)), probability / probability.sum()


@cache
def _card_slots(ranks: int, copies: int, most: int) -> NDArray[np.int16]:
    """See `Cheat.output_slots`, `int16[A, 1 + most]`."""
    counts = unpack(list_discards(ranks, copies, most), ranks)
    slots = np.full((rules.SET + len(counts), 1 + most), -1, np.int16)
    slots[: rules.SET, 0] = range(rules.SET)
    for row, discard in zip(slots[rules.SET :], counts, strict=True):
        row[0] = rules.SET + discard.sum() - 1
        held = np.flatnonzero(discard)
        row[1 : 1 + len(held)] = rules.SET + most + held * copies + discard[held] - 1
    return slots


__all__ = ["Cheat"]
