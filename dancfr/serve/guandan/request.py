"""Reads an act message, which asks a seat for a decision and shows what all seats may see."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancfr.serve.guandan.notation import Option, read_action, read_cards, read_levels, read_options
from dancfr.serve.messages import Message, ProtocolError, read_field, read_integer, read_list, read_object
from envs.guandan.cards import PASS
from envs.guandan.comparison import reads_as
from envs.guandan.state import GIVE_BACK, NOBODY, PAY, PLAY, SEATS

PHASES = {"play": PLAY, "tribute": PAY, "back": GIVE_BACK}
"""Phase of the engine for each stage of the messages."""

MAX_HAND = 28
MAX_OPTIONS = 100_000


class Shown(NamedTuple):
    """A seat in `publicInfo`: the number of cards in hand, and the action that lies before it, `[1]` records."""

    left: int
    area: NDArray[np.void] | None


@dataclass(frozen=True)
class Request:
    """An act message.

    Attributes:
        phase: PLAY, PAY or GIVE_BACK of the engine.
        low, high, count: The own hand as a multiset, and its number of cards.
        level, own_level, other_level: The level of the round, the own team and the opponents, 0 .. 12.
        shown: What all seats see of each seat.
        current: The seat that acted last; -1 before the first action.
        holder: The seat that played the action to beat; -1 if the receiver leads.
        to_beat: The action to beat, `[1]` records; None if the receiver leads.
        options: The legal actions.
        last: The greatest legal index for the answer.
    """

    phase: int
    low: int
    high: int
    count: int
    level: int
    own_level: int
    other_level: int
    shown: tuple[Shown, ...]
    current: int
    holder: int
    to_beat: NDArray[np.void] | None
    options: list[Option]
    last: int

    @classmethod
    def read(cls, message: Message) -> "Request":
        """Reads an act message.

        Raises:
            ProtocolError: A field is missing or wrong.
        """
        stage = read_field(message, "stage")
        phase = PHASES.get(stage) if isinstance(stage, str) else None
        if phase is None:
            raise ProtocolError("stage", f"{', '.join(PHASES)} was expected in an act message, got {stage!r}")
        low, high, count = read_cards(read_field(message, "handCards"), "handCards", MAX_HAND)
        if count == 0:
            raise ProtocolError("handCards", "a seat that has to act has cards")
        level, own, others = read_levels(message)
        shown = _read_shown(read_field(message, "publicInfo"))
        options = read_options(read_field(message, "actionList"), "actionList", MAX_OPTIONS)
        last = read_integer(read_field(message, "indexRange"), "indexRange", 0, MAX_OPTIONS)
        current = read_integer(read_field(message, "curPos"), "curPos", NOBODY, SEATS - 1)
        holder = read_integer(read_field(message, "greaterPos"), "greaterPos", NOBODY, SEATS - 1)
        to_beat = read_action(read_field(message, "greaterAction"), "greaterAction")
        # A request to a leader may still show an earlier action to beat; it is a leader's if passing is not legal.
        if phase != PLAY or all(option[0] != "PASS" for option in options):
            holder, to_beat = NOBODY, None
        else:
            _check_to_beat(holder, to_beat, level)
        last = min(last, len(options) - 1)
        return cls(phase, low, high, count, level, own, others, shown, current, holder, to_beat, options, last)

    def guessed_seat(self) -> int:
        """Guesses the own seat of a client that has joined in the middle of a round: the seat has as many cards as the
        hand, and follows the seat that acted last. Takes the first seat if several fit."""
        fits = [seat for seat in range(SEATS) if self.shown[seat].left == self.count] or list(range(SEATS))
        if self.to_beat is not None and self.current != NOBODY:
            turn = [(self.current + 1 + i) % SEATS for i in range(SEATS)]
            following = next((seat for seat in turn if self.shown[seat].left > 0), fits[0])
            return following if following in fits else fits[0]
        return fits[0]


def _read_shown(value: object) -> tuple[Shown, ...]:
    seats = read_list(value, "publicInfo", SEATS)
    if len(seats) != SEATS:
        raise ProtocolError("publicInfo", f"four seats were expected, got {len(seats)}")
    shown = []
    for seat, entry in enumerate(seats):
        name = f"publicInfo[{seat}]"
        if not isinstance(entry, dict):
            raise ProtocolError(name, "an object was expected")
        fields = read_object(entry)
        for field in ("rest", "playArea"):
            if field not in fields:
                raise ProtocolError(f"{name}.{field}", "missing")
        left = read_integer(fields["rest"], f"{name}.rest", 0, MAX_HAND)
        shown.append(Shown(left, read_action(fields["playArea"], f"{name}.playArea")))
    if sum(each.left for each in shown) > 108:
        raise ProtocolError("publicInfo", "more cards in the hands than in the deck")
    return tuple(shown)


def _check_to_beat(holder: int, action: NDArray[np.void] | None, level: int) -> None:
    """Refuses an action whose cards do not make its combination: the engine could not say what beats it."""
    if holder == NOBODY:
        raise ProtocolError("greaterPos", "a seat that may pass has an action to beat, which another seat has played")
    if action is None or action["kind"][0] == PASS:
        raise ProtocolError("greaterAction", "a seat that may pass has an action to beat")
    move = action[0]
    if not reads_as(move["low"], move["high"], int(move["kind"]), int(move["rank"]), level):
        raise ProtocolError("greaterAction", "the cards do not make this combination")
