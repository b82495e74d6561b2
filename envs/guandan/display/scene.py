"""A viewer's picture of a table of GuanDan, as data that text and pictures share."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from envs.guandan.game import ENDINGS
from envs.guandan.rules.cards import CARDS, FOUR_KINGS, KINDS, PASS, RANKS, unpack
from envs.guandan.rules.comparison import NO_LEVEL, card_value
from envs.guandan.rules.state import GIVE_BACK, NOBODY, PAY, SEATS

PLACES = ("first", "second", "third", "last")
RANK_NAMES = (*RANKS, "SB", "HR")


@dataclass(frozen=True)
class Seat:
    """A seat as the viewer sees it.

    Attributes:
        hand: Names of the cards from the lowest to the highest at the round's level; None if hidden.
        left: Number of cards.
        last: Cards of the last move in this round, empty for a pass; None before the first move.
        place: Place in this round, 0 .. 3, once it is settled, else None.
    """

    hand: list[str] | None
    left: int
    last: list[str] | None
    place: int | None


@dataclass(frozen=True)
class Scene:
    """A table as the viewer sees it.

    Attributes:
        seats: The four seats.
        turn: The decision to make, or the result of the game, in words.
        mover: Seat to move; None at the end.
        holder: Seat that played the move to beat; None if the mover leads.
        move: Kind and rank of the move to beat; empty if the mover leads.
        number: Number of the round, from 1.
        level: Rank of the round's level; None at the end.
        levels: Rank of the level of each team.
        wild: The wild card; None at the end.
        news: Events before the first play: the order of the last round, tributes.
    """

    seats: tuple[Seat, ...]
    turn: str
    mover: int | None
    holder: int | None
    move: str
    number: int
    level: str | None
    levels: tuple[str, str]
    wild: str | None
    news: tuple[str, ...]


def check_view(view: int | None) -> None:
    """Raises a ValueError if `view` is neither a seat nor None."""
    number = isinstance(view, (int, np.integer)) and not isinstance(view, bool)
    if view is not None and not (number and 0 <= view < SEATS):
        raise ValueError(f"view must be None or a seat from 0 to {SEATS - 1}, got {view!r}")


def team_name(team: int) -> str:
    """Names both players of a team."""
    return f"player_{team} and player_{team + 2}"


def seen(state: np.void, view: int | None) -> Scene:
    """Returns a table as the spectator (None) or a seat sees it; at the end all seats see all cards."""
    check_view(view)
    running = state["to_move"] != NOBODY
    level = int(state["level"]) if running else NO_LEVEL
    moves, places = _last_moves(state), list(state["order"][: state["out"]])
    seats = []
    for seat in range(SEATS):
        hand = sorted(unpack(state["low"][seat], state["high"][seat]), key=lambda card: _value(card, level))
        hidden = running and view not in (None, seat)
        place = places.index(seat) if seat in places else None
        seats.append(Seat(None if hidden else hand, int(state["left"][seat]), moves[seat], place))
    led = state["beat_kind"] == PASS
    return Scene(
        tuple(seats),
        _turn(state) if running else _result(state),
        int(state["to_move"]) if running else None,
        None if led else int(state["holder"]),
        "" if led else _move_to_beat(state),
        int(state["number"]) + 1,
        RANKS[level] if running else None,
        (RANKS[state["levels"][0]], RANKS[state["levels"][1]]),
        f"H{RANKS[level]}" if running else None,
        tuple(_news(state)) if running else (),
    )


@cache
def _value(card: str, level: int) -> int:
    return int(card_value(CARDS.index(card), level))


def _move_to_beat(state: np.void) -> str:
    kind = KINDS[state["beat_kind"]]
    return kind if state["beat_kind"] == FOUR_KINGS else f"{kind} {RANK_NAMES[state['beat_rank']]}"


def _last_moves(state: np.void) -> list[list[str] | None]:
    """Lists the last move of each seat in this round; None for seats that have not moved.

    A state does not distinguish a pass from no move. But a seat without a move exists only while no seat has moved
    twice, and then those seats are the mover and the seats after it, up to the leader.
    """
    cards: list[list[str] | None] = [unpack(state["last_low"][s], state["last_high"][s]) for s in range(SEATS)]
    once = all(
        (state["last_low"][s], state["last_high"][s]) == (state["played_low"][s], state["played_high"][s])
        for s in range(SEATS)
    )
    if once and state["to_move"] != NOBODY:
        for seat in (np.arange(SEATS) + state["to_move"]) % SEATS:
            if cards[seat]:
                break
            cards[seat] = None
    return cards


def _turn(state: np.void) -> str:
    mover = f"player_{state['to_move']}"
    if state["phase"] == PAY:
        return f"{mover} pays a tribute"
    if state["phase"] == GIVE_BACK:
        return f"{mover} gives a card back"
    if state["beat_kind"] == PASS:
        return f"{mover} leads"
    return f"{mover} moves, {_move_to_beat(state)} of player_{state['holder']} is to be beaten"


def _result(state: np.void) -> str:
    order = state["former"]
    partner = next(place for place in (1, 2, 3) if order[place] % 2 == order[0] % 2)
    points = abs(int(state["points"]))
    won = f"{points} point{'s' * (points != 1)}" if points else "no points, level A is not closed"
    return f"{team_name(int(state['winner']))} win ({ENDINGS[partner]}): {won}"


def _news(state: np.void) -> list[str]:
    news = []
    if state["former"][0] != NOBODY:
        news.append(f"last round: {', '.join(f'player_{seat}' for seat in state['former'])}")
    if state["refused"]:
        news.append("no tribute: both red jokers are with those who would pay")
    if state["phase"] == PAY:
        return news
    for i in range(int(state["tributes"])):
        text = f"tribute: player_{state['payer'][i]} gave {CARDS[state['paid'][i]]} to player_{state['receiver'][i]}"
        returned = state["phase"] != GIVE_BACK or i < state["settled"]
        news.append(text + (f" for {CARDS[state['back'][i]]}" if returned else ""))
    return news


__all__ = ["PLACES", "Scene", "Seat", "check_view", "seen", "team_name"]
