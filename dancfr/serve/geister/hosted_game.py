"""One game of the server: two seats, their clocks and their messages."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from dancfr.errors import warn
from dancfr.runs.recorded_games import Player, Writer
from dancfr.serve.geister.client import Client
from dancfr.serve.geister.line_link import LineLink
from dancfr.serve.geister.protocol import ACCEPTED, MOVE_REQUEST, REFUSED, SETUP_REQUEST, is_move
from dancfr.serve.geister.referee import DISCONNECTED, NOISE, OUT_OF_TIME, RULES, Referee
from envs.geister import Geister

MAX_USELESS = 8
"""Lines of a game that answer no request, besides an illegal move, which loses immediately. The last of them loses."""

FAILED = "failed"

SeatedAgent = tuple[str, Client]
"""An agent at a seat: its name, and the client that plays all its games."""


@dataclass(frozen=True)
class GameRules:
    """How a game is played.

    Attributes:
        game: The rules of the board.
        reserve: Seconds that each player has for the whole game, including the choice of colours.
        per_answer: Seconds for each answer after that.
        records: Folder in which games are recorded, a file for each; None records none.
    """

    game: Geister = RULES
    reserve: float = 600.0
    per_answer: float = 10.0
    records: Path | None = None


@dataclass
class GameRecord:
    """The result of a game; `status` is playing, finished, stopped or failed.

    Attributes:
        winner: 0 or 1; None for a draw, and for a game that has not ended by the rules.
        ending: Why the game has ended.
        reserves: Seconds left of each player's reserve.
        file: The file with the recorded game.
    """

    game: int
    names: list[str]
    status: str = "playing"
    winner: int | None = None
    ending: str = ""
    plies: int = 0
    reserves: list[float] = field(default_factory=list)
    seconds: float = 0.0
    file: str | None = None


@dataclass
class Clock:
    """Runs while an answer is awaited. Times are in seconds, readings of one monotonic clock.

    Attributes:
        reserve: What is left of the time for the whole game.
        per_answer: What each answer may take beyond the reserve.
    """

    reserve: float
    per_answer: float
    _since: float | None = None

    def start(self, now: float) -> float:
        """Starts the clock at `now`, which may lie in the future, and returns how long the answer may take."""
        self._since = now
        return self.reserve + self.per_answer

    def stop(self, now: float) -> None:
        """Stops the clock, and takes the time since its start off the reserve. Has no effect on a stopped clock."""
        if self._since is not None:
            self.reserve = max(0.0, self.reserve - max(0.0, now - self._since))
            self._since = None


class HostedGame:
    """A game from the arrival of the first player to its end, whatever the players do. It begins when both players are
    connected: a player who leaves before that frees the seat, one who leaves later has lost.

    Args:
        number: From 1.
        rules: How to play.
        agents: For each seat an agent; None is a seat for a user.
        thread: Where agents think, so that users are served meanwhile.
        on_end: Is called once, when the game has ended.

    Attributes:
        record: The result so far.
    """

    def __init__(
        self,
        number: int,
        rules: GameRules,
        agents: Sequence[SeatedAgent | None],
        thread: Executor,
        on_end: Callable[["HostedGame"], None],
    ) -> None:
        self._rules = rules
        self._agents = list(agents)
        self._thread = thread
        self._asking: set[asyncio.Task[None]] = set()  # asyncio itself keeps no task alive
        self._on_end = on_end
        self._links: list[LineLink | None] = [None, None]
        self._referee = Referee(rules.game)
        self._clocks = [Clock(rules.reserve, rules.per_answer) for _ in range(2)]
        self._timers: list[asyncio.TimerHandle | None] = [None, None]
        self._useless = [0, 0]
        self._began: float | None = None
        self._writer: Writer | None = None
        self._written = 0
        self.record = GameRecord(number, ["", ""])

    @property
    def _connected(self) -> list[LineLink]:
        return [link for link in self._links if link is not None]

    def join(self, player: int, link: LineLink) -> bool:
        """Gives a user the seat of a player, and returns whether the seat was free."""
        if self._links[player] is not None or self._agents[player] is not None or self.record.status != "playing":
            return False
        self._links[player] = link
        self._send(player, SETUP_REQUEST)
        if len(self._connected) == self._agents.count(None):
            self._begin()
        return True

    def _begin(self) -> None:
        """Starts the clocks: both players are there."""
        self._began = time.monotonic()
        for player, agent in enumerate(self._agents):
            link = self._links[player]
            self.record.names[player] = agent[0] if agent is not None else link.name if link is not None else ""
        warn(f"game {self.record.game}: {' against '.join(self.record.names)}")
        for player in range(2):
            if self._agents[player] is not None:
                self._send(player, SETUP_REQUEST)
            elif not self._referee.chosen[player]:
                self._start_clock(player)

    def receive(self, player: int, text: str) -> None:
        """Handles a line from a player."""
        referee = self._referee
        if self.record.status != "playing":
            return
        if referee.mover == player and is_move(text):
            self._stop_clock(player)
            self._send(player, referee.move(text))
            self._continue()
        elif referee.choose(player, text):
            self._stop_clock(player)
            self._send(player, ACCEPTED)
            self._continue()
        else:
            self._send(player, REFUSED)
            self._useless[player] += 1
            if self._useless[player] >= MAX_USELESS:
                self.expel(player)

    def _continue(self) -> None:
        """Asks the next player for a move, or ends the game."""
        mover = self._referee.mover
        if self._referee.ending:
            self._end("finished")
        elif mover is not None:
            self._write()
            delay = self._send(mover, MOVE_REQUEST + self._referee.board(mover))
            if self._agents[mover] is None:
                self._start_clock(mover, delay)

    def expel(self, player: int) -> None:
        """Removes a player who has broken the limits, and who thereby loses a game that has begun."""
        if self._began is None:
            self._free_seat(player)
        else:
            self._referee.forfeit(player, NOISE)
            self._end("finished")

    def turn_away(self, player: int) -> None:
        """Takes the seat back from a web browser, which has played nothing; a game that has begun waits again, and
        takes no time from the players for that."""
        warn(f"game {self.record.game}: a web browser came to the seat of player {player}, and was turned away")
        if self._began is not None:
            self._began = None
            for each, agent in enumerate(self._agents):
                self._stop_clock(each)
                self._clocks[each].reserve = self._rules.reserve
                if agent is not None:
                    self._free_seat(each)
        self._free_seat(player)

    def leave(self, player: int, link: LineLink) -> None:
        """A connection has ended. Has no effect if the player has left the seat before."""
        if self._links[player] is not link or self.record.status != "playing":
            return
        if self._began is None:
            self._free_seat(player)
            return
        self._links[player] = None
        self._referee.forfeit(player, DISCONNECTED)
        self._end("finished")

    def _free_seat(self, player: int) -> None:
        """Removes all traces of a player who leaves before the game has begun."""
        link = self._links[player]
        self._links[player] = None
        self._referee.forget(player)
        self._useless[player] = 0
        if link is not None:
            link.close()

    def stop(self) -> None:
        """Stops the game. A game that has not begun leaves no record."""
        if self._began is not None:
            self._end("stopped")
            return
        self.record.status = "stopped"
        for link in self._connected:
            link.close()

    def fail(self, player: int, error: Exception) -> None:
        """An agent has failed, or the server while handling a line of a player: that player has lost."""
        warn(f"game {self.record.game}: {type(error).__name__} at the seat of player {player}: {error}")
        if self._began is None:
            self._free_seat(player)
        else:
            self._referee.forfeit(player, FAILED)
            self._end("failed")

    def _start_clock(self, player: int, delay: float = 0.0) -> None:
        """Starts a player's clock in `delay` seconds, when the request is sent: the pace takes no time from players."""
        allowed = self._clocks[player].start(time.monotonic() + delay)
        self._timers[player] = asyncio.get_running_loop().call_later(delay + allowed, self._run_out_of_time, player)

    def _stop_clock(self, player: int) -> None:
        self._clocks[player].stop(time.monotonic())
        timer, self._timers[player] = self._timers[player], None
        if timer is not None:
            timer.cancel()

    def _run_out_of_time(self, player: int) -> None:
        self._referee.forfeit(player, OUT_OF_TIME)
        self._end("finished")

    def _end(self, status: str) -> None:
        """Sends the result to both players, the winner first, and closes their connections."""
        record, referee = self.record, self._referee
        if record.status != "playing":
            return
        record.status, record.plies = status, referee.plies
        record.winner, record.ending = referee.winner, referee.ending
        for player in range(2):
            self._stop_clock(player)
        if referee.ending:
            for player in (1, 0) if referee.winner == 1 else (0, 1):
                if self._links[player] is not None or self._agents[player] is not None:
                    self._send(player, referee.result(player))
        for link in self._connected:
            link.close()
        assert self._began is not None
        record.seconds = round(time.monotonic() - self._began, 3)
        record.reserves = [round(clock.reserve, 3) for clock in self._clocks]
        self._write()
        writer = self._writer
        assert writer is not None
        if referee.ending:
            won = {None: (0.0, 0.0), 0: (1.0, -1.0), 1: (-1.0, 1.0)}[referee.winner]
            writer.end(referee.ending, won, self._written)
        record.file = None if writer.path is None else str(writer.path)
        self._on_end(self)

    def _write(self) -> None:
        """Records the decisions since the last call; those of a game begin with the colours of both players."""
        referee, board = self._referee, self._rules.game
        if self._writer is None:
            options = {"ply_limit": board.ply_limit, "random_setup": False, "forced_escape": board.forced_escape}
            players = [
                Player(kind="user" if agent is None else "agent", name=name)
                for name, agent in zip(self.record.names, self._agents, strict=True)
            ]
            self._writer = Writer(self._rules.records, "geister", options, 0, players)
        layouts = [layout for layout in referee.layouts if layout is not None]
        decisions = [*layouts, *referee.moves] if len(layouts) == 2 else []
        for ply in range(self._written, len(decisions)):
            label = f"layout {decisions[ply]}" if ply < 2 else board.describe(decisions[ply])
            self._writer.move(ply, ply % 2, decisions[ply], label, 0)
        self._written = len(decisions)

    def _send(self, player: int, line: str) -> float:
        """Sends a line, and returns in how many seconds it leaves the server."""
        link, agent = self._links[player], self._agents[player]
        if link is not None:
            return link.send(line)
        if agent is not None:
            task = asyncio.ensure_future(self._ask_agent(player, agent[1], line, self._began))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        return 0.0

    async def _ask_agent(self, player: int, client: Client, line: str, began: float | None) -> None:
        """Sends a line to an agent, and handles its answer, unless the game has been called off meanwhile."""
        try:
            answer = await asyncio.get_running_loop().run_in_executor(self._thread, client.receive, line)
        except Exception as error:  # whatever an agent does, the server continues with the next game
            self.fail(player, error)
            return
        if answer is not None and self._began == began:
            self.receive(player, answer)
