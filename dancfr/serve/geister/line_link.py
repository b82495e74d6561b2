"""A player's TCP connection as the server sees it: lines in and out, held to limits; sending never waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from dancfr.serve.geister.protocol import MAX_LINE_BYTES

CLOSE_S = 2.0
"""Longest wait for a player to close the connection after the server has closed its side; then it is aborted."""

MAX_LINES_AFTER_END = 64
"""Lines that may still arrive after the end before the connection is aborted."""


class TooLong(Exception):
    """A line is longer than any that the protocol has."""


class LineLink:
    """Lines over a connection.

    All lines of a game are some 20 kB, since refused lines are limited: there is no need to wait for slow players.

    Attributes:
        name: Address of the player.
        closed: Nothing more is sent, and further lines are ignored.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._abort: asyncio.TimerHandle | None = None
        peer = writer.get_extra_info("peername")
        self.name = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "unknown"
        self.closed = False

    def send(self, line: str) -> None:
        """Queues a line."""
        if not self.closed and not self._writer.is_closing():
            self._writer.write(f"{line}\r\n".encode("ascii"))

    def close(self) -> None:
        """Closes the server's side of the connection after the queued lines.

        The player's side stays open for a while: closing a connection with unread input would reset it, and the last
        lines could get lost.
        """
        if self.closed:
            return
        self.closed = True
        self._abort = asyncio.get_running_loop().call_later(CLOSE_S, self._writer.transport.abort)
        with suppress(OSError, RuntimeError):  # the player has disconnected already
            self._writer.write_eof()

    async def lines(self) -> AsyncIterator[str]:
        """Lines as they arrive, without their ends, until the player closes the connection or it breaks.

        Bytes that are not printable ASCII are escaped.

        Raises:
            TooLong: More than `MAX_LINE_BYTES` came without the end of a line.
        """
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except (asyncio.IncompleteReadError, OSError):
                return
            except asyncio.LimitOverrunError:
                raise TooLong from None
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
            self._writer.close()
        except TooLong:
            self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()
        self._abort.cancel()
