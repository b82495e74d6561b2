"""The server: two ports, one for each player, and one game after the other."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from dancfr.errors import UsageError, warn
from dancfr.serve.commands import describe_no_listening
from dancfr.serve.geister.link import Link, TooLong
from dancfr.serve.geister.protocol import LINE_BYTES
from dancfr.serve.geister.table import Agent, Record, Table, TableRules
from dancfr.serve.records import Recorder

FIRST_PORT, SECOND_PORT = 10_000, 10_001
MOST_CLIENTS = 32
"""Connections at the same time; two of them play, others are those of games that have just ended."""


@dataclass(frozen=True)
class ServerSettings:
    """How the server listens.

    Attributes:
        host, ports: Where, the first player's port first; port 0 is any free one.
        games: End after so many games; None goes on until a signal comes.
    """

    host: str = "127.0.0.1"
    ports: tuple[int, int] = (FIRST_PORT, SECOND_PORT)
    games: int | None = None


class Hall:
    """Seats players at one table at a time, and keeps the records.

    Args:
        rules: How tables play.
        agents: For each seat an agent of ours; None is a seat for a user.
        games: How many games are to be played in all; None is any number.
        recorder: Where games are recorded.
    """

    def __init__(
        self, rules: TableRules, agents: Sequence[Agent | None], games: int | None, recorder: Recorder
    ) -> None:
        self._rules = rules
        self._agents = agents
        self._games = games
        self._recorder = recorder
        self._guests: set[asyncio.Task[None] | None] = set()
        self.records: list[Record] = []
        self.all_played = asyncio.Event()
        self._table = self._new_table()

    def _new_table(self) -> Table:
        return Table(len(self.records) + 1, self._rules, self._agents, self._close)

    def _close(self, table: Table) -> None:
        """A game has ended: the next one can begin."""
        record = table.record
        record.file = self._recorder.write(table.log)
        self.records.append(record)
        won = "a draw" if record.winner is None else f"{record.names[record.winner]} (player {record.winner}) has won"
        told = f"{won}, {record.ending}" if record.ending else record.status
        warn(f"game {record.game}: {told}; {record.plies} plies")
        if self._games is not None and len(self.records) >= self._games:
            self.all_played.set()
        else:
            self._table = self._new_table()

    async def receive(self, player: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keeps a player at a seat while the connection lasts; closes it at once where there is none."""
        table, link = self._table, Link(reader, writer)
        if len(self._guests) >= MOST_CLIENTS or not table.join(player, link):
            writer.close()
            return
        task = asyncio.current_task()
        self._guests.add(task)
        try:
            async for line in link.lines():
                if link.closed:
                    break
                table.hear(player, line)
        except TooLong:
            table.show_out(player)
        except Exception as error:  # the server's own fault: other games go on
            table.fail(player, error)
        finally:
            table.leave(player, link)
            await link.finish()
            self._guests.discard(task)

    async def stop(self) -> None:
        """Ends the game that is played, and lets all connections end, which takes no longer than `link.CLOSE_S`."""
        self._games = len(self.records)
        self._table.stop()
        await asyncio.gather(*(task for task in self._guests if task is not None), return_exceptions=True)


async def run_server(
    settings: ServerSettings,
    rules: TableRules,
    agents: Sequence[Agent | None],
    recorder: Recorder,
    stop: asyncio.Event,
    listening: Callable[[list[int | None]], None] = lambda ports: None,
) -> list[Record]:
    """Serves until `stop` is set or all games are played.

    Args:
        settings: How to listen.
        rules: How games are played.
        agents: Agents of ours by seat; at their ports nobody listens.
        recorder: Where games are recorded.
        stop: Ends the server.
        listening: Is told the port of each seat, None for an agent's, once users can connect.

    Returns:
        What came of each game.

    Raises:
        UsageError: it cannot listen there.
    """
    hall = Hall(rules, agents, settings.games, recorder)
    ports: list[int | None] = [None, None]
    async with AsyncExitStack() as stack:
        for player, port in enumerate(settings.ports):
            if agents[player] is None:
                server = await _listen(hall, player, settings.host, port)
                await stack.enter_async_context(server)
                ports[player] = server.sockets[0].getsockname()[1]
        listening(ports)
        waits = [asyncio.ensure_future(event.wait()) for event in (stop, hall.all_played)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        await hall.stop()
    return hall.records


async def _listen(hall: Hall, player: int, host: str, port: int) -> asyncio.Server:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hall.receive(player, reader, writer)

    try:
        return await asyncio.start_server(handle, host, port, limit=LINE_BYTES)
    except (OSError, OverflowError) as error:
        option = "--port" if player == 0 else "--second-port"
        raise UsageError(describe_no_listening(host, port, error, option)) from None
