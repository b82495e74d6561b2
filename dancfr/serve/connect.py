"""A user of a server: an agent of ours plays there until the server ends."""

import asyncio
import ipaddress
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
    ProxyError,
)

from dancfr.errors import RunError, UsageError, reason, warn
from dancfr.serve.client import Client
from dancfr.serve.link import BREACH, DONE, GOING_AWAY, NAME_TAKEN
from dancfr.serve.notation import ProtocolError
from dancfr.serve.seats import as_text

MESSAGE_BYTES = 8 * 2**20
"""Longest message from a server: the longest lists of legal actions have thousands of entries."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
STABLE_S = 1.0
"""A connection that lasted so long was a good one: patience begins anew."""

MOST_COMPLAINTS = 5
_OWN_CODES = range(4000, 5000)


@dataclass
class Stay:
    """What came of a stay at a server; `status` is finished, ended (by the server) or stopped (by a signal)."""

    url: str
    status: str = "stopped"
    decisions: int = 0
    reconnects: int = 0
    unreadable: int = 0
    seat: int | None = None
    victories: list[int] | None = None
    seconds: float = 0.0

    def as_result(self) -> dict[str, Any]:
        """For `--json`."""
        return dict(vars(self))


def check_url(url: str) -> None:
    """Refuses what is no address of a websocket.

    Raises:
        UsageError: it is none.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0 and not parts.fragment
    except ValueError:  # a port that is none
        good = False
    if not good:
        raise UsageError(f"--url {url!r} is no address of a server: write ws://127.0.0.1:23456/game/NAME")


async def stay(url: str, client: Client, patience_s: float, stop: asyncio.Event) -> Stay:
    """Plays at a server until that ends the game; a connection that drops is made again, with growing pauses.

    Args:
        url: Address of the user's seat.
        client: Who plays.
        patience_s: How long to try to come back.
        stop: Ends the stay.

    Raises:
        UsageError: the address is none.
        RunError: no server is there, it refuses the user, or it does not come back.
    """
    check_url(url)
    told, started = Stay(url), time.monotonic()
    playing = asyncio.ensure_future(_play_on(url, client, patience_s, told))
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([playing, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not playing.done():
        playing.cancel()
    with suppress(asyncio.CancelledError):
        told.status = await playing
    told.seconds = round(time.monotonic() - started, 3)
    told.seat, told.victories = client.seat, client.victories
    return told


async def _play_on(url: str, client: Client, patience_s: float, told: Stay) -> str:
    pause, dropped_at = FIRST_PAUSE_S, time.monotonic()
    seated = False  # whether the server has ever taken us
    while True:
        try:
            async with connect(
                url, max_size=MESSAGE_BYTES, compression=None, close_timeout=2, proxy=_proxy(url)
            ) as connection:
                told.reconnects += seated
                decisions, since = told.decisions, time.monotonic()
                lost = await _converse(connection, client, told)
                if told.decisions > decisions or time.monotonic() - since > STABLE_S:
                    pause, dropped_at = FIRST_PAUSE_S, time.monotonic()
            status = _ending(lost, client, url, seated)
            if status is not None:
                return status
            failure = f"{url}: the connection dropped ({lost})"
            seated = True
        except InvalidURI as error:
            raise UsageError(f"--url {url!r}: {error}") from None
        except (OSError, TimeoutError, InvalidHandshake, ProxyError) as error:
            failure = _describe(url, error)
            if not seated:
                raise RunError(failure) from None
        if time.monotonic() + pause > dropped_at + patience_s:
            raise RunError(f"{failure}; gave up after {patience_s:g} s")
        if pause == FIRST_PAUSE_S:
            warn(f"{failure}; trying again")
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


def _proxy(url: str) -> Literal[True] | None:
    """Proxies of the environment, except for this machine."""
    return None if is_loopback(urlsplit(url).hostname or "") else True


def is_loopback(host: str) -> bool:
    """Whether an address leads to this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _converse(connection: ClientConnection, client: Client, told: Stay) -> ConnectionClosed:
    """Answers messages until the connection is closed, and tells how it was."""
    try:
        while True:
            text = await connection.recv()
            answer = _answer(client, text, told)
            if answer is not None:
                await connection.send(as_text(dict(answer)))
                told.decisions += 1
    except ConnectionClosed as error:
        return error


def _answer(client: Client, text: str | bytes, told: Stay) -> Mapping[str, int] | None:
    """The agent's answer; to a request that cannot be read the first action, so that the table goes on."""
    try:
        return client.receive(text)
    except ProtocolError as error:
        told.unreadable += 1
        if told.unreadable <= MOST_COMPLAINTS:
            more = "; no more of this is told" if told.unreadable == MOST_COMPLAINTS else ""
            warn(f"cannot read a message of the server: {error}{more}")
    head = text[:200] if isinstance(text, str) else text[:200].decode(errors="replace")
    return {"actIndex": 0} if '"act"' in head else None


def _ending(lost: ConnectionClosed, client: Client, url: str, seated: bool) -> str | None:
    """How the stay ended; None if the connection has dropped and is to be made again.

    Raises:
        RunError: the server has sent the user away.
    """
    if client.victories is not None:
        return "finished"
    received = lost.rcvd
    if received is None:
        return None
    if received.code in (DONE, GOING_AWAY):
        return "ended"
    if received.code in _OWN_CODES or received.code == BREACH:
        if received.code == NAME_TAKEN and seated:  # the server has not noticed yet that the old connection is gone
            return None
        raise RunError(f"{url}: the server refused: {received.reason or received.code}")
    return None


def _describe(url: str, error: Exception) -> str:
    """A connection that could not be made, in a few words."""
    if isinstance(error, InvalidStatus):
        body = (error.response.body or b"").decode(errors="replace").strip()
        return f"{url}: the server refused: HTTP {error.response.status_code}" + (f", {body[:200]}" if body else "")
    if isinstance(error, (InvalidMessage, InvalidHandshake)):
        return f"{url}: no websocket server answers there ({error})"
    if isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error):
        return f"{url}: no server is there; start one with `dancfr serve guandan`"
    if isinstance(error, TimeoutError):
        return f"{url}: no answer"
    return f"{url}: {reason(error) if isinstance(error, OSError) else error}"
