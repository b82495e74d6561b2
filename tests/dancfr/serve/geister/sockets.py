"""Servers with real sockets in this process, and users of them that say what a test wants."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from dancfr.serve.geister.server import ServerSettings, run_server
from dancfr.serve.geister.table import Agent, Record, TableRules
from dancfr.serve.records import Recorder

Use = Callable[[list[int], asyncio.Event], Awaitable[None]]
NOBODY: tuple[Agent | None, Agent | None] = (None, None)
CALM = TableRules()
HASTY = TableRules(reserve=0.3, per_answer=0.2)
"""Clocks for those who are to lose on time."""


def serving(
    use: Use,
    agents: Sequence[Agent | None] = NOBODY,
    rules: TableRules = CALM,
    games: int | None = None,
    folder: Path | None = None,
) -> list[Record]:
    """Runs a server, and `use` with its ports (0 for a seat of an agent) and what stops it; what came of its games.

    With `games` it has to end by itself.
    """

    async def run() -> list[Record]:
        loop = asyncio.get_running_loop()
        stop, heard = asyncio.Event(), loop.create_future()
        settings = ServerSettings(ports=(0, 0), games=games)
        server = asyncio.ensure_future(
            run_server(settings, rules, agents, Recorder(folder), stop, heard.set_result),
        )
        try:
            await use([port or 0 for port in await heard], stop)
        except BaseException:
            stop.set()
            raise
        finally:
            if games is None:
                stop.set()
            records = await server
        return records

    return asyncio.run(asyncio.wait_for(run(), 120))


class User:
    """A program at a seat that says lines and hears them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def come(cls, port: int) -> "User":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    @classmethod
    async def seated(cls, port: int, reds: str = "ABCD") -> "User":
        """One who has chosen colours."""
        user = await cls.come(port)
        assert await user.hear() == "SET?"
        user.say(f"SET:{reds}")
        assert await user.hear() == "OK "
        return user

    def say(self, *lines: str) -> None:
        self.send("".join(f"{line}\r\n" for line in lines).encode())

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def hear(self) -> str | None:
        """The next line; None where the server has closed its side, or cut the connection."""
        line = b""
        with suppress(OSError):
            line = await asyncio.wait_for(self.reader.readline(), 20)
        if not line:
            return None
        assert line.endswith(b"\r\n")
        return line[:-2].decode("ascii")

    async def asked(self) -> str:
        """Hears that a move is asked for."""
        line = await self.hear()
        assert line is not None
        assert line.startswith("MOV?")
        return line

    async def rest(self) -> list[str]:
        """All that is still to be heard, to the end of the connection, which is then closed."""
        heard = []
        while (line := await self.hear()) is not None:
            heard.append(line)
        await self.go()
        return heard

    async def go(self) -> None:
        """Closes the connection."""
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()


async def both(ports: list[int]) -> tuple[User, User]:
    """Two users with colours; the first one is asked to move."""
    return await User.seated(ports[0]), await User.seated(ports[1], "EFGH")


async def play_out(ports: list[int]) -> None:
    """A game to its end, in which the first player wins at once, since the second makes an illegal move."""
    first, second = await both(ports)
    await first.asked()
    first.say("MOV:A,N")
    assert await first.hear() == "OK "
    await second.asked()
    second.say("MOV:H,S")
    assert await second.hear() == "NG "
    assert [line[:4] for line in await second.rest()] == ["LST:"]
    assert [line[:4] for line in await first.rest()] == ["WON:"]
