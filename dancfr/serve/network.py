"""Where servers listen and clients connect: checks of addresses, and errors with a cure."""

import asyncio
import errno
import ipaddress
import os
import socket

from dancfr.errors import DancfrError, RunError, UsageError, reason, warn

BURST = 16
"""Connections that a server accepts in a row, before it looks at those that it has."""

SILENT_S = 30
"""How long the other end of a connection may be silent before the system asks whether it is still there."""

_QUEUE = 512
"""Connections that may wait to be accepted."""


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def join_address(host: str, port: int) -> str:
    """``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def check_port(port: int, option: str = "--port", least: int = 0) -> None:
    """Checks that a port is in range; for a server 0 means any free port.

    Raises:
        UsageError: The port is not from `least` to 65535.
    """
    if not least <= port <= 65_535:
        raise UsageError(f"{option} must be from {least} to 65535, got {port}")


def check_host(host: str) -> None:
    """Checks that a host can have a name; a server would listen at all addresses for an empty one.

    Raises:
        UsageError: It cannot.
    """
    if not host:
        raise UsageError("--host must not be empty: it is 127.0.0.1 for this machine alone, 0.0.0.0 for all addresses")
    try:
        host.encode("idna")
    except UnicodeError:
        raise UsageError(f"--host {host}: no host can have this name") from None


async def check_listening(host: str, port: int, option: str = "--port") -> None:
    """Checks that a server can listen at an address, so that a command fails before its slow preparations.

    Raises:
        UsageError: It cannot.
    """
    check_host(host)
    try:
        probe = await asyncio.start_server(lambda reader, writer: writer.close(), host, port)
    except (OSError, OverflowError) as error:
        raise UsageError(describe_listen_error(host, port, error, option)) from None
    probe.close()
    await probe.wait_closed()


def lengthen_queue(server: asyncio.Server) -> None:
    """Lets more connections wait than are accepted in a row, which for asyncio are one number, `backlog`."""
    for listening in server.sockets:
        with socket.socket(fileno=os.dup(listening.fileno())) as same:
            same.listen(_QUEUE)


def notice_vanishing(connection: socket.socket) -> None:
    """Ends a connection whose other end has vanished without a word, as in a sleep or behind a lost network."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", SILENT_S), ("TCP_KEEPINTVL", max(1, SILENT_S // 3)), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):  # Linux has them all
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def describe_listen_error(host: str, port: int, error: Exception, option: str = "--port") -> str:
    """Why a server cannot listen at an address, and the cure; `option` is the one that sets the port."""
    place = f"port {port} of {host}"
    if isinstance(error, socket.gaierror):
        return f"--host {host}: no such host ({reason(error)})"
    if not isinstance(error, OSError):
        return f"{place}: {error}"
    code = error.errno
    if code is None and "address already in use" in str(error):  # asyncio merges the errors of several addresses
        code = errno.EADDRINUSE
    if code == errno.EADDRINUSE:
        return f"{place} is in use: end the program that listens there, or choose another port with {option}"
    if code == errno.EADDRNOTAVAIL:
        return f"--host {host} is not an address of this machine"
    return f"cannot listen on {place}: {reason(error)}"


def announce(host: str, text: str) -> None:
    """Prints where a server listens, after a warning if other machines can reach it."""
    if not is_loopback(host):
        warn(f"--host {host}: anyone who can reach this machine can take a seat")
    warn(f"listening on {text}; Ctrl-C ends the server")


def describe_connect_error(place: str, option: str, host: str, game: str, error: Exception) -> DancfrError:
    """The error to raise for a connection that failed: a UsageError if another address is needed.

    Args:
        place: The server, for the message.
        option: The option that names the server, with its value.
        host: The host of the server.
        game: What should be served there.
        error: Why the connection failed.
    """
    if isinstance(error, socket.gaierror):
        return UsageError(f"{option}: no such host as {host} ({reason(error)}): check its name")
    if isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error):
        return RunError(f"{place}: no server is there; start one with `dancfr serve {game}`")
    if isinstance(error, TimeoutError):
        return RunError(f"{place}: no answer: check host and port")
    return RunError(f"{place}: {reason(error) if isinstance(error, OSError) else error}")
