"""A client over TCP: an agent plays some games at a server, each with a connection of its own."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from dancfr.errors import DancfrError, RunError, UsageError
from dancfr.serve.connect import Backoff, ClientResult, play_until
from dancfr.serve.geister.client import Client
from dancfr.serve.geister.protocol import MOVE_REQUEST
from dancfr.serve.messages import ProtocolError
from dancfr.serve.network import describe_connect_error, join_address

MAX_LINE_BYTES = 4096
"""Longest line from a server; the longest of the protocol has 54 bytes."""

CONNECT_S = 10.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0


@dataclass(kw_only=True)
class GeisterResult(ClientResult):
    """See `ClientResult`; `status` is finished or stopped, `seat` is that of the last game that came to a move.

    Attributes:
        host, port: The server.
        games: Games that were played to their end: `won` + `lost` + `drawn`.
        refused: Answers that the server has not accepted.
    """

    host: str
    port: int
    games: int = 0
    won: int = 0
    lost: int = 0
    drawn: int = 0
    refused: int = 0

    @property
    def server(self) -> str:
        """The server, for messages."""
        return join_address(self.host, self.port)


class NoSeat(RunError):
    """The server has closed the connection before it asked for anything."""


async def play_at(
    host: str, port: int, client: Client, games: int, patience_s: float, stop: asyncio.Event, silence_s: float = 30.0
) -> GeisterResult:
    """Plays games at a server, each with a connection of its own.

    Args:
        host, port: The seat.
        client: Plays.
        games: Number of games.
        patience_s: How long to try to reconnect after a game.
        stop: Ends the client.
        silence_s: How long the server may take to ask for the colours, and to continue after an answer that it
            refuses. The time for a move of the opponent is not limited.

    Raises:
        UsageError: There is no such host.
        RunError: There is no server, or not one of Geister; the seat is taken; or the connection drops in a game.
    """
    result = GeisterResult(host=host, port=port)
    await play_until(stop, _play(result, client, games, patience_s, silence_s), result)
    result.seat, result.decisions = client.seat, client.decisions
    return result


async def _play(result: GeisterResult, client: Client, games: int, patience_s: float, silence_s: float) -> str:
    backoff = Backoff(patience_s, FIRST_PAUSE_S, LONGEST_PAUSE_S)
    while result.games < games:
        try:
            await _play_game(result, client, silence_s)
            backoff.reset()
            continue
        except (NoSeat, OSError) as error:
            failure = describe_failure(result, error)
            if result.games == 0 or isinstance(failure, UsageError):
                raise failure from None
        if backoff.exhausted:
            raise RunError(f"{failure}; gave up after {result.games} of {games} games and {patience_s:g} s")
        await backoff.pause()
    return "finished"


async def _play_game(result: GeisterResult, client: Client, silence_s: float) -> None:
    """Plays one game, from the connection to the result.

    Raises:
        OSError: The connection fails.
        NoSeat: The server closes the connection immediately.
        RunError: The connection drops later, or the server is not one of Geister.
    """
    async with asyncio.timeout(CONNECT_S):
        reader, writer = await asyncio.open_connection(result.host, result.port, limit=MAX_LINE_BYTES)
    try:
        await _converse(result, client, reader, writer, silence_s)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    assert client.outcome is not None
    result.games += 1
    setattr(result, client.outcome, getattr(result, client.outcome) + 1)


async def _converse(
    result: GeisterResult,
    client: Client,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    silence_s: float,
) -> None:
    asked = False  # whether the server has asked for anything yet
    while True:
        line = await _read(result, reader, silence_s if client.refused or not asked else None, asked)
        if line is None:
            if asked:
                raise RunError(f"{result.server}: the connection dropped in game {result.games + 1}")
            raise NoSeat(
                f"{result.server}: the server closed the connection immediately: the seat is taken, or the server ends"
            )
        refused = client.refused
        answer = _answer(result, client, line, asked)
        result.refused += client.refused and not refused
        if client.outcome is not None and asked:
            return
        asked |= answer is not None
        if answer is not None:
            writer.write(f"{answer}\r\n".encode("ascii"))


async def _read(result: GeisterResult, reader: asyncio.StreamReader, wait_s: float | None, asked: bool) -> str | None:
    """The next line without its end; None at the end of the connection."""
    try:
        async with asyncio.timeout(wait_s):
            line = await reader.readuntil(b"\n")
    except TimeoutError:
        silence = "refused an answer and went silent" if asked else "asks for nothing: is it a Geister server?"
        raise RunError(f"{result.server}: the server {silence} ({wait_s:g} s)") from None
    except asyncio.LimitOverrunError:
        raise RunError(f"{result.server}: no Geister server answers there: check host and port") from None
    except (asyncio.IncompleteReadError, OSError):
        return None
    return line[:-1].removesuffix(b"\r").decode("ascii", "backslashreplace")


def _answer(result: GeisterResult, client: Client, line: str, asked: bool) -> str | None:
    """The agent's answer. Unknown lines are ignored; a board that cannot be read is an error."""
    try:
        return client.receive(line)
    except ProtocolError as error:
        if not asked:
            raise RunError(f"{result.server}: no Geister server answers there ({error}): check host and port") from None
        if line.startswith(MOVE_REQUEST):
            raise RunError(f"{result.server}: cannot read the board from the server: {error}") from None
        result.count_unreadable(error)
        return None


def describe_failure(result: GeisterResult, error: Exception) -> DancfrError:
    """The error to raise if no game could begin: a UsageError if another address is needed."""
    if isinstance(error, DancfrError):
        return error
    return describe_connect_error(result.server, f"--host {result.host!r}", result.host, "geister", error)
