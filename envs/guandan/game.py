"""GuanDan as an `envs.game.ListedGame`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.game import GameSpec, IllegalAction, Packed, Ragged, States, check_players
from envs.guandan.beliefs.net import shipped_belief
from envs.guandan.inputs import deals, hands, observation, plans, ranks
from envs.guandan.inputs.candidates import mark_candidates
from envs.guandan.inputs.layout import MOST_PLAYS
from envs.guandan.inputs.playouts import points_by_groups
from envs.guandan.inputs.tribute import tribute_choice
from envs.guandan.rules import tables as rules
from envs.guandan.rules.cards import (
    DECK_HIGH,
    DECK_LOW,
    JOKER_RANK,
    KINDS,
    PASS,
    NoSuchCard,
    action_dtype,
    notation,
    pack,
)
from envs.guandan.rules.generation import LONGEST
from envs.guandan.rules.listing import list_actions
from envs.guandan.rules.state import GIVE_BACK, NOBODY, PAY, SEATS, state_dtype
from envs.playable import Playable, rules_of
from envs.sparse import Sparse

FEW_CARDS = 6
"""Cards of the smallest hand at which `GuanDan.situation_of` starts to speak of an endgame."""

RANKS, PLANS = "ranks", "plans"
"""Names of the encodings with inputs by rank, which has those of `envs.guandan.inputs.ranks` behind the paper's, and
about plans, which has those of `envs.guandan.inputs.plans` behind these."""

ENDINGS = ("running", "double", "partner third", "partner last")
"""Endings of the last round, by the place of the winner's partner."""

CARD_INPUTS = 54
"""Inputs of an action in the paper's encoding."""

_SIGNS = np.array([1, -1, 1, -1], np.float32)  # by seat

_ENCODINGS = {  # number of inputs, whether with the wild flags, whether with the phase
    "flat": (observation.INPUTS, True, False),
    "no_wild_flags": (observation.INPUTS - observation.FLAGS, False, False),
    "tribute": (observation.INPUTS + 2, True, True),
    "tribute_no_wild_flags": (observation.INPUTS + 2 - observation.FLAGS, False, True),
    RANKS: (observation.INPUTS + ranks.INPUTS, True, False),
    PLANS: (observation.INPUTS + ranks.INPUTS + plans.INPUTS, True, False),
}


