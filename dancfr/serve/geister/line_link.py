"""The server's side of a player's TCP connection: sending never waits, and incoming lines are limited."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress

from dancfr.serve.geister.protocol import MAX_LINE_BYTES

CLOSE_S = 2.0
"""Longest wait for a player to close the connection after the server has closed its side; then it is aborted."""

MAX_LINES_AFTER_END = 64
"""Lines that may still arrive after the end before the connection is aborted."""

_BROWSER = re.compile(rb"[A-Z]{3,10} |\x16\x03")
"""How HTTP requests and the greetings of TLS begin, and no line of a player."""


class TooLong(Exception):
    """A line is longer than any that the protocol has."""


class NoPlayer(Exception):
    """The first line is that of a browser, in which any web page can open this port."""


class LineLink:
    """Lines over a connection.

    All lines of a game are some 20 kB, since refused lines are limited: there is no need to wait for slow players.

    Each line is sent by a write of its own. asyncio sets TCP_NODELAY, so each is a segment of its own too, but a player
    that is slower than the server still finds several lines in one read. `pace_s` keeps the lines apart in time.

    Args:
        reader, writer: The connection.
        pace_s: Shortest time between two lines to the player, in seconds.

    Attributes:
        name: Address of the player.
        closed: No more lines are accepted for sending, and further lines of the player are ignored.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pace_s: float = 0.0) -> None:
        self._reader = reader
        self._writer = writer
        self._pace_s = pace_s
        self._waiting: deque[bytes] = deque()
        self._next_at = 0.0  # by the clock of the event loop
        self._abort: asyncio.TimerHandle | None = None
        peer = writer.get_extra_info("peername")
        self.name = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "unknown"
        self._silent = True
        self.closed = False

    def send(self, line: str) -> float:
        """Sends a line as soon as the pace allows it, and returns in how many seconds that is."""
        if self.closed or self._writer.is_closing():
            return 0.0
        self._waiting.append(f"{line}\r\n".encode("ascii"))
        delay = self._delay()
        if len(self._waiting) == 1:
            self._schedule(delay)
        return delay

    def _delay(self) -> float:
        """Seconds until the last waiting line is sent."""
        until_next = max(0.0, self._next_at - asyncio.get_running_loop().time())
        return until_next + self._pace_s * max(0, len(self._waiting) - 1)

    def _schedule(self, delay: float) -> None:
        """Sends the first waiting line after `delay` seconds."""
        if delay > 0:
            asyncio.get_running_loop().call_later(delay, self._send_first)
        else:
            self._send_first()

    def _send_first(self) -> None:
        """Sends the first waiting line, and schedules the next one."""
        if self._writer.is_closing():
            self._waiting.clear()
            return
        self._writer.write(self._waiting.popleft())
        self._next_at = asyncio.get_running_loop().time() + self._pace_s
        if self._waiting:
            self._schedule(self._pace_s)
        elif self.closed:
            self._send_end()

    def close(self) -> None:
        """Closes the server's side of the connection after the waiting lines.

        The player's side stays open for a while: closing a connection with unread input would reset it, and the last
        lines could get lost.
        """
        if self.closed:
            return
        self.closed = True
        loop = asyncio.get_running_loop()
        self._abort = loop.call_later(self._delay() + CLOSE_S, self._writer.transport.abort)
        if not self._waiting:
            self._send_end()

    def _send_end(self) -> None:
        with suppress(OSError, RuntimeError):  # the player has disconnected already
            self._writer.write_eof()

    async def lines(self) -> AsyncIterator[str]:
        """Lines as they arrive, without their ends, until the player closes the connection or it breaks.

        Bytes that are not printable ASCII are escaped.

        Raises:
            TooLong: More than `MAX_LINE_BYTES` came without the end of a line.
            NoPlayer: The first line is that of a browser.
        """
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except (asyncio.IncompleteReadError, OSError):
                return
            except asyncio.LimitOverrunError:
                line = await self._reader.read(MAX_LINE_BYTES + 1)
            if self._silent and _BROWSER.match(line):
                raise NoPlayer
            self._silent = False
            if len(line) > MAX_LINE_BYTES:
                raise TooLong
            text = line[:-1].removesuffix(b"\r").decode("latin-1")
            yield text if text.isascii() and text.isprintable() else ascii(text)[1:-1]

    async def finish(self) -> None:
        """Reads the lines that still arrive, and closes the connection."""
        self.close()
        assert self._abort is not None
        try:
            left = MAX_LINES_AFTER_END
            async for _ in self.lines():
                left -= 1
                if left == 0:
                    raise TooLong
            while self._waiting:  # the player has closed its side, and may still read
                await asyncio.sleep(self._pace_s)
            self._writer.close()
        except (TooLong, NoPlayer):
            self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()
        self._abort.cancel()
