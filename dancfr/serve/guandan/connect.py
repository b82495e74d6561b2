"""A client over WebSockets: an agent plays at a server until the server ends the matches."""

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from actors.addresses import is_nearby
from dancfr.errors import DancfrError, RunError, UsageError, warn
from dancfr.serve.connect import Backoff, ClientResult, play_until
from dancfr.serve.guandan.client import Client
from dancfr.serve.messages import ProtocolError, as_text
from dancfr.serve.network import describe_connect_error, notice_vanishing
from dancfr.serve.websocket import BREACH, DONE, GOING_AWAY, NAME_TAKEN

MAX_MESSAGE_BYTES = 8 * 2**20
"""Longest message from a server: the longest lists of legal actions have thousands of entries."""

CONNECT_S = 10.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
STABLE_S = 1.0
"""A connection that lasted this long was a success: patience begins again."""

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
    async with aiohttp.ClientSession(trust_env=_has_proxy(url), raise_for_status=_check_status) as session:
        while True:
            try:
                async with asyncio.timeout(CONNECT_S):
                    # The environment names proxies for HTTP, but none for WebSockets.
                    connection = await session.ws_connect(
                        urlsplit(url)._replace(scheme=_http_of(url)).geturl(),
                        max_msg_size=MAX_MESSAGE_BYTES,
                        timeout=aiohttp.ClientWSTimeout(ws_close=2.0),
                    )
                async with connection:
                    result.reconnects += seated
                    decisions, since = result.decisions, time.monotonic()
                    farewell = await _converse(connection, client, result)
                    if result.decisions > decisions or time.monotonic() - since > STABLE_S:
                        backoff.reset()
                status = _status_after(farewell, client, url, seated)
                if status is not None:
                    return status
                reason = "without a word" if farewell is None else f"code {farewell.data} {farewell.extra}".strip()
                failure = f"{url}: the connection dropped ({reason})"
                seated = True
            except (OSError, TimeoutError, aiohttp.ClientError, _BadStatus) as error:
                described = describe_failure(url, error)
                if not seated:
                    raise described from None
                failure = str(described)
            if backoff.exhausted:
                raise RunError(f"{failure}; gave up after {patience_s:g} s")
            if backoff.first:
                warn(f"{failure}; connecting again")
            await backoff.pause()


class _BadStatus(Exception):
    """The server answers with an HTTP status, and with a text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"HTTP {status}" + (f", {text}" if text else ""))
        self.status = status


async def _check_status(response: aiohttp.ClientResponse) -> None:
    if response.status != 101:
        text = (await response.content.read(1000)).decode(errors="replace")
        raise _BadStatus(response.status, " ".join(text.split())[:200])


async def _converse(
    connection: aiohttp.ClientWebSocketResponse, client: Client, result: GuanDanResult
) -> aiohttp.WSMessage | None:
    """Answers messages until the connection is closed, and returns the server's last word; None if it has vanished."""
    notice_vanishing(connection.get_extra_info("socket"))
    try:
        while True:
            message = await connection.receive()
            if message.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                return message if message.type == aiohttp.WSMsgType.CLOSE else None
            answer = _answer(client, message.data, result)
            if answer is not None:
                await connection.send_str(as_text(dict(answer)))
                result.decisions += 1
    except OSError:
        return None


def _answer(client: Client, text: str | bytes, result: GuanDanResult) -> Mapping[str, int] | None:
    """The agent's answer; the first action for a request that cannot be read, so that the table continues."""
    try:
        return client.receive(text)
    except ProtocolError as error:
        result.count_unreadable(error)
    head = text[:200] if isinstance(text, str) else text[:200].decode(errors="replace")
    return {"actIndex": 0} if '"act"' in head else None


def _status_after(farewell: aiohttp.WSMessage | None, client: Client, url: str, seated: bool) -> str | None:
    """How the client has ended; None if the connection was lost and should be made again.

    Raises:
        RunError: The server has refused the user.
    """
    if client.victories is not None:
        return "finished"
    if farewell is None:
        return None
    code = farewell.data
    if code in (DONE, GOING_AWAY):
        return "ended"
    if code in _APPLICATION_CODES or code == BREACH:
        if code == NAME_TAKEN and seated:  # the server has not noticed yet that the old connection is gone
            return None
        raise RunError(f"{url}: the server refused: {farewell.extra or code}")
    return None


def _http_of(url: str) -> str:
    """The scheme of HTTP for a WebSocket's address, whose own may be written in capitals."""
    return f"http{urlsplit(url).scheme.removeprefix('ws')}"


def _has_proxy(url: str) -> bool:
    """Whether the environment names a proxy for this server."""
    host = urlsplit(url).hostname or ""
    return _http_of(url) in getproxies() and not proxy_bypass(host) and not is_nearby(host)


def describe_failure(url: str, error: Exception) -> DancfrError:
    """The error to raise for a connection that failed: a UsageError if another address is needed."""
    parts = urlsplit(url)
    if isinstance(error, aiohttp.InvalidURL):
        return UsageError(f"--url {url!r} is not the address of a server ({error}): write {ADDRESS}")
    if isinstance(error, _BadStatus):
        if error.status >= 500 and _has_proxy(url):
            return RunError(
                f"{url}: the server or the proxy of this environment refused: {error}; name the host in no_proxy to do "
                "without the proxy"
            )
        if error.status >= 500:
            return RunError(f"{url}: the server refused: {error}; try again later")
        return UsageError(f"--url {url!r}: the server has no seat at {parts.path or '/'} ({error}): write {ADDRESS}")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        certificate = error.certificate_error
        why = getattr(certificate, "verify_message", "") or str(certificate)
        cure = "use a name that the certificate has, or make this machine trust its issuer"
        return RunError(f"{url}: the server's certificate is not accepted ({why}): {cure}")
    if isinstance(error, (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError)):
        return RunError(f"{url}: the proxy of this environment fails ({error}): name the host in no_proxy")
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if parts.scheme == "wss" and isinstance(cause, (ssl.SSLError, ConnectionResetError)):
        return UsageError(f"--url {url!r}: the server does not use TLS: write ws:// in place of wss://")
    if isinstance(cause, aiohttp.ClientError) and not isinstance(cause, OSError):
        tls = "" if parts.scheme == "wss" else ", and write wss:// for a server with TLS"
        return RunError(f"{url}: no WebSocket server answers there ({cause}): check host and port{tls}")
    return describe_connect_error(url, f"--url {url!r}", parts.hostname or "", "guandan", cause)