@dataclass(frozen=True)
class GuanDan(Playable):
    """Batched GuanDan for four players. Implements `envs.game.ListedGame`; a state is a record of `state_dtype`.

    Attributes:
        length: A game is a single ``round``, or a ``match`` that ends when a team wins at its own level A.
        situation: Start of a game: ``first``, at level 2 without tributes; ``drawn``, at a random round of a match,
            with its levels and tributes.
        double_tribute: Receivers of two tributes: ``by_card``, the higher goes to the first seat of the previous round
            (paper 004, III); ``by_seat``, each goes to the seat before its payer, as in the recorded engine. After two
            equal tributes the payer leads whose card went to the first; by seat, the higher of the payers' seats does.
        a_attempts: Failures at the team's own level A after which the team falls back to 2; 0 disables this rule.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option is out of range.
    """

    illegal_reward: ClassVar[float] = -3.0
    may_differ: ClassVar[frozenset[str]] = frozenset({"length", "situation", "double_tribute", "a_attempts"})

    length: Literal["round", "match"] = "round"
    situation: Literal["first", "drawn"] = "drawn"
    double_tribute: Literal["by_card", "by_seat"] = "by_card"
    a_attempts: int = 3
    spec: GameSpec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name) if each.init else None
            if each.init and type(value) is not type(each.default):
                kind = "an integer" if isinstance(each.default, int) else "a string"
                raise TypeError(f"{each.name} must be {kind}, got {value!r}")
        for name, allowed in (
            ("length", ("round", "match")),
            ("situation", ("first", "drawn")),
            ("double_tribute", ("by_card", "by_seat")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be {' or '.join(allowed)}, got {getattr(self, name)!r}")
        if not 0 <= self.a_attempts <= 255:
            raise ValueError(f"a_attempts must be from 0 to 255, got {self.a_attempts}")
        spec = GameSpec(
            name="guandan",
            num_players=4,
            num_actions=LONGEST,
            packed_size=observation.PACKED_SIZE,
            shapes={name: (width,) for name, (width, _, _) in _ENCODINGS.items()},
            slots={},
            endings=ENDINGS,
            max_plies=65_535,
            max_return=3.0,
            action_features=CARD_INPUTS,
            action_shapes={
                RANKS: CARD_INPUTS + ranks.ACTION_INPUTS,
                PLANS: CARD_INPUTS + ranks.ACTION_INPUTS + plans.ACTION_INPUTS,
            },
            teams=(0, 1, 0, 1),
        )
        object.__setattr__(self, "spec", spec)

    def raw_env(self, render_mode: str | None = None, **options: Any) -> AECEnv:
        from envs.guandan.env import raw_env

        return raw_env(render_mode=render_mode, **rules_of(self), **options)

    @property
    def action_dtype(self) -> np.dtype[np.void]:
        return action_dtype

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        return self.start(rng.integers(0, 2**64, batch, np.uint64))

    def start(self, seeds: NDArray[np.uint64]) -> States:
        """Starts tables from seeds; the seed of a table determines all its deals and random leads.

        Args:
            seeds: Integers from 0, `uint64[B]` or another integer type.

        Raises:
            ValueError: `seeds` is not a one-dimensional array of integers from 0.
        """
        found = np.asarray(seeds)
        if found.ndim != 1 or (found.size and (found.dtype.kind not in "ui" or found.min() < 0)):
            raise ValueError(f"seeds must be integers from 0, [B], got {found.dtype}{list(found.shape)}")
        states = np.zeros(len(found), state_dtype)
        drawn, by_card = self.situation == "drawn", self.double_tribute == "by_card"
        rules.start_tables(states, np.ascontiguousarray(found, np.uint64), drawn, by_card, self.a_attempts)
        return states

    def deal(
        self, states: States, hands: Sequence[Sequence[Sequence[str]]], leads: Sequence[int] | None = None
    ) -> None:
        """Restarts the current round of each table with given hands, for replays and puzzles.

        Args:
            states: `[B]` records, changed in place.
            hands: Names of the cards of each table and seat, `[B][4][27]`.
            leads: Seats that lead, `[B]`, used at tables in their first round; by default the seed decides.

        Raises:
            NoSuchCard: the hands of a table are not a deal of two decks; no state has been changed.
            ValueError: `leads` are not `B` seats.
        """
        seats = None if leads is None else np.asarray(leads)
        if seats is not None and (
            seats.shape != states.shape or seats.dtype.kind != "i" or not ((seats >= 0) & (seats < SEATS)).all()
        ):
            raise ValueError(f"leads must be {len(states)} seats from 0 to 3, got {leads!r}")
        if not isinstance(hands, Sequence) or len(hands) != len(states):
            raise NoSuchCard(f"hands must be a list of {len(states)} deals, one for each table")
        packed = [[pack(hand) for hand in table] for table in hands]
        for table, words in zip(hands, packed, strict=True):
            total = (sum(low for low, _ in words), sum(high for _, high in words))
            if [len(hand) for hand in table] != [27] * SEATS or total != (int(DECK_LOW), int(DECK_HIGH)):
                raise NoSuchCard("a deal must be four hands of 27 cards that make up two decks")
        dealt = np.array(packed, np.uint64).reshape(len(states), SEATS, 2)
        rules.deal_hands(states, dealt[:, :, 0].copy(), dealt[:, :, 1].copy())
        if seats is not None:
            first = states["former"][:, 0] == NOBODY
            states["to_move"][first] = seats[first]

    def to_move(self, states: States) -> NDArray[np.int8]:
        return states["to_move"].copy()

    def legal(self, states: States) -> Ragged:
        """See `ListedGame.legal`. Lists every multiset of cards in every reading; a pass comes first."""
        return list_actions(states, merged=False)

    def choices(self, states: States) -> Ragged:
        """See `ListedGame.choices`. Lists every multiset of cards in its strongest reading."""
        return list_actions(states, merged=True)

    alike: ClassVar[tuple[str, ...]] = ("kind", "rank", "size")

    def candidates(self, states: States) -> Ragged:
        """See `envs.capabilities.Candidates`. Lists one of each set of plays that differ only in suits."""
        choices = self.choices(states)
        kept = np.empty(len(choices.rows), np.bool_)
        mark_candidates(states, *choices, np.empty(MOST_PLAYS, action_dtype), kept)
        before = np.concatenate([[0], kept.cumsum()])
        return Ragged(before[choices.offsets], choices.rows[kept])

    def step(self, states: States, actions: NDArray[np.void]) -> None:
        found = np.asarray(actions)
        if found.shape != states.shape or found.dtype != action_dtype:
            raise IllegalAction(f"actions must be {len(states)} action records, got {found.dtype}{list(found.shape)}")
        by_card = self.double_tribute == "by_card"
        bad = rules.step_batch(states, actions, by_card, self.a_attempts, self.length == "round")
        if bad >= 0:
            raise IllegalAction(f"table {bad}, seat {states[bad]['to_move']}: {describe(actions[bad])} is not legal")

    def finished(self, states: States) -> NDArray[np.bool_]:
        return np.asarray(states["to_move"] == NOBODY)

    def returns(self, states: States) -> NDArray[np.float32]:
        """See `ListedGame.returns`, `float32[B, 4]`. In a round, the winners get 3, 2 or 1 points and the losers the
        negative, or all get 0 if the winners could not close their level A; in a match, 1 and -1."""
        if self.length == "match":
            value = np.where(states["winner"] == 0, 1, -1) * self.finished(states)
        else:
            value = states["points"] * self.finished(states)
        return value.astype(np.float32)[:, None] * _SIGNS

    @property
    def largest_return(self) -> float:
        """See `envs.capabilities.Rounds`."""
        return 1.0 if self.length == "match" else self.spec.max_return

    def rounds(self, states: States) -> NDArray[np.int64]:
        """Rounds that have ended at each table, `int64[B]`."""
        return states["number"].astype(np.int64) + self.finished(states)

    def round_returns(self, states: States) -> NDArray[np.float32]:
        """Returns the points of the last finished round, `float32[B, 4]`; 0 before the first."""
        return states["points"].astype(np.float32)[:, None] * _SIGNS

    def scripted(self, states: States) -> NDArray[np.bool_]:
        """Returns which decisions are tributes or returns of cards, `bool[B]`; DanZero leaves them to a heuristic."""
        return np.asarray((states["phase"] == PAY) | (states["phase"] == GIVE_BACK))

    def script(self, states: States, choices: Ragged) -> NDArray[np.int64]:
        """See `ListedGame.script`; the heuristic is `envs.guandan.inputs.tribute`."""
        return tribute_choice(states, choices)

    def winners(self, states: States) -> NDArray[np.int8]:
        """Returns the team that won the round or the match, `int8[B]`; -1 while the game runs."""
        return states["winner"].copy()

    def endings(self, states: States) -> NDArray[np.int8]:
        order = states["former"]
        ending = np.zeros(len(states), np.int8)
        for place in (3, 2, 1):
            ending[(order[:, place] + order[:, 0]) % 2 == 0] = place
        return ending * self.finished(states)

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        check_players(players, len(states), SEATS)
        packed = np.empty((len(states), observation.PACKED_SIZE), np.uint8)
        observation.observe_into(states, np.asarray(players, np.int64), packed)
        return packed

    def encode(
        self, packed: Packed, encoding: str = "flat", notes: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        if encoding not in self.spec.shapes:
            raise ValueError(f"encoding must be one of {', '.join(self.spec.shapes)}, got {encoding!r}")
        if packed.shape[1:] != (observation.PACKED_SIZE,):
            raise ValueError(
                f"packed infostates must be uint8[B, {observation.PACKED_SIZE}], got shape {list(packed.shape)}"
            )
        out = np.empty((len(packed), *self.spec.shapes[encoding]), np.float32)
        _, with_flags, with_phase = _ENCODINGS[encoding]
        observation.encode_into(packed, with_flags, with_phase, out)
        if encoding in (RANKS, PLANS):
            ranks.encode_into(packed, observation.INPUTS, out)
        if encoding == PLANS:
            if notes is None:
                notes = np.empty((len(packed), plans.INPUTS), np.float32)
                plans.appraise_states(packed, notes)
            out[:, observation.INPUTS + ranks.INPUTS :] = notes
        return out

    def notes(self, encoding: str) -> tuple[int, int]:
        """See `envs.capabilities.Appraises`: the inputs of `plans`."""
        return (plans.INPUTS, plans.ACTION_INPUTS) if encoding == PLANS else (0, 0)

    def appraise(
        self, packed: Packed, offsets: NDArray[np.int64], actions: NDArray[np.void], encoding: str
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        _check_lists(packed, offsets, actions)
        each, of_action = self.notes(encoding)
        states = np.empty((len(packed), each), np.float32)
        choices = np.empty((len(actions), of_action), np.float32)
        if each:
            plans.appraise(packed, offsets, actions, states, choices)
        return states, choices

    @property
    def hidden_size(self) -> int:
        return hands.PACKED_SIZE

    @property
    def full_inputs(self) -> int:
        return self.spec.shapes[PLANS][0] - observation.CARD_INPUTS + hands.INPUTS

    def observe_hidden(self, states: States, players: NDArray[np.int8]) -> Packed:
        """See `envs.capabilities.FullView`: the other hands, `envs.guandan.inputs.hands`."""
        check_players(players, len(states), SEATS)
        packed = np.empty((len(states), hands.PACKED_SIZE), np.uint8)
        hands.observe_into(states, np.asarray(players, np.int64), packed)
        return packed

    def encode_full(
        self, packed: Packed, hidden: Packed, notes: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        out = np.empty((len(packed), self.full_inputs), np.float32)
        first = self.spec.shapes[PLANS][0] - observation.CARD_INPUTS
        out[:, :first] = self.encode(packed, PLANS, notes)[:, observation.CARD_INPUTS :]
        hands.encode_into(packed, hidden, first, out)
        return out

    def redeal(self, states: States, players: NDArray[np.int8], seeds: NDArray[np.uint64]) -> None:
        """See `envs.capabilities.Redeals`; all deals are alike likely, whatever their players have shown."""
        check_players(players, len(states), SEATS)
        deals.redeal_into(states, np.asarray(players, np.int64), np.asarray(seeds, np.uint64))

    def redeal_likely(self, states: States, players: NDArray[np.int8], seeds: NDArray[np.uint64]) -> None:
        """See `envs.capabilities.RedealsLikely`; the deals are those of `envs.guandan.beliefs.net.shipped_belief`."""
        check_players(players, len(states), SEATS)
        shipped_belief().deal(states, players, seeds)

    def play_out(self, states: States) -> NDArray[np.float32]:
        """See `envs.capabilities.PlaysOut`; all hands are played by fixed groups."""
        return points_by_groups(states)[:, None] * _SIGNS

    situations: ClassVar[tuple[str, ...]] = ("lead", "follow", "partner holds", "endgame")

    def situation_of(self, states: States) -> NDArray[np.int8]:
        """See `envs.capabilities.Situations`.

        In an endgame a seat with cards has at most `FEW_CARDS` of them; otherwise the mover leads, follows a move of an
        opponent, or its partner holds the trick.
        """
        left = np.where(states["left"] > 0, states["left"], 99).min(axis=1)
        partner = states["holder"] == (states["to_move"] + 2) % SEATS
        found = np.select([left <= FEW_CARDS, states["beat_kind"] == PASS, partner], [3, 0, 2], 1)
        return found.astype(np.int8)

    def picture(self, state: np.void) -> str:
        from envs.guandan.display.render import ansi  # loads an imaging library

        return ansi(state, int(state["to_move"]))

    def describe(self, action: np.void) -> str:
        return describe(action)

    def encode_actions(self, actions: NDArray[np.void]) -> Sparse:
        shape = len(actions), observation.SPARSE_CARDS
        place, value = np.empty(shape, np.int16), np.empty(shape, np.float32)
        observation.encode_actions(actions, place, value)
        return Sparse(place, value)

    def encode_choices(
        self,
        packed: Packed,
        offsets: NDArray[np.int64],
        actions: NDArray[np.void],
        encoding: str,
        notes: NDArray[np.float32] | None = None,
    ) -> Sparse:
        """See `envs.capabilities.RelativeActions`."""
        if encoding not in (RANKS, PLANS):
            return self.encode_actions(actions)
        _check_lists(packed, offsets, actions)
        cards, by_rank = observation.SPARSE_CARDS, ranks.SPARSE_INPUTS
        shape = len(actions), by_rank + (plans.SPARSE_INPUTS if encoding == PLANS else 0)
        place, value = np.empty(shape, np.int16), np.empty(shape, np.float32)
        observation.encode_actions(actions, place[:, :cards], value[:, :cards])
        ranks.encode_actions(packed, offsets, actions, CARD_INPUTS, place[:, :by_rank], value[:, :by_rank])
        if encoding == PLANS:
            if notes is None:
                _, notes = self.appraise(packed, offsets, actions, encoding)
            plans.append_sparse(notes, CARD_INPUTS + ranks.ACTION_INPUTS, by_rank, place, value)
        return Sparse(place, value)


def _check_lists(packed: Packed, offsets: NDArray[np.int64], actions: NDArray[np.void]) -> None:
    """Raises ValueError if the offsets are not those of the actions of these infostates."""
    if len(offsets) != len(packed) + 1 or offsets[0] != 0 or offsets[-1] != len(actions):
        raise ValueError(f"offsets do not divide {len(actions)} actions among {len(packed)} infostates")


def describe(action: np.void) -> str:
    """Describes an action in one line, such as ``Pair 3 [S3 H3]``; an invalid record by its numbers."""
    if action["kind"] >= len(KINDS) or action["rank"] > JOKER_RANK + 1:
        return f"kind {action['kind']} rank {action['rank']}"
    kind, rank, cards = notation(action)
    return kind if kind == "PASS" else f"{kind} {rank} [{' '.join(cards)}]"
