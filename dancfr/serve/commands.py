"""What servers and clients of any game share: where they listen, who sits where, and how a signal ends them."""

import asyncio
import errno
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from dancfr.errors import UsageError, nearest, reason, warn
from dancfr.watch.progress import COMPILING

NO_AGENT = "-"
LONGEST_S = 1e6
"""Times of options are below that."""

SILENT_S = 4.0
"""Kernels that are cached are loaded in less."""

GAMES = ("geister", "guandan")
"""Games that have a competition, by whose messages they can be served."""

T = TypeVar("T")


def check_game(game: str, games: tuple[str, ...] = GAMES) -> None:
    """Refuses games that have no messages."""
    if game not in games:
        raise UsageError(nearest(game, games, "game with the competition's messages"))


def split_agents(text: str, seats: int = 4) -> list[str | None]:
    """Names of agents by seat, None for users: ``-,planner,-,planner``, or fewer names for the last seats.

    Raises:
        UsageError: more names than seats, or no seat left for a user.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if len(parts) > seats:
        raise UsageError(f"--agents names {len(parts)} seats, but there are {seats}")
    names = [None] * (seats - len(parts)) + [None if part in ("", NO_AGENT) else part for part in parts]
    if None not in names:
        raise UsageError("--agents leaves no seat for a user: use `dancfr evaluate` to let agents play one another")
    return names


def check_port(port: int, option: str = "--port") -> None:
    """Refuses what is no port; 0 is any free one.

    Raises:
        UsageError: it is none.
    """
    if not 0 <= port <= 65_535:
        raise UsageError(f"{option} must be from 0 to 65535, not {port}")


def check_seconds(option: str, seconds: float) -> None:
    """Refuses a time that is none, or no time at all.

    Raises:
        UsageError: it is out of range, or no number.
    """
    if not 0 < seconds < LONGEST_S:
        raise UsageError(f"{option} must be above 0 and below {LONGEST_S:,.0f}, not {seconds:g}")


async def check_listening(host: str, port: int, option: str = "--port") -> None:
    """Tells at once what a server would tell only when all is ready.

    Raises:
        UsageError: it cannot listen there.
    """
    try:
        probe = await asyncio.start_server(lambda reader, writer: writer.close(), host, port)
    except (OSError, OverflowError) as error:
        raise UsageError(describe_no_listening(host, port, error, option)) from None
    probe.close()
    await probe.wait_closed()


def describe_no_listening(host: str, port: int, error: Exception, option: str = "--port") -> str:
    """Why a server cannot listen at a place, and what to do; `option` is the one that says the port."""
    place = f"port {port} of {host}"
    if isinstance(error, socket.gaierror):
        return f"--host {host}: no such host ({reason(error)})"
    if not isinstance(error, OSError):
        return f"{place}: {error}"
    code = error.errno
    if code is None and "address already in use" in str(error):  # asyncio puts several failures into one
        code = errno.EADDRINUSE
    if code == errno.EADDRINUSE:
        return f"{place} is in use: end what listens there, or choose another with {option}"
    if code == errno.EADDRNOTAVAIL:
        return f"--host {host} is no address of this machine"
    return f"cannot listen on {place}: {reason(error)}"


@contextmanager
def telling_of_compiling() -> Iterator[None]:
    """Says so where the block takes long, since kernels are compiled in it."""
    slow = threading.Timer(SILENT_S, warn, [COMPILING])
    slow.start()
    try:
        yield
    finally:
        slow.cancel()


def run_until_signal(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine with an event that Ctrl-C and SIGTERM set; the second signal ends at once.

    Returns:
        What the coroutine returns; what it raises goes on to the caller.
    """

    async def run() -> T:
        """What `main` returns; the handlers are of the loop that it runs in."""
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)

        def asked() -> None:
            """The first signal; the next one takes its usual way."""
            stop.set()
            for number in signals:
                loop.remove_signal_handler(number)

        with suppress(NotImplementedError, ValueError, RuntimeError):  # not in the main thread
            for number in signals:
                loop.add_signal_handler(number, asked)
        return await main(stop)

    return asyncio.run(run())
