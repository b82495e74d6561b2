"""One game of the server: two seats, their clocks, and what is said."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dancfr.errors import warn
from dancfr.serve.clock import MOVE_S, TOTAL_S, Clock
from dancfr.serve.geister.client import Client
from dancfr.serve.geister.link import Link
from dancfr.serve.geister.protocol import ACCEPTED, MOVE_ASKED, REFUSED, SET_ASKED, is_move
from dancfr.serve.geister.referee import GONE, NOISE, OUT_OF_TIME, RULES, Referee
from envs.geister import Geister

MOST_USELESS = 8
"""Lines a game that answer nothing, besides a bad move, which loses at once; with the last of them the game is lost."""

FAILED = "failed"

Agent = tuple[str, Client]
"""An agent of ours at a seat: its name, and who plays for it in all games."""


@dataclass(frozen=True)
class TableRules:
    """How a game is played.

    Attributes:
        game: The rules of the board.
        reserve: Seconds that each player has in all, the choice of colours included.
        per_answer: Seconds for each answer after that.
    """

    game: Geister = RULES
    reserve: float = TOTAL_S
    per_answer: float = MOVE_S


@dataclass
class Record:
    """What came of a game; `status` is playing, finished, stopped or failed.

    Attributes:
        winner: 0 or 1; None for a draw, and where the game has not ended.
        ending: Why it has ended.
        reserves: Seconds that were left to each player of the time in all.
        file: Where it is recorded.
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

    def as_result(self) -> dict[str, Any]:
        """For `--json`."""
        return dict(vars(self))


class Table:
    """A game from the first player who comes to its end, whatever players do. It begins when both are there: who goes
    before that leaves a free seat, who goes later has lost.

    Args:
        number: From 1.
        rules: How to play.
        agents: For each seat an agent of ours; None is a seat for a user.
        over: Is called once, when the game has ended.
    """

    def __init__(
        self, number: int, rules: TableRules, agents: Sequence[Agent | None], over: Callable[["Table"], None]
    ) -> None:
        self._agents = list(agents)
        self._over = over
        self._links: list[Link | None] = [None, None]
        self._referee = Referee(rules.game)
        self._clocks = [Clock(rules.reserve, rules.per_answer) for _ in range(2)]
        self._timers: list[asyncio.TimerHandle | None] = [None, None]
        self._useless = [0, 0]
        self._began: float | None = None
        self.log: list[str] = []
        self.record = Record(number, ["", ""])

    @property
    def links(self) -> list[Link]:
        """Connections of those who sit here."""
        return [link for link in self._links if link is not None]

    def join(self, player: int, link: Link) -> bool:
        """A user has come; whether the seat is free."""
        if self._links[player] is not None or self._agents[player] is not None or self.record.status != "playing":
            return False
        self._links[player] = link
        self._tell(player, SET_ASKED)
        if len(self.links) == self._agents.count(None):
            self._begin()
        return True

    def _begin(self) -> None:
        """Both are there: clocks run."""
        self._began = time.monotonic()
        for player, agent in enumerate(self._agents):
            link = self._links[player]
            self.record.names[player] = agent[0] if agent is not None else link.name if link is not None else ""
        warn(f"game {self.record.game}: {' against '.join(self.record.names)}")
        for player in range(2):
            if self._agents[player] is not None:
                self._tell(player, SET_ASKED)
            elif not self._referee.chosen[player]:
                self._start_clock(player)

    def hear(self, player: int, text: str) -> None:
        """A line from a player."""
        referee = self._referee
        if self.record.status != "playing":
            return
        self.log.append(f"{player}> {text}")
        if referee.mover == player and is_move(text):
            self._stop_clock(player)
            self._tell(player, referee.move(text))
            self._go_on()
        elif referee.choose(player, text):
            self._stop_clock(player)
            self._tell(player, ACCEPTED)
            self._go_on()
        else:
            self._tell(player, REFUSED)
            self._useless[player] += 1
            if self._useless[player] >= MOST_USELESS:
                self.show_out(player)

    def _go_on(self) -> None:
        """Asks whoever is to move, or tells of the end."""
        mover = self._referee.mover
        if self._referee.ending:
            self._finish("finished")
        elif mover is not None:
            if self._agents[mover] is None:
                self._start_clock(mover)
            self._tell(mover, MOVE_ASKED + self._referee.board(mover))

    def show_out(self, player: int) -> None:
        """A player has broken the limits."""
        if self._began is None:
            self._free(player)
        else:
            self._referee.forfeit(player, NOISE)
            self._finish("finished")

    def leave(self, player: int, link: Link) -> None:
        """A connection has ended; that of one who has left already means nothing."""
        if self._links[player] is not link or self.record.status != "playing":
            return
        if self._began is None:
            self._free(player)
            return
        self._links[player] = None
        self._referee.forfeit(player, GONE)
        self._finish("finished")

    def _free(self, player: int) -> None:
        """The seat of one who goes before the game has begun: nothing remains of him."""
        link = self._links[player]
        self._links[player] = None
        self._referee.forget(player)
        self._useless[player] = 0
        self.log = [line for line in self.log if not line.startswith(str(player))]
        if link is not None:
            link.close()

    def stop(self) -> None:
        """Ends the game as it stands; one that has not begun is none, and will be none."""
        if self._began is not None:
            self._finish("stopped")
            return
        self.record.status = "stopped"
        for link in self.links:
            link.close()

    def fail(self, player: int, error: Exception) -> None:
        """An agent of ours has failed, or the server at what a player said: that player has lost."""
        warn(f"game {self.record.game}: {type(error).__name__} at the seat of player {player}: {error}")
        if self._began is None:
            self._free(player)
        else:
            self._referee.forfeit(player, FAILED)
            self._finish("failed")

    def _start_clock(self, player: int) -> None:
        allowed = self._clocks[player].start(time.monotonic())
        self._timers[player] = asyncio.get_running_loop().call_later(allowed, self._time_is_up, player)

    def _stop_clock(self, player: int) -> None:
        self._clocks[player].stop(time.monotonic())
        timer, self._timers[player] = self._timers[player], None
        if timer is not None:
            timer.cancel()

    def _time_is_up(self, player: int) -> None:
        self._referee.forfeit(player, OUT_OF_TIME)
        self._finish("finished")

    def _finish(self, status: str) -> None:
        """Tells both of the end, the winner first, and closes their connections."""
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
                    self._tell(player, referee.result(player))
        for link in self.links:
            link.close()
        assert self._began is not None
        record.seconds = round(time.monotonic() - self._began, 3)
        record.reserves = [round(clock.reserve, 3) for clock in self._clocks]
        self._over(self)

    def _tell(self, player: int, line: str) -> None:
        self.log.append(f"{player}< {line}")
        link, agent = self._links[player], self._agents[player]
        if link is not None:
            link.send(line)
        elif agent is not None:
            asyncio.get_running_loop().call_soon(self._tell_agent, player, agent[1], line)

    def _tell_agent(self, player: int, client: Client, line: str) -> None:
        """Lets an agent of ours answer; others' lines come in between."""
        try:
            answer = client.receive(line)
        except Exception as error:  # whatever an agent does, the server goes on with the next game
            self.fail(player, error)
            return
        if answer is not None:
            self.hear(player, answer)
