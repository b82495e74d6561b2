"""The messages that a client receives, checked by pydantic: requests for a decision, and events at the table."""

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, PlainValidator

from dancfr.serve.guandan.notation import Hand, Option, read_action, read_hand, read_option, read_rank
from dancfr.serve.messages import Message, ProtocolError, Received, read
from envs.guandan.rules.cards import CARDS, PASS
from envs.guandan.rules.comparison import reads_as
from envs.guandan.rules.state import GIVE_BACK, NOBODY, PAY, PLAY, SEATS

PHASES = {"play": PLAY, "tribute": PAY, "back": GIVE_BACK}
"""Phase of the engine for each stage of the messages."""

MAX_HAND = 28
MAX_OPTIONS = 100_000

Route = tuple[int, int, int]
"""Giver, taker and index of the card of a tribute or a return."""


def _read_route(parts: object) -> Route:
    if not isinstance(parts, list) or len(parts) != 3 or parts[2] not in CARDS:
        raise ValueError("giver, taker and card were expected")
    giver, taker, card = parts
    if giver == taker or not all(type(seat) is int and 0 <= seat < SEATS for seat in (giver, taker)):
        raise ValueError(f"giver and taker must be two seats from 0 to {SEATS - 1}")
    return giver, taker, CARDS.index(card)


def _all_seats(order: list[int]) -> list[int]:
    if sorted(order) != list(range(SEATS)):
        raise ValueError(f"all four seats were expected, got {order}")
    return order


def _not_null(action: NDArray[np.void] | None) -> NDArray[np.void]:
    if action is None:
        raise ValueError("an action was expected, got null")
    return action


def _not_empty(hand: Hand) -> Hand:
    if hand.size == 0:
        raise ValueError("a seat that has to act has cards")
    return hand


def _of_one_deck(shown: "list[Shown]") -> "list[Shown]":
    if sum(each.left for each in shown) > 108:
        raise ValueError("more cards in the hands than in the deck")
    return shown


SeatNumber = Annotated[int, Field(ge=0, lt=SEATS)]
SeatOrNobody = Annotated[int, Field(ge=NOBODY, lt=SEATS)]
Level = Annotated[int, PlainValidator(read_rank)]
Action = Annotated[NDArray[np.void] | None, PlainValidator(read_action)]


class Kind(Received):
    """The kind of a message."""

    type: str
    stage: str


class _Levels(Received):
    """The level of the round, the seat's team and the opponents, 0 .. 12."""

    level: Level = Field(alias="curRank")
    own_level: Level = Field(alias="selfRank")
    other_level: Level = Field(alias="oppoRank")


class Beginning(_Levels):
    """A round begins."""

    hand: Annotated[Hand, PlainValidator(read_hand)] = Field(alias="handCards")
    seat: SeatNumber = Field(alias="myPos")


class Play(Received):
    """A seat has played or passed."""

    seat: SeatNumber = Field(alias="curPos")
    action: Annotated[NDArray[np.void], PlainValidator(lambda value: _not_null(read_action(value)))] = Field(
        alias="curAction"
    )


class Exchange(Received):
    """All tributes, or all returns, of a round."""

    routes: list[Annotated[Route, PlainValidator(_read_route)]] = Field(alias="result", max_length=2)


class EpisodeOver(Received):
    """A round has ended; the seats in the order in which they went out."""

    order: Annotated[list[int], AfterValidator(_all_seats)]


class GameResult(Received):
    """The matches are played; how many each seat has won."""

    victories: list[Annotated[int, Field(ge=0)]] = Field(alias="victoryNum", min_length=SEATS, max_length=SEATS)


class Shown(Received):
    """A seat in a request: the number of cards in hand, and the action that lies before it, `[1]` records."""

    left: int = Field(alias="rest", ge=0, le=MAX_HAND)
    area: Action = Field(alias="playArea")


class Request(_Levels):
    """An act message, which asks a seat for a decision and shows the public state.

    Attributes:
        hand: The seat's hand.
        shown: What all seats see of each seat.
        current: The seat that acted last; -1 before the first action.
        holder: The seat that played the action to beat; -1 if the receiver leads.
        to_beat: The action to beat, `[1]` records; None if the receiver leads.
        options: The legal actions.
        last: The greatest legal index for the answer.
    """

    stage: Literal["play", "tribute", "back"]
    hand: Annotated[Hand, PlainValidator(lambda value: _not_empty(read_hand(value)))] = Field(alias="handCards")
    shown: Annotated[list[Shown], AfterValidator(_of_one_deck)] = Field(
        alias="publicInfo", min_length=SEATS, max_length=SEATS
    )
    options: list[Annotated[Option, PlainValidator(read_option)]] = Field(
        alias="actionList", min_length=1, max_length=MAX_OPTIONS
    )
    last: int = Field(alias="indexRange", ge=0, le=MAX_OPTIONS)
    current: SeatOrNobody = Field(alias="curPos")
    holder: SeatOrNobody = Field(alias="greaterPos")
    to_beat: Action = Field(alias="greaterAction")

    @property
    def phase(self) -> int:
        """PLAY, PAY or GIVE_BACK of the engine."""
        return PHASES[self.stage]

    @classmethod
    def read(cls, message: Message) -> "Request":
        """Reads an act message.

        Raises:
            ProtocolError: A field is missing or wrong.
        """
        found = read(cls, message)
        changes: dict[str, object] = {"last": min(found.last, len(found.options) - 1)}
        # A request to a leader may still show an earlier action to beat; it is a leader's if passing is not legal.
        if found.phase != PLAY or all(option[0] != "PASS" for option in found.options):
            changes |= {"holder": NOBODY, "to_beat": None}
        else:
            _check_to_beat(found.holder, found.to_beat, found.level)
        return found.model_copy(update=changes)

    def guessed_seat(self) -> int:
        """Guesses the seat of a client that has joined in the middle of a round: the seat has as many cards as the
        hand, and follows the seat that acted last. Takes the first seat if several fit."""
        fits = [seat for seat in range(SEATS) if self.shown[seat].left == self.hand.size] or list(range(SEATS))
        if self.to_beat is not None and self.current != NOBODY:
            turn = [(self.current + 1 + i) % SEATS for i in range(SEATS)]
            following = next((seat for seat in turn if self.shown[seat].left > 0), fits[0])
            return following if following in fits else fits[0]
        return fits[0]


def _check_to_beat(holder: int, action: NDArray[np.void] | None, level: int) -> None:
    """Refuses an action whose cards do not make its combination: the engine could not tell which actions beat it."""
    if holder == NOBODY:
        raise ProtocolError("greaterPos", "a seat that may pass has an action to beat, which another seat has played")
    if action is None or action["kind"][0] == PASS:
        raise ProtocolError("greaterAction", "a seat that may pass has an action to beat")
    move = action[0]
    if not reads_as(move["low"], move["high"], int(move["kind"]), int(move["rank"]), level):
        raise ProtocolError("greaterAction", "the cards do not make this combination")
