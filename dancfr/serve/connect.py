"""Common parts of the clients of all games: their result, reconnection with growing pauses, and stopping."""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dancfr.errors import warn
from dancfr.serve.messages import ProtocolError

MAX_COMPLAINTS = 5
"""Unreadable messages of a server that are reported; the others are only counted."""


@dataclass(kw_only=True)
class ClientResult:
    """The record of a client at a server.

    Attributes:
        status: How it ended: stopped by a signal, or whatever the client of the game says.
        seat: The seat of the agent, if the server has revealed it.
        decisions: Decisions of the agent.
        unreadable: Messages of the server that could not be understood.
        seconds: Time at the server.
    """

    status: str = "stopped"
    seat: int | None = None
    decisions: int = 0
    unreadable: int = 0
    seconds: float = 0.0

    def count_unreadable(self, error: ProtocolError) -> None:
        """Counts a message of the server that cannot be understood, and reports the first ones."""
        self.unreadable += 1
        if self.unreadable <= MAX_COMPLAINTS:
            last = "; further ones are not reported" if self.unreadable == MAX_COMPLAINTS else ""
            warn(f"cannot read a message of the server: {error}{last}")


async def play_until(stop: asyncio.Event, play: Coroutine[Any, Any, str], result: ClientResult) -> None:
    """Runs a client until it ends or `stop` is set, and sets the status and the seconds of its result.

    Args:
        stop: Ends the client, with the status that the result has before.
        play: The client; it returns its status, and its exceptions pass through.
        result: Is updated.
    """
    started = time.monotonic()
    playing = asyncio.ensure_future(play)
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([playing, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not playing.done():
        playing.cancel()
    with suppress(asyncio.CancelledError):
        result.status = await playing
    result.seconds = round(time.monotonic() - started, 3)


class Backoff:
    """Pauses between attempts to connect again, each twice as long as the one before.

    Args:
        patience_s: Time without success after which to give up.
        first_s, longest_s: The first and the longest pause.
    """

    def __init__(self, patience_s: float, first_s: float, longest_s: float) -> None:
        self.patience_s = patience_s
        self._first_s, self._longest_s = first_s, longest_s
        self.reset()

    def reset(self) -> None:
        """The connection works: patience and pauses begin again."""
        self._pause, self._failing_since = self._first_s, time.monotonic()

    @property
    def first(self) -> bool:
        """Whether the next pause is the first one since the last success."""
        return self._pause == self._first_s

    @property
    def exhausted(self) -> bool:
        """Whether patience would end within the next pause."""
        return time.monotonic() + self._pause > self._failing_since + self.patience_s

    async def pause(self) -> None:
        """Waits before the next attempt."""
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, self._longest_s)
