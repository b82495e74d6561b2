"""A player's connection as the server sees it: lines in and out, held to limits, never waited for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from dancfr.serve.geister.protocol import LINE_BYTES

CLOSE_S = 2.0
"""Longest wait for a player to close his side, once the server has closed its own; then the connection is cut."""

MOST_AFTERWARDS = 64
"""Lines that may still come after the end before the connection is cut."""


class TooLong(Exception):
    """A line without end."""


class Link:
    """Lines over a connection.

    All that a game has to say to a player are some 20 kB, as lines that are refused are counted: nothing here waits for
    one who does not read.

    Attributes:
        name: Address of the player.
        closed: Nothing more is sent, and what comes means nothing.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._cut: asyncio.TimerHandle | None = None
        peer = writer.get_extra_info("peername")
        self.name = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "unknown"
        self.closed = False

    def send(self, line: str) -> None:
        """Puts a line after those that wait."""
        if not self.closed and not self._writer.is_closing():
            self._writer.write(f"{line}\r\n".encode("ascii"))

    def close(self) -> None:
        """Nothing more is sent. What came before still reaches the player: his side is left open for a while, since
        unread input would cut a connection that is closed at once, and the last lines with it."""
        if self.closed:
            return
        self.closed = True
        self._cut = asyncio.get_running_loop().call_later(CLOSE_S, self._writer.transport.abort)
        with suppress(OSError, RuntimeError):  # the player has gone already
            self._writer.write_eof()

    async def lines(self) -> AsyncIterator[str]:
        """Lines as they come, without their end, until the player closes his side or the connection breaks.

        Bytes that are no printable ASCII are shown escaped.

        Raises:
            TooLong: more than `LINE_BYTES` without an end.
        """
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except (asyncio.IncompleteReadError, OSError):
                return
            except asyncio.LimitOverrunError:
                raise TooLong from None
            if len(line) > LINE_BYTES:
                raise TooLong
            text = line[:-1].removesuffix(b"\r").decode("latin-1")
            yield text if text.isascii() and text.isprintable() else ascii(text)[1:-1]

    async def finish(self) -> None:
        """Passes over what still comes, and lets go of the connection."""
        self.close()
        assert self._cut is not None
        try:
            left = MOST_AFTERWARDS
            async for _ in self.lines():
                left -= 1
                if left == 0:
                    raise TooLong
            self._writer.close()
        except TooLong:
            self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()
        self._cut.cancel()
