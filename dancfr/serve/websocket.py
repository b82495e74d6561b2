"""The server's side of a user's WebSocket connection: sending never waits, and incoming messages are limited."""

import asyncio
from contextlib import suppress
from typing import NamedTuple

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from dancfr.serve.rate import RateLimit

MAX_WAITING = 4 * 2**20
"""Characters that may wait for a user who reads slowly; the messages of a whole round have a tenth of that."""

MAX_UNREADABLE = 8
"""Messages that are not answers at all before the connection is closed."""

DONE, GOING_AWAY, BREACH = 1000, 1001, 1008
NAME_TAKEN, NO_SEAT, FAILED = 4001, 4002, 4003
"""Reasons for closing a connection: codes of RFC 6455, and three in the range for applications."""

CLOSE_S = 5.0
"""Longest wait for a user to read the last messages and agree to the closing; then the connection is aborted."""

_MAX_REASON_BYTES = 120  # the protocol allows 123


class _Close(NamedTuple):
    code: int
    reason: str


class WebSocketLink:
    """Sends through a queue and counts what comes in.

    Args:
        connection: An open connection.
        rate: Messages a second that a user may send besides the answers to requests.

    Attributes:
        closed: Nothing more is sent.
        breach: The limit that the user has broken, upon which the connection is closed; empty if there is none.
    """

    def __init__(self, connection: ServerConnection, rate: float) -> None:
        self._connection = connection
        self._waiting: asyncio.Queue[str | _Close] = asyncio.Queue()
        self._waiting_length = 0
        self._rate = rate
        self._limit = RateLimit(rate, max(1.0, rate))
        self._unreadable = 0
        self._closing: asyncio.Task[None] | None = None
        self.closed = False
        self.breach = ""

    def send(self, text: str) -> None:
        """Queues a message."""
        if self.closed:
            return
        self._waiting_length += len(text)
        self._waiting.put_nowait(text)
        if self._waiting_length > MAX_WAITING:
            self._close_for_breach("reads too slowly")

    def close(self, code: int, reason: str) -> None:
        """Closes the connection once the queued messages have been sent."""
        if not self.closed:
            self._end()
            self._waiting.put_nowait(_Close(code, reason))

    def _close_for_breach(self, text: str) -> None:
        """Closes the connection without sending the queued messages."""
        self.breach = self.breach or text
        if self._closing is None:
            self._end()
            self._closing = asyncio.ensure_future(self._connection.close(BREACH, _shortened_reason(text)))

    def _end(self) -> None:
        """Stops sending, and bounds the time that a user who does not read can delay the closing."""
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_later(CLOSE_S, self._connection.transport.abort)

    async def write(self) -> None:
        """Sends queued messages until the connection is closed."""
        with suppress(ConnectionClosed):
            while True:
                waiting = await self._waiting.get()
                if isinstance(waiting, _Close):
                    await self._connection.close(waiting.code, _shortened_reason(waiting.reason))
                    return
                await self._connection.send(waiting)
                self._waiting_length -= len(waiting)

    async def finish(self, writer: "asyncio.Task[None]") -> None:
        """Waits for the end of the connection, and ends the tasks of the link; `writer` is the task of `write`."""
        await self._connection.wait_closed()
        tasks = [task for task in (writer, self._closing) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def count_unasked(self) -> None:
        """Counts a message that answers no request against the rate, of which one second's worth may come at once."""
        if not self._limit.allows():
            self._close_for_breach(f"more than {self._rate:g} messages a second that answer no request")

    def count_unreadable(self, complaint: str) -> None:
        """Counts a message that is not an answer by its form."""
        self._unreadable += 1
        if self._unreadable >= MAX_UNREADABLE:
            self._close_for_breach(f"{self._unreadable} messages that are not answers; the last one: {complaint}")


def _shortened_reason(reason: str) -> str:
    return reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore")
