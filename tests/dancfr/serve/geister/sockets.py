"""Geister servers with real sockets in this process, and users that send the lines of a test."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dancfr.serve.geister.hosted_game import GameRecord, GameRules, SeatedAgent
from dancfr.serve.geister.server import ServerSettings, run_server
from tests.dancfr.serve.in_process import Use, serve_while

NOBODY: tuple[SeatedAgent | None, SeatedAgent | None] = (None, None)
CALM = GameRules()
HASTY = GameRules(reserve=0.3, per_answer=0.2)
"""Clocks that soon run out."""


def serving(
    use: Use[list[int]],
    agents: Sequence[SeatedAgent | None] = NOBODY,
    rules: GameRules = CALM,
    games: int | None = None,
    folder: Path | None = None,
    pace: float = 0.0,
) -> list[GameRecord]:
    """See `serve_while`; `use` gets the ports of the server, 0 for the seat of an agent. The pace is in seconds."""

    settings, rules = ServerSettings(ports=(0, 0), games=games, pace_s=pace), replace(rules, records=folder)
    return serve_while(
        use,
        lambda stop, on_listening: run_server(
            settings,
            rules,
            agents,
            stop,
            lambda ports: on_listening([port or 0 for port in ports]),
        ),
        ends_by_itself=games is not None,
    )


class User:
    """A program at a seat that sends and receives lines."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def come(cls, port: int) -> "User":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    @classmethod
    async def seated(cls, port: int, reds: str = "ABCD") -> "User":
        """A user who has chosen colours."""
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
        """The next line; None if the server has closed or reset the connection."""
        line = b""
        with suppress(OSError):
            line = await asyncio.wait_for(self.reader.readline(), 20)
        if not line:
            return None
        assert line.endswith(b"\r\n")
        return line[:-2].decode("ascii")

    async def asked(self) -> str:
        """Receives the request for a move."""
        line = await self.hear()
        assert line is not None
        assert line.startswith("MOV?")
        return line

    async def rest(self) -> list[str]:
        """Receives all lines up to the end of the connection, and closes it."""
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
    """A game to its end, in which the first player wins immediately, since the second makes an illegal move."""
    first, second = await both(ports)
    await first.asked()
    first.say("MOV:A,N")
    assert await first.hear() == "OK "
    await second.asked()
    second.say("MOV:H,S")
    assert await second.hear() == "NG "
    assert [line[:4] for line in await second.rest()] == ["LST:"]
    assert [line[:4] for line in await first.rest()] == ["WON:"]
