"""A user of a server: an agent of ours plays there until the server ends."""

import asyncio
import ipaddress
import socket
import ssl
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
    InvalidProxy,
    InvalidStatus,
    InvalidURI,
    ProxyError,
)

from dancfr.errors import DancfrError, RunError, UsageError, reason, warn
from dancfr.serve.guandan.client import Client
from dancfr.serve.guandan.notation import ProtocolError
from dancfr.serve.guandan.seats import as_text
from dancfr.serve.websocket import BREACH, DONE, GOING_AWAY, NAME_TAKEN

MESSAGE_BYTES = 8 * 2**20
"""Longest message from a server: the longest lists of legal actions have thousands of entries."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
STABLE_S = 1.0
"""A connection that lasted so long was a good one: patience begins anew."""

MOST_COMPLAINTS = 5
ADDRESS = "ws://HOST:PORT/game/NAME"
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
        (parts.hostname or "").encode("idna")
    except ValueError:  # a port that is none, or a name that no host can have
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
        UsageError: the address is none, or none of a seat: an unknown host, a path that the server does not have,
            wss for a server without TLS.
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
            raise UsageError(f"--url {url!r} is no address of a server ({error.msg}): write {ADDRESS}") from None
        except (OSError, TimeoutError, InvalidHandshake, InvalidProxy) as error:
            refused = describe_failure(url, error)
            if not seated:
                raise refused from None
            failure = str(refused)
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


def describe_failure(url: str, error: Exception) -> DancfrError:
    """What to raise for a connection that could not be made: a UsageError where another address would do."""
    parts = urlsplit(url)
    if isinstance(error, InvalidStatus):
        return _describe_status(url, error)
    if isinstance(error, socket.gaierror):
        return UsageError(f"--url {url!r}: no such host as {parts.hostname} ({reason(error)}): check its name")
    if isinstance(error, ssl.SSLCertVerificationError):
        cure = "use a name that the certificate has, or let this machine trust who signed it"
        return RunError(f"{url}: the server's certificate is not accepted ({error.verify_message}): {cure}")
    if parts.scheme == "wss" and isinstance(error, (ssl.SSLError, ConnectionResetError)):
        return UsageError(f"--url {url!r}: no TLS is spoken there: write ws:// in place of wss://")
    if isinstance(error, (ProxyError, InvalidProxy)):
        return RunError(f"{url}: the proxy of this environment fails ({error}): name the host in no_proxy")
    if isinstance(error, InvalidHandshake):
        also = "" if parts.scheme == "wss" else ", and write wss:// for a server with TLS"
        return RunError(f"{url}: no websocket server answers there ({error}): check host and port{also}")
    if isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error):
        return RunError(f"{url}: no server is there; start one with `dancfr serve guandan`")
    if isinstance(error, TimeoutError):
        return RunError(f"{url}: no answer: check host and port")
    return RunError(f"{url}: {reason(error) if isinstance(error, OSError) else error}")


def _describe_status(url: str, error: InvalidStatus) -> DancfrError:
    """An answer of HTTP in place of a connection."""
    said = " ".join((error.response.body or b"").decode(errors="replace").split())
    status = f"HTTP {error.response.status_code}" + (f", {said[:200]}" if said else "")
    if error.response.status_code >= 500:
        return RunError(f"{url}: the server refused: {status}; try again later")
    return UsageError(
        f"--url {url!r}: the server has no seat at {urlsplit(url).path or '/'} ({status}): write {ADDRESS}"
    )
