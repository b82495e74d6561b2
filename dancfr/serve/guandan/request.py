"""An act message, read without trust: what a seat is asked, and what it is shown."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancfr.serve.guandan.notation import (
    Message,
    Option,
    ProtocolError,
    read_action,
    read_cards,
    read_field,
    read_integer,
    read_levels,
    read_list,
    read_object,
    read_options,
)
from envs.guandan.cards import PASS
from envs.guandan.comparison import reads_as
from envs.guandan.state import GIVE_BACK, NOBODY, PAY, PLAY, SEATS

PHASES = {"play": PLAY, "tribute": PAY, "back": GIVE_BACK}
"""Phase of the engine by the stage of the messages."""

HAND_LIMIT = 28
OPTIONS_LIMIT = 100_000


class Shown(NamedTuple):
    """What `publicInfo` says of a seat: cards in hand, and its last move if that still lies there, `[1]` records."""

    left: int
    area: NDArray[np.void] | None


@dataclass(frozen=True)
class Request:
    """An act message.

    Attributes:
        phase: PLAY, PAY or GIVE_BACK of the engine.
        low, high, count: The own hand as a multiset, and how many cards there are.
        level, own_level, other_level: 0 .. 12: the round's, the own team's, the opponents'.
        shown: What all see of each seat.
        current: Who acted last; -1 when nobody has.
        holder: Who played the move to beat; -1 for a leader.
        to_beat: That move, `[1]` records; None for a leader.
        options: The legal actions.
        last: The greatest index that may be answered.
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
        """Takes an act message apart.

        Raises:
            ProtocolError: a field is missing or says what cannot be.
        """
        stage = read_field(message, "stage")
        phase = PHASES.get(stage) if isinstance(stage, str) else None
        if phase is None:
            raise ProtocolError("stage", f"{', '.join(PHASES)} was expected in an act message, not {stage!r}")
        low, high, count = read_cards(read_field(message, "handCards"), "handCards", HAND_LIMIT)
        if count == 0:
            raise ProtocolError("handCards", "who has to act has cards")
        level, own, others = read_levels(message)
        shown = _read_shown(read_field(message, "publicInfo"))
        options = read_options(read_field(message, "actionList"), "actionList", OPTIONS_LIMIT)
        last = read_integer(read_field(message, "indexRange"), "indexRange", 0, OPTIONS_LIMIT)
        current = read_integer(read_field(message, "curPos"), "curPos", NOBODY, SEATS - 1)
        holder = read_integer(read_field(message, "greaterPos"), "greaterPos", NOBODY, SEATS - 1)
        to_beat = read_action(read_field(message, "greaterAction"), "greaterAction")
        # What was to be beaten before stays in the messages to a leader; that he may not pass tells him from others.
        if phase != PLAY or all(option[0] != "PASS" for option in options):
            holder, to_beat = NOBODY, None
        else:
            _check_to_beat(holder, to_beat, level)
        last = min(last, len(options) - 1)
        return cls(phase, low, high, count, level, own, others, shown, current, holder, to_beat, options, last)

    def guessed_seat(self) -> int:
        """The own seat by what is shown, for one who was not told: it has as many cards as the hand, and follows the
        one who acted last. Of several that fit the first."""
        fits = [seat for seat in range(SEATS) if self.shown[seat].left == self.count] or list(range(SEATS))
        if self.to_beat is not None and self.current != NOBODY:
            turn = [(self.current + 1 + i) % SEATS for i in range(SEATS)]
            following = next((seat for seat in turn if self.shown[seat].left > 0), fits[0])
            return following if following in fits else fits[0]
        return fits[0]


def _read_shown(value: object) -> tuple[Shown, ...]:
    seats = read_list(value, "publicInfo", SEATS)
    if len(seats) != SEATS:
        raise ProtocolError("publicInfo", f"four seats were expected, not {len(seats)}")
    shown = []
    for seat, entry in enumerate(seats):
        name = f"publicInfo[{seat}]"
        if not isinstance(entry, dict):
            raise ProtocolError(name, "an object was expected")
        fields = read_object(entry)
        for field in ("rest", "playArea"):
            if field not in fields:
                raise ProtocolError(f"{name}.{field}", "missing")
        left = read_integer(fields["rest"], f"{name}.rest", 0, HAND_LIMIT)
        shown.append(Shown(left, read_action(fields["playArea"], f"{name}.playArea")))
    if sum(each.left for each in shown) > 108:
        raise ProtocolError("publicInfo", "more cards in the hands than there are")
    return tuple(shown)


def _check_to_beat(holder: int, action: NDArray[np.void] | None, level: int) -> None:
    """Refuses a move whose cards do not make what it says: the engine could not tell what beats it."""
    if holder == NOBODY:
        raise ProtocolError("greaterPos", "who may pass has a move to beat, and a seat has played it")
    if action is None or action["kind"][0] == PASS:
        raise ProtocolError("greaterAction", "who may pass has a move to beat")
    move = action[0]
    if not reads_as(move["low"], move["high"], int(move["kind"]), int(move["rank"]), level):
        raise ProtocolError("greaterAction", "the cards make no such combination")
