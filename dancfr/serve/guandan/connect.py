"""A client over WebSockets: an agent plays at a server until the server ends the matches."""

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
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

from dancfr.errors import DancfrError, RunError, UsageError, warn
from dancfr.serve.connect import Backoff, ClientResult, play_until
from dancfr.serve.guandan.client import Client
from dancfr.serve.messages import ProtocolError, as_text
from dancfr.serve.network import describe_connect_error, is_loopback
from dancfr.serve.websocket import BREACH, DONE, GOING_AWAY, NAME_TAKEN

MAX_MESSAGE_BYTES = 8 * 2**20
"""Longest message from a server: the longest lists of legal actions have thousands of entries."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
STABLE_S = 1.0
"""A connection that lasted this long was a success: patience begins anew."""

ADDRESS = "ws://HOST:PORT/game/NAME"
_APPLICATION_CODES = range(4000, 5000)


@dataclass(kw_only=True)
class GuanDanResult(ClientResult):
    """See `ClientResult`; `status` is finished, ended (by the server) or stopped.

    Attributes:
        url: Address of the seat.
        reconnects: Connections made after the first one.
        victories: Matches won by each seat, if the server has sent the final result.
    """

    url: str
    reconnects: int = 0
    victories: list[int] | None = None


def check_url(url: str) -> None:
    """Checks the address of a WebSocket.

    Raises:
        UsageError: The text is not such an address.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0 and not parts.fragment
        (parts.hostname or "").encode("idna")
    except ValueError:  # an impossible port or name of a host
        good = False
    if not good:
        raise UsageError(f"--url {url!r} is not the address of a server: write ws://127.0.0.1:23456/game/NAME")


async def play_at(url: str, client: Client, patience_s: float, stop: asyncio.Event) -> GuanDanResult:
    """Plays at a server until the server ends the matches; connects again, with growing pauses, after a loss.

    Args:
        url: Address of the seat.
        client: Plays.
        patience_s: How long to try to reconnect.
        stop: Ends the client.

    Raises:
        UsageError: The address is wrong, or not that of a seat: an unknown host, a path that the server does not have,
            wss for a server without TLS.
        RunError: There is no server, it refuses the user, or it does not come back.
    """
    check_url(url)
    result = GuanDanResult(url=url)
    await play_until(stop, _play(url, client, patience_s, result), result)
    result.seat, result.victories = client.seat, client.victories
    return result


async def _play(url: str, client: Client, patience_s: float, result: GuanDanResult) -> str:
    backoff = Backoff(patience_s, FIRST_PAUSE_S, LONGEST_PAUSE_S)
    seated = False  # whether the server has accepted a connection before
    while True:
        try:
            async with connect(
                url, max_size=MAX_MESSAGE_BYTES, compression=None, close_timeout=2, proxy=_proxy(url)
            ) as connection:
                result.reconnects += seated
                decisions, since = result.decisions, time.monotonic()
                closed = await _converse(connection, client, result)
                if result.decisions > decisions or time.monotonic() - since > STABLE_S:
                    backoff.reset()
            status = _status_after(closed, client, url, seated)
            if status is not None:
                return status
            failure = f"{url}: the connection dropped ({closed})"
            seated = True
        except InvalidURI as error:
            raise UsageError(f"--url {url!r} is not the address of a server ({error.msg}): write {ADDRESS}") from None
        except (OSError, TimeoutError, InvalidHandshake, InvalidProxy) as error:
            described = describe_failure(url, error)
            if not seated:
                raise described from None
            failure = str(described)
        if backoff.exhausted:
            raise RunError(f"{failure}; gave up after {patience_s:g} s")
        if backoff.first:
            warn(f"{failure}; connecting again")
        await backoff.pause()


def _proxy(url: str) -> Literal[True] | None:
    """Uses the proxies of the environment, except for servers on this machine."""
    return None if is_loopback(urlsplit(url).hostname or "") else True


async def _converse(connection: ClientConnection, client: Client, result: GuanDanResult) -> ConnectionClosed:
    """Answers messages until the connection is closed, and returns how it was closed."""
    try:
        while True:
            text = await connection.recv()
            answer = _answer(client, text, result)
            if answer is not None:
                await connection.send(as_text(dict(answer)))
                result.decisions += 1
    except ConnectionClosed as error:
        return error


def _answer(client: Client, text: str | bytes, result: GuanDanResult) -> Mapping[str, int] | None:
    """The agent's answer; the first action for a request that cannot be read, so that the table goes on."""
    try:
        return client.receive(text)
    except ProtocolError as error:
        result.count_unreadable(error)
    head = text[:200] if isinstance(text, str) else text[:200].decode(errors="replace")
    return {"actIndex": 0} if '"act"' in head else None


def _status_after(closed: ConnectionClosed, client: Client, url: str, seated: bool) -> str | None:
    """How the client has ended; None if the connection was lost and should be made again.

    Raises:
        RunError: The server has refused the user.
    """
    if client.victories is not None:
        return "finished"
    received = closed.rcvd
    if received is None:
        return None
    if received.code in (DONE, GOING_AWAY):
        return "ended"
    if received.code in _APPLICATION_CODES or received.code == BREACH:
        if received.code == NAME_TAKEN and seated:  # the server has not noticed yet that the old connection is gone
            return None
        raise RunError(f"{url}: the server refused: {received.reason or received.code}")
    return None


def describe_failure(url: str, error: Exception) -> DancfrError:
    """The error to raise for a connection that failed: a UsageError if another address is needed."""
    parts = urlsplit(url)
    if isinstance(error, InvalidStatus):
        return _describe_status(url, error)
    if isinstance(error, ssl.SSLCertVerificationError):
        cure = "use a name that the certificate has, or make this machine trust its issuer"
        return RunError(f"{url}: the server's certificate is not accepted ({error.verify_message}): {cure}")
    if parts.scheme == "wss" and isinstance(error, (ssl.SSLError, ConnectionResetError)):
        return UsageError(f"--url {url!r}: the server does not use TLS: write ws:// in place of wss://")
    if isinstance(error, (ProxyError, InvalidProxy)):
        return RunError(f"{url}: the proxy of this environment fails ({error}): name the host in no_proxy")
    if isinstance(error, InvalidHandshake):
        tls = "" if parts.scheme == "wss" else ", and write wss:// for a server with TLS"
        return RunError(f"{url}: no WebSocket server answers there ({error}): check host and port{tls}")
    return describe_connect_error(url, f"--url {url!r}", parts.hostname or "", "guandan", error)


def _describe_status(url: str, error: InvalidStatus) -> DancfrError:
    """The error for a server that answers with an HTTP status."""
    body = " ".join((error.response.body or b"").decode(errors="replace").split())
    status = f"HTTP {error.response.status_code}" + (f", {body[:200]}" if body else "")
    if error.response.status_code >= 500:
        return RunError(f"{url}: the server refused: {status}; try again later")
    return UsageError(
        f"--url {url!r}: the server has no seat at {urlsplit(url).path or '/'} ({status}): write {ADDRESS}"
    )
