"""The Geister server: two ports, one for each player, and one game after the other."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AsyncExitStack
from dataclasses import dataclass

from dancfr.errors import UsageError, warn
from dancfr.serve.commands import wait_for_any
from dancfr.serve.geister.hosted_game import GameRecord, GameRules, HostedGame, SeatedAgent
from dancfr.serve.geister.line_link import LineLink, NoPlayer, TooLong
from dancfr.serve.geister.protocol import MAX_LINE_BYTES
from dancfr.serve.network import BURST, describe_listen_error, lengthen_queue, notice_vanishing
from dancfr.serve.thread import AgentThread

PORT_OPTIONS = ("--port", "--second-port")
"""The option that sets the port of each player."""

MAX_CONNECTIONS = 32
"""Connections at the same time. Two of them play; others belong to games that have just ended."""


@dataclass(frozen=True)
class ServerSettings:
    """How the server listens.

    Attributes:
        host, ports: Where to listen, the first player's port first; port 0 is any free one.
        games: End after this number of games; None continues until `stop`.
        pace_s: Shortest time between two lines to a player, in seconds.
    """

    host: str = "127.0.0.1"
    ports: tuple[int, int] = (10_000, 10_001)
    games: int | None = None
    pace_s: float = 0.0


class Lobby:
    """Seats players at one game at a time, and keeps the records.

    Args:
        rules: How games are played.
        agents: For each seat an agent; None is a seat for a user.
        settings: How many games to play in all, and at which pace.
        thread: Where agents think.

    Attributes:
        records: The records of all games so far.
        all_played: Is set when the last game has ended.
    """

    def __init__(
        self, rules: GameRules, agents: Sequence[SeatedAgent | None], settings: ServerSettings, thread: Executor
    ) -> None:
        self._rules = rules
        self._agents = agents
        self._games = settings.games
        self._pace_s = settings.pace_s
        self._thread = thread
        self._connections: set[asyncio.Task[None] | None] = set()
        self.records: list[GameRecord] = []
        self.all_played = asyncio.Event()
        self._game = self._new_game()

    def _new_game(self) -> HostedGame:
        return HostedGame(len(self.records) + 1, self._rules, self._agents, self._thread, self._close)

    def _close(self, game: HostedGame) -> None:
        """A game has ended: the next one can begin."""
        record = game.record
        self.records.append(record)
        won = "a draw" if record.winner is None else f"{record.names[record.winner]} (player {record.winner}) has won"
        outcome = f"{won}, {record.ending}" if record.ending else record.status
        warn(f"game {record.game}: {outcome}; {record.plies} plies")
        if self._games is not None and len(self.records) >= self._games:
            self.all_played.set()
        else:
            self._game = self._new_game()

    async def serve_player(self, player: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keeps a player at a seat for the lifetime of the connection; closes it immediately if the seat is taken."""
        game, link = self._game, LineLink(reader, writer, self._pace_s)
        if len(self._connections) >= MAX_CONNECTIONS or not game.join(player, link):
            writer.close()
            return
        task = asyncio.current_task()
        self._connections.add(task)
        try:
            async for line in link.lines():
                if link.closed:
                    break
                game.receive(player, line)
        except TooLong:
            game.expel(player)
        except NoPlayer:
            game.turn_away(player)
        except Exception as error:  # an error of the server itself: other games continue
            game.fail(player, error)
        finally:
            game.leave(player, link)
            await link.finish()
            self._connections.discard(task)

    async def stop(self) -> None:
        """Stops the current game, and waits for the end of all connections, for at most `line_link.CLOSE_S` after
        the last line."""
        self._games = len(self.records)
        self._game.stop()
        await asyncio.gather(*(task for task in self._connections if task is not None), return_exceptions=True)


async def run_server(
    settings: ServerSettings,
    rules: GameRules,
    agents: Sequence[SeatedAgent | None],
    stop: asyncio.Event,
    on_listening: Callable[[list[int | None]], None] = lambda ports: None,
) -> list[GameRecord]:
    """Serves until `stop` is set or all games are played.

    Args:
        settings: How to listen.
        rules: How games are played.
        agents: Agents by seat; the server does not listen on their ports.
        stop: Ends the server.
        on_listening: Is called with the port of each seat, None for an agent's, once users can connect.

    Returns:
        The record of each game.

    Raises:
        UsageError: The server cannot listen on a port.
    """
    ports: list[int | None] = [None, None]
    async with AsyncExitStack() as stack:
        lobby = Lobby(rules, agents, settings, stack.enter_context(AgentThread()))
        for player, port in enumerate(settings.ports):
            if agents[player] is None:
                server = await _listen(lobby, player, settings.host, port)
                await stack.enter_async_context(server)
                ports[player] = server.sockets[0].getsockname()[1]
        on_listening(ports)
        await wait_for_any(stop, lobby.all_played)
        await lobby.stop()
    return lobby.records


async def _listen(lobby: Lobby, player: int, host: str, port: int) -> asyncio.Server:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        notice_vanishing(writer.get_extra_info("socket"))  # before a game no clock runs
        await lobby.serve_player(player, reader, writer)

    try:
        server = await asyncio.start_server(handle, host, port, limit=MAX_LINE_BYTES, backlog=BURST)
    except (OSError, OverflowError) as error:
        raise UsageError(describe_listen_error(host, port, error, PORT_OPTIONS[player])) from None
    lengthen_queue(server)
    return server
