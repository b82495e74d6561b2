"""The server's side of a WebSocket: sending never waits, and incoming messages are limited."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from aiohttp import WSMessage, WSMsgType, web

from dancfr.serve.rate import RateLimit

MAX_WAITING = 4 * 2**20
"""Characters that may wait for a client who reads slowly; the messages of a whole round of GuanDan have a tenth of
that."""

MAX_UNREADABLE = 8
"""Messages that are not answers at all before the connection is closed."""

DONE, GOING_AWAY, BREACH, INTERNAL_ERROR = 1000, 1001, 1008, 1011
NAME_TAKEN, NO_SEAT, FAILED = 4001, 4002, 4003
"""Reasons for closing a connection: codes of RFC 6455, and three in the range for applications."""

SEND_S = 20.0
"""Longest time for a client to take a message."""

FLUSH_S, CLOSE_S = 5.0, 2.0
"""Longest times for a client to take the queued messages before the end, and to agree to it; then it is aborted."""

_CONTROL_RATE = 20.0
"""Pings and pongs a second that a client may send."""

_MAX_REASON_BYTES = 120  # the protocol allows 123


class _Close(NamedTuple):
    code: int
    reason: str


class WebSocketLink:
    """Sends through a queue and counts incoming messages.

    Args:
        socket: The open connection; it must leave pings to this class.
        transport: What it runs over.
        rate: Messages a second that a client may send, by the count of `count_message`.
        burst: Messages in a burst.

    Attributes:
        closed: Nothing more is sent.
        breach: The limit that the client has broken, upon which the connection is closed; empty if there is none.
    """

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport, rate: float, burst: float) -> None:
        self._socket, self._transport = socket, transport
        self._waiting: asyncio.Queue[str | _Close] = asyncio.Queue()
        self._waiting_length = 0
        self._rate = rate
        self._limit = RateLimit(rate, burst)
        self._control = RateLimit(_CONTROL_RATE, 10 * _CONTROL_RATE)
        self._unreadable = 0
        self._reading = asyncio.timeout(None)
        self._end: _Close | None = None
        self._writer: asyncio.Task[None] | None = None
        self.closed = False
        self.breach = ""

    @property
    def ended(self) -> bool:
        """Whether the client is only told the reason any more."""
        return self._end is not None

    def send(self, text: str) -> None:
        """Queues a message."""
        if self.closed:
            return
        self._waiting_length += len(text)
        self._waiting.put_nowait(text)
        if self._waiting_length > MAX_WAITING:
            self.refuse("reads too slowly")

    def close(self, code: int, reason: str) -> None:
        """Closes the connection once the queued messages have been sent."""
        if not self.closed:
            self.closed = True
            self._waiting.put_nowait(_Close(code, reason))
            asyncio.get_running_loop().call_later(FLUSH_S, self.end, code, reason)

    def refuse(self, breach: str) -> None:
        """Closes the connection for the breach of a limit, without sending the queued messages."""
        self.breach = self.breach or breach
        self.end(BREACH, self.breach)

    def end(self, code: int, reason: str) -> None:
        """Closes the connection without sending the queued messages."""
        self.closed = True
        if self._end is None:
            self._end = _Close(code, reason)
            with suppress(RuntimeError):  # nothing is being read
                self._reading.reschedule(0.0)

    async def run(self, receive: Callable[[str | bytes], None]) -> None:
        """Sends queued messages and passes on the client's messages until `finish` closes the connection."""
        self._writer = asyncio.ensure_future(self._write())
        try:
            async with self._reading:
                while self._end is None:
                    message = await self._socket.receive()
                    if message.type in (WSMsgType.PING, WSMsgType.PONG):
                        await self._answer(message)
                    elif message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                        receive(message.data)
                    else:
                        break
                    await asyncio.sleep(0)  # other clients come in between, however many messages are here already
        except TimeoutError:  # by `end`
            if self._end is None:
                raise
        except Exception:
            self.end(INTERNAL_ERROR, "the server has failed")
            raise
        finally:
            self.closed = True

    async def finish(self) -> None:
        """Sends the client the reason for closing the connection, and waits for its answer: a connection that is
        closed while there is input to read could lose the last messages."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        if self._end is None:
            return
        code, reason = self._end.code, self._end.reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore").encode()
        try:
            async with asyncio.timeout(CLOSE_S):
                if self.breach:
                    await self._dismiss(code, reason)
                else:
                    await self._socket.close(code=code, message=reason)
        except (ConnectionError, TimeoutError):
            self._transport.abort()

    async def _dismiss(self, code: int, reason: bytes) -> None:
        """Sends the client the reason, and stops reading, since it may be a flood."""
        self._transport.pause_reading()
        await self._socket.send_frame(code.to_bytes(2, "big") + reason, WSMsgType.CLOSE)
        await asyncio.sleep(CLOSE_S)

    async def _answer(self, message: WSMessage) -> None:
        if not self._control.allows():
            self.refuse(f"more than {_CONTROL_RATE:g} pings a second")
        elif message.type == WSMsgType.PING:
            with suppress(ConnectionError):
                await self._socket.pong(message.data)

    async def _write(self) -> None:
        """Sends queued messages until the connection is closed."""
        try:
            while not isinstance(waiting := await self._waiting.get(), _Close):
                async with asyncio.timeout(SEND_S):
                    await self._socket.send_str(waiting)
                self._waiting_length -= len(waiting)
            self.end(*waiting)
        except TimeoutError:
            self.refuse("reads too slowly")
        except ConnectionError:
            pass

    def count_message(self, what: str = "", cost: float = 1.0) -> None:
        """Counts a message against the rate, as `cost` messages, whose kind the reason names."""
        if not self._limit.allows(cost):
            self.refuse(f"more than {self._rate:g} messages a second{what}")

    def count_unreadable(self, complaint: str) -> None:
        """Counts a message that is not an answer by its form."""
        self._unreadable += 1
        if self._unreadable >= MAX_UNREADABLE:
            self.refuse(f"{self._unreadable} messages that are not answers; the last one: {complaint}")
