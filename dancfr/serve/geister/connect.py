"""A user of a server: an agent of ours plays some games there, one connection each."""

import asyncio
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dancfr.errors import DancfrError, RunError, UsageError, reason, warn
from dancfr.serve.geister.client import Client
from dancfr.serve.geister.protocol import MOVE_ASKED
from dancfr.serve.guandan.notation import ProtocolError

LINE_BYTES = 4096
"""Longest line from a server; the longest that means something has 54 bytes."""

CONNECT_S = 10.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0
MOST_COMPLAINTS = 5


@dataclass
class Stay:
    """What came of a stay at a server; `status` is finished or stopped (by a signal).

    Attributes:
        games: Games that were played to their end: `won` + `lost` + `drawn`.
        seat: 0 or 1, in the last game that came to a move.
        decisions: Moves in all.
        refused: Answers that the server has not taken.
        unreadable: Lines of the server that mean nothing.
    """

    host: str
    port: int
    status: str = "stopped"
    games: int = 0
    won: int = 0
    lost: int = 0
    drawn: int = 0
    seat: int | None = None
    decisions: int = 0
    refused: int = 0
    unreadable: int = 0
    seconds: float = 0.0

    def as_result(self) -> dict[str, Any]:
        """For `--json`."""
        return dict(vars(self))

    @property
    def place(self) -> str:
        """The server, for messages."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class NoSeat(RunError):
    """The server closes the connection before it asks for anything."""


async def stay(
    host: str, port: int, client: Client, games: int, patience_s: float, stop: asyncio.Event, silence_s: float = 30.0
) -> Stay:
    """Plays games at a server, each with a connection of its own.

    Args:
        host, port: The seat.
        client: Who plays.
        games: How many.
        patience_s: How long to try to come back after a game.
        stop: Ends the stay.
        silence_s: How long the server may take to ask for colours, and to tell what follows from an answer that it
            refuses. For a move of the opponent it may take any time.

    Raises:
        UsageError: no such host.
        RunError: no server is there or none of Geister, the seat is taken, or the connection drops in a game.
    """
    told, started = Stay(host, port), time.monotonic()
    playing = asyncio.ensure_future(_play_on(told, client, games, patience_s, silence_s))
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([playing, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not playing.done():
        playing.cancel()
    with suppress(asyncio.CancelledError):
        await playing
        told.status = "finished"
    told.seconds = round(time.monotonic() - started, 3)
    told.seat, told.decisions = client.seat, client.decisions
    return told


async def _play_on(told: Stay, client: Client, games: int, patience_s: float, silence_s: float) -> None:
    ended_at, pause = time.monotonic(), FIRST_PAUSE_S
    while told.games < games:
        try:
            await _play_game(told, client, silence_s)
            ended_at, pause = time.monotonic(), FIRST_PAUSE_S
            continue
        except (NoSeat, OSError) as error:
            failure = describe_failure(told, error)
            if told.games == 0 or isinstance(failure, UsageError):
                raise failure from None
        if time.monotonic() + pause > ended_at + patience_s:
            raise RunError(f"{failure}; gave up after {told.games} of {games} games and {patience_s:g} s")
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


async def _play_game(told: Stay, client: Client, silence_s: float) -> None:
    """One game, from the connection to its result.

    Raises:
        OSError: there is no connection.
        NoSeat: it is closed at once.
        RunError: it drops later, or the server is none of Geister.
    """
    async with asyncio.timeout(CONNECT_S):
        reader, writer = await asyncio.open_connection(told.host, told.port, limit=LINE_BYTES)
    try:
        await _converse(told, client, reader, writer, silence_s)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    assert client.outcome is not None
    told.games += 1
    setattr(told, client.outcome, getattr(told, client.outcome) + 1)


async def _converse(
    told: Stay, client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silence_s: float
) -> None:
    asked = False  # for anything yet
    while True:
        line = await _read(told, reader, silence_s if client.refused or not asked else None, asked)
        if line is None:
            if asked:
                raise RunError(f"{told.place}: the connection dropped in the midst of game {told.games + 1}")
            raise NoSeat(f"{told.place}: the server closes the connection at once: the seat is taken, or it ends")
        refused = client.refused
        answer = _answer(told, client, line, asked)
        told.refused += client.refused and not refused
        if client.outcome is not None and asked:
            return
        asked |= answer is not None
        if answer is not None:
            writer.write(f"{answer}\r\n".encode("ascii"))


async def _read(told: Stay, reader: asyncio.StreamReader, wait_s: float | None, asked: bool) -> str | None:
    """The next line without its end; None where there is none any more."""
    try:
        async with asyncio.timeout(wait_s):
            line = await reader.readuntil(b"\n")
    except TimeoutError:
        said = "has refused an answer and says no more" if asked else "asks for nothing: is it one of Geister?"
        raise RunError(f"{told.place}: the server {said} ({wait_s:g} s)") from None
    except asyncio.LimitOverrunError:
        raise RunError(f"{told.place}: no Geister server answers there: check host and port") from None
    except (asyncio.IncompleteReadError, OSError):
        return None
    return line[:-1].removesuffix(b"\r").decode("ascii", "backslashreplace")


def _answer(told: Stay, client: Client, line: str, asked: bool) -> str | None:
    """The agent's answer. Without the board there is none; lines that mean nothing are passed over."""
    try:
        return client.receive(line)
    except ProtocolError as error:
        if not asked:
            raise RunError(f"{told.place}: no Geister server answers there ({error}): check host and port") from None
        if line.startswith(MOVE_ASKED):
            raise RunError(f"{told.place}: cannot read the board that the server shows: {error}") from None
        told.unreadable += 1
        if told.unreadable <= MOST_COMPLAINTS:
            more = "; no more of this is told" if told.unreadable == MOST_COMPLAINTS else ""
            warn(f"cannot read a line of the server: {error}{more}")
        return None


def describe_failure(told: Stay, error: Exception) -> DancfrError:
    """What to raise where no game could begin: a UsageError where another address would do."""
    if isinstance(error, DancfrError):
        return error
    if isinstance(error, socket.gaierror):
        return UsageError(f"--host {told.host!r}: no such host ({reason(error)}): check its name")
    if isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error):
        return RunError(f"{told.place}: no server is there; start one with `dancfr serve geister`")
    if isinstance(error, TimeoutError):
        return RunError(f"{told.place}: no answer: check host and port")
    return RunError(f"{told.place}: {reason(error) if isinstance(error, OSError) else error}")
