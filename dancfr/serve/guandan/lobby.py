"""Seats users at tables in the order in which they come."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from dancfr.errors import one_line, warn
from dancfr.serve.guandan.client import Client
from dancfr.serve.guandan.hosted_table import HostedTable, TableRecord, TableRules
from dancfr.serve.seats import AgentSeat, Seat, UserSeat
from dancfr.serve.websocket import DONE, FAILED, NAME_TAKEN, NO_SEAT, WebSocketLink
from envs.guandan.rules.state import SEATS

MAX_TABLES = 64
"""Tables that play at the same time."""

_CLOSINGS = {
    "finished": (DONE, "the matches are played"),
    "abandoned": (DONE, "the table is closed"),
    "failed": (FAILED, "the table has failed"),
}

MakeClient = Callable[[int, int], Client]
"""Makes the client of an agent for a table and a seat, given by their numbers."""


class Refused(Exception):
    """A user does not get a seat.

    Attributes:
        code: The code for closing the connection.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Lobby:
    """Seats users, starts a table when all its seats are taken, and keeps the records.

    Args:
        rules: How tables play.
        agents: For each seat the name of an agent and what makes its client; None is a seat for a user.
        thread: Where the agents of all tables think, one at a time.
        tables: How many tables to play in all; None is any number.

    Attributes:
        records: The records of all tables so far.
        all_played: Is set when the last table has ended.
    """

    def __init__(
        self,
        rules: TableRules,
        agents: Sequence[tuple[str, MakeClient] | None],
        thread: Executor,
        tables: int | None = None,
    ) -> None:
        self._rules = rules
        self._agents = list(agents)
        self._thread = thread
        self._tables = tables
        self._waiting: list[UserSeat | None] = [None] * SEATS
        self._seats: dict[str, UserSeat] = {}
        self._playing: dict[asyncio.Task[TableRecord], HostedTable] = {}
        self.records: list[TableRecord] = []
        self.all_played = asyncio.Event()

    def join(self, name: str, link: WebSocketLink) -> UserSeat:
        """Gives a user a seat, or the one that the user had before.

        Raises:
            Refused: The user is connected already, or there is no seat.
        """
        seat = self._seats.get(name)
        if seat is not None and seat.link is not None:
            raise Refused(NAME_TAKEN, f"{name} is connected already: choose another name")
        if seat is None:
            seat = self._new_seat(name)
        seat.attach(link)
        self._start_if_full()
        return seat

    def _new_seat(self, name: str) -> UserSeat:
        if self._tables is not None and len(self.records) >= self._tables:
            raise Refused(NO_SEAT, "no further table is played here")
        if len(self._playing) >= MAX_TABLES:
            raise Refused(NO_SEAT, f"all {MAX_TABLES} tables are taken: come back later")
        free = next(i for i, agent in enumerate(self._agents) if agent is None and self._waiting[i] is None)
        seat = UserSeat(name)
        self._waiting[free] = self._seats[name] = seat
        return seat

    def _start_if_full(self) -> None:
        users = [seat for seat in self._waiting if seat is not None]
        if len(users) < self._agents.count(None):
            return
        number = len(self.records) + 1
        waiting = iter(users)
        seats: list[Seat] = []
        try:
            for seat, agent in enumerate(self._agents):
                if agent is None:
                    seats.append(next(waiting))
                else:
                    seats.append(AgentSeat(agent[0], agent[1](number, seat), self._thread))
        except Exception as error:  # whatever an agent does, such as one whose files were removed
            warn(f"table {number} cannot start: {one_line(error)}")
            self._release(users, "failed")
            return
        finally:
            self._waiting = [None] * SEATS
        table = HostedTable(number, seats, self._rules)
        self.records.append(table.record)
        task = asyncio.ensure_future(table.run())
        self._playing[task] = table
        task.add_done_callback(self._close)

    def _close(self, task: "asyncio.Task[TableRecord]") -> None:
        """Forgets a table that has ended."""
        table = self._playing.pop(task)
        self._release(table.users, table.record.status)
        if self._tables is not None and len(self.records) >= self._tables and not self._playing:
            self.all_played.set()

    def _release(self, users: Sequence[UserSeat], status: str) -> None:
        """Lets users take other seats, and closes their connections with the reason."""
        for user in users:
            self._seats.pop(user.name, None)
            if user.link is not None and status in _CLOSINGS:
                user.link.close(*_CLOSINGS[status])

    def leave(self, seat: UserSeat, link: WebSocketLink) -> None:
        """A connection has ended. At a table that is playing the seat stays taken."""
        seat.detach(link)
        if seat in self._waiting:
            self._waiting[self._waiting.index(seat)] = None
            self._seats.pop(seat.name, None)

    async def stop(self) -> None:
        """Stops all tables that are playing."""
        tasks = list(self._playing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
