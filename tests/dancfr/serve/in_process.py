"""Servers with real sockets in the process of the test."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

Address = TypeVar("Address")
Record = TypeVar("Record")
Use = Callable[[Address, asyncio.Event], Awaitable[None]]

LIMIT_S = 120.0


def serve_while(
    use: Use[Address],
    run_server: Callable[[asyncio.Event, Callable[[Address], None]], Coroutine[Any, Any, list[Record]]],
    ends_by_itself: bool,
) -> list[Record]:
    """Runs a server while `use` runs with its address and the event that stops it, and returns the server's records.

    Args:
        use: Uses the server.
        run_server: Serves until the event is set; calls the other argument with the address.
        ends_by_itself: The server has to end without the event.
    """

    async def run() -> list[Record]:
        stop, address = asyncio.Event(), asyncio.get_running_loop().create_future()
        server = asyncio.ensure_future(run_server(stop, address.set_result))
        try:
            await use(await address, stop)
        except BaseException:
            stop.set()
            raise
        finally:
            if not ends_by_itself:
                stop.set()
            records = await server
        return records

    return asyncio.run(asyncio.wait_for(run(), LIMIT_S))
