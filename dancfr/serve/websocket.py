"""A user's connection, as a table sees it: never waited for, and held to limits."""

import asyncio
import time
from contextlib import suppress
from typing import NamedTuple

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

MOST_WAITING = 4 * 2**20
"""Characters that may wait for a user who reads slowly; a whole round, told anew, has a tenth of it."""

MOST_UNREADABLE = 8
"""Messages that are no answer at all, by their form, before the connection is closed."""

DONE, GOING_AWAY, BREACH = 1000, 1001, 1008
NAME_TAKEN, NO_SEAT, FAILED = 4001, 4002, 4003
"""Why a connection is closed: codes of RFC 6455, and three of our own."""

CLOSE_S = 5.0
"""Longest wait for a user to take in what waits for him, once the connection is to be closed; then it is cut."""

_LONGEST_REASON = 120  # bytes; the protocol allows 123


class _Close(NamedTuple):
    code: int
    reason: str


class Link:
    """Sends through a queue and counts what comes in.

    Args:
        connection: An open connection.
        rate: Messages a second that may come besides the answers to what was asked.

    Attributes:
        closed: Nothing more is sent.
        breached: Which limit the user has broken; then the connection is closed.
    """

    def __init__(self, connection: ServerConnection, rate: float) -> None:
        self._connection = connection
        self._waiting: asyncio.Queue[str | _Close] = asyncio.Queue()
        self._length = 0  # of what waits
        self._rate = rate
        self._tokens, self._counted_at = max(1.0, rate), time.monotonic()
        self._unreadable = 0
        self._closing: asyncio.Task[None] | None = None
        self.closed = False
        self.breached = ""

    def send(self, text: str) -> None:
        """Puts a message after those that wait."""
        if self.closed:
            return
        self._length += len(text)
        self._waiting.put_nowait(text)
        if self._length > MOST_WAITING:
            self._breach("reads too slowly")

    def close(self, code: int, reason: str) -> None:
        """Closes the connection after what waits has been sent."""
        if not self.closed:
            self._end()
            self._waiting.put_nowait(_Close(code, reason))

    def _close_now(self, code: int, text: str) -> None:
        """Without waiting for what has not been sent."""
        if self._closing is None:
            self._end()
            self._closing = asyncio.ensure_future(self._connection.close(code, _fitting(text)))

    def _end(self) -> None:
        """Nothing more is sent. One who does not read would hold up the closing for ever."""
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_later(CLOSE_S, self._connection.transport.abort)

    def _breach(self, text: str) -> None:
        self.breached = self.breached or text
        self._close_now(BREACH, text)

    async def write(self) -> None:
        """Sends what comes into the queue until the connection is closed."""
        with suppress(ConnectionClosed):
            while True:
                waiting = await self._waiting.get()
                if isinstance(waiting, _Close):
                    await self._connection.close(waiting.code, _fitting(waiting.reason))
                    return
                await self._connection.send(waiting)
                self._length -= len(waiting)

    async def finish(self, writer: "asyncio.Task[None]") -> None:
        """The user has gone, or is sent away: nothing of the link is left behind."""
        await self._connection.wait_closed()
        tasks = [task for task in (writer, self._closing) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def count(self) -> None:
        """A message has come that answers nothing."""
        now = time.monotonic()
        self._tokens = min(max(1.0, self._rate), self._tokens + self._rate * (now - self._counted_at)) - 1
        self._counted_at = now
        if self._tokens < 0:
            self._breach(f"more than {self._rate:g} messages a second that answer nothing")

    def count_unreadable(self, complaint: str) -> None:
        """A message has come that is no answer by its form."""
        self._unreadable += 1
        if self._unreadable >= MOST_UNREADABLE:
            self._breach(f"{self._unreadable} messages that are no answers; the last: {complaint}")


def _fitting(reason: str) -> str:
    return reason.encode()[:_LONGEST_REASON].decode(errors="ignore")
