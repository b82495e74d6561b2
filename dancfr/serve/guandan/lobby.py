"""Who sits where: users fill tables in the order in which they come."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from dancfr.serve.guandan.client import Client
from dancfr.serve.guandan.hosted_table import Record, Room, Rules
from dancfr.serve.guandan.seats import AgentSeat, Seat, UserSeat
from dancfr.serve.websocket import DONE, FAILED, NAME_TAKEN, NO_SEAT, Link
from envs.guandan.state import SEATS

MOST_TABLES = 64
"""Tables that play at the same time."""

_ENDINGS = {
    "finished": (DONE, "the matches are played"),
    "abandoned": (DONE, "the table is closed"),
    "failed": (FAILED, "the table has failed"),
}

MakeClient = Callable[[int, int], Client]
"""A new client of an agent, by the number of the table and the seat."""


class Refused(Exception):
    """A user gets no seat.

    Attributes:
        code: Why, as a code for closing the connection.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Lobby:
    """Seats users, starts a table when it is full, and keeps the records.

    Args:
        rules: How tables play.
        agents: For each seat the name of an agent of ours and what makes it; None is a seat for a user.
        tables: How many tables are to be played in all; None is any number.
    """

    def __init__(
        self, rules: Rules, agents: Sequence[tuple[str, MakeClient] | None], tables: int | None = None
    ) -> None:
        self._rules = rules
        self._agents = list(agents)
        self._tables = tables
        self._waiting: list[UserSeat | None] = [None] * SEATS
        self._seats: dict[str, UserSeat] = {}
        self._playing: dict[asyncio.Task[Record], Room] = {}
        self.records: list[Record] = []
        self.all_played = asyncio.Event()

    def join(self, name: str, link: Link) -> UserSeat:
        """A user has come, or come back.

        Raises:
            Refused: the user is there already, or there is no seat.
        """
        seat = self._seats.get(name)
        if seat is not None and seat.link is not None:
            raise Refused(NAME_TAKEN, f"{name} is connected already: choose another name")
        if seat is None:
            seat = self._seat_anew(name)
        seat.attach(link)
        self._start_if_full()
        return seat

    def _seat_anew(self, name: str) -> UserSeat:
        if self._tables is not None and len(self.records) >= self._tables:
            raise Refused(NO_SEAT, "no further table is played here")
        if len(self._playing) >= MOST_TABLES:
            raise Refused(NO_SEAT, f"all {MOST_TABLES} tables are taken: come back later")
        place = next(i for i, agent in enumerate(self._agents) if agent is None and self._waiting[i] is None)
        seat = UserSeat(name)
        self._waiting[place] = self._seats[name] = seat
        return seat

    def _start_if_full(self) -> None:
        users = [seat for seat in self._waiting if seat is not None]
        if len(users) < self._agents.count(None):
            return
        number = len(self.records) + 1
        self._waiting = [None] * SEATS
        places = iter(users)
        seats: list[Seat] = []
        for place, agent in enumerate(self._agents):
            if agent is None:
                seats.append(next(places))
            else:
                seats.append(AgentSeat(agent[0], _bound(agent[1], number, place)))
        room = Room(number, seats, self._rules)
        self.records.append(room.record)
        task = asyncio.ensure_future(room.run())
        self._playing[task] = room
        task.add_done_callback(self._close)

    def _close(self, task: "asyncio.Task[Record]") -> None:
        """A table has ended: its users may take other seats."""
        room = self._playing.pop(task)
        for user in room.users:
            self._seats.pop(user.name, None)
            if user.link is not None and room.record.status in _ENDINGS:
                user.link.close(*_ENDINGS[room.record.status])
        if self._tables is not None and len(self.records) >= self._tables and not self._playing:
            self.all_played.set()

    def leave(self, seat: UserSeat, link: Link) -> None:
        """A connection has ended: at a table that plays the seat stays taken."""
        seat.detach(link)
        if seat in self._waiting:
            self._waiting[self._waiting.index(seat)] = None
            self._seats.pop(seat.name, None)

    async def stop(self) -> None:
        """Ends the tables that play."""
        tasks = list(self._playing)
        for task in tasks:
            task.cancel()
        waits: list[Awaitable[object]] = list(tasks)
        await asyncio.gather(*waits, return_exceptions=True)


def _bound(make: MakeClient, table: int, seat: int) -> Callable[[], Client]:
    return lambda: make(table, seat)
