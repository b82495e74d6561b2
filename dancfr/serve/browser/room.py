"""The room: all tables of a server, the agents offered at them, and the thread in which agents think."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dancfr.agents.insight import DRAWS, History, consult
from dancfr.errors import UsageError, one_line
from dancfr.games.about import rules_of
from dancfr.runs.recorded_games import Player, Writer
from dancfr.serve.browser.displays import GENERAL, display_of, page_of
from dancfr.serve.browser.table import Plain, Seat, Step, Table
from dancfr.serve.commands import seed_of
from dancfr.serve.position import Position, actions_of, plain_action
from dancfr.values import count
from envs.agent import Agent
from envs.game import Game, GameBase, States

T = TypeVar("T")

GAME = "game"
"""Where a page finds the files of its game."""
RULES = "rules.html"
"""The page of the rules among these."""

_SWEEP_S = 30.0

_LEFT_S = 600.0
"""Seconds after which a game without pages makes way for a new one where all tables are taken."""

FEW_DRAWS = 16
"""Draws from which the policy of a bot of GuanDan is estimated: the slowest one takes 4 ms or more for each."""

MOST_MOVES = 20
"""Moves whose probability is shown, the likeliest ones."""


@dataclass(frozen=True)
class RoomSettings:
    """The game of the tables, and limits of their number.

    Attributes:
        name: Name of the game on the command line.
        options: Its options.
        agents: Names of the agents that may be chosen; the first ones are those of the command.
        seats: Agent of each seat of a new table, None for a user.
        seed: Seed of all tables.
        records: Folder for records; None writes none.
        pace: Least seconds between moves of agents.
        study: Whether users may see what agents think while they play.
        tables: Tables that may be open at the same time.
        idle_s: Seconds after which a table without pages is closed.
    """

    name: str
    options: dict[str, Any]
    agents: tuple[str, ...]
    seats: tuple[str | None, ...]
    seed: int = 0
    records: Path | None = None
    pace: float = 0.5
    study: bool = False
    tables: int = 64
    idle_s: float = 3600.0


class Room:
    """Opens tables and finds them by their keys.

    Args:
        game: The rules.
        settings: See `RoomSettings`.
        make_agent: Makes an agent for the game by its name.
        version_of: Says which version of an agent plays, for the records.
        thread: In which agents are made and move, one at a time.

    Attributes:
        page: The game's module for the browser; None if the general page shows it.
        rules: Markdown of the game's rules, with a section of this name; None if there is none.

    Raises:
        UsageError: see `page_of`.
    """

    def __init__(
        self,
        game: GameBase,
        settings: RoomSettings,
        make_agent: Callable[[str], Agent],
        thread: Executor,
        version_of: Callable[[str], str] = lambda name: "",
    ) -> None:
        self.game, self.settings = game, settings
        self._make_agent, self._thread = make_agent, thread
        self._display, self.page, self.rules = display_of(game), page_of(game), rules_of(game)
        self._tables: list[Table] = []
        self._opened = 0
        self._finished = 0
        self.first: Table | None = None
        self._recorded: Table | None = None
        self._agents: dict[str, Agent] = {}
        self._version_of = version_of
        self._stopping: set[asyncio.Future[None]] = set()

    def hello(self) -> Plain:
        """The first message to a page."""
        settings, spec = self.settings, self.game.spec
        return {
            "type": "hello",
            "game": settings.name,
            "page": GENERAL if self.page is None else f"{GAME}/{self.page.name}",
            "rules": None if self.rules is None else f"{GAME}/{RULES}#rules",
            "players": spec.num_players,
            "teams": list(spec.teams),
            "opposed": spec.constant_sum and len(set(spec.teams) or range(spec.num_players)) == 2,
            "agents": list(settings.agents),
            "seats": list(settings.seats),
            "study": settings.study,
            "table": None if self.first is None else self.first.spectator,
        }

    def open(self, agents: Sequence[str | None], left: Table | None = None) -> tuple[Table, int | None]:
        """Opens a table with an agent or a user, None, in each seat.

        Args:
            agents: Who sits there, by seat.
            left: The table that the page which asks leaves without any page. Where all tables are taken it makes way,
                unless another user plays there.

        Returns:
            The table, and the first user's seat; None if there is no user.

        Raises:
            UsageError: the agents do not fit the game, or too many tables are open.
        """
        players = self.game.spec.num_players
        if len(agents) != players:
            raise UsageError(f"{self.settings.name} has {players} seats, not {len(agents)}")
        for name in agents:
            if name is not None and name not in self.settings.agents:
                raise UsageError(f"{name!r} is none of the agents that were offered")
        seed = seed_of(self.settings.seed, self._opened)
        given_up = left
        if left is not None and not left.spare and sum(each.agent is None for each in left.seats) > 1:
            given_up = None  # another user plays there
        return self._add(Position(self.game, seed), agents, (), given_up)

    def branch(self, table: Table, ply: int, seat: int, left: Table | None = None) -> tuple[Table, int | None]:
        """Opens a table that continues from an earlier position of another one, with a user in one seat.

        Where all tables are taken, `left` makes way for it if its game has ended, see `open`.

        Raises:
            UsageError: the game that is played must not be looked into, it has ended at this position, or there is no
                such seat.
        """
        if not table.studied:
            raise UsageError("another line can be played once the game has ended, or with --study")
        if seat >= len(table.seats):
            raise UsageError(f"there is no seat {seat}")
        position = table.position.earlier(table.states(ply), ply)
        if position.over:
            raise UsageError("the game has ended in this position: go back to an earlier one, and play on from there")
        offered = self.settings.agents
        sitting = [each.agent for each in table.seats if each.agent in offered]
        agents: list[str | None] = [
            each.agent if each.agent in offered else (sitting or offered)[0] for each in table.seats
        ]
        agents[seat] = None
        given_up = left if left is not None and left.spare else None
        return self._add(position, agents, table.steps[:ply], given_up)

    def show(self, position: Position, steps: Sequence[Step], names: Sequence[str]) -> Table:
        """Opens a recorded game read-only."""
        seats = [Seat(name) for name in names]
        table = self._make_table(position, seats, steps, Writer(None, "", {}, 0, ()))
        table.set_pace(self.settings.pace, True)
        self._tables.append(table)
        self.first = self._recorded = table
        return table

    def watch(self) -> Table:
        """Opens the agents-only table that all visitors watch."""
        table, _ = self._add(Position(self.game, seed_of(self.settings.seed, 0)), self.settings.seats, ())
        self.first = table
        return table

    def _add(
        self,
        position: Position,
        agents: Sequence[str | None],
        steps: Sequence[Step],
        given_up: Table | None = None,
    ) -> tuple[Table, int | None]:
        most = self.settings.tables
        if len(self._tables) >= most:
            self._make_way(given_up)
        if len(self._tables) >= most:
            open_now = f"{count(most, 'table')} {'is' if most == 1 else 'are'} open"
            raise UsageError(f"{open_now}: close the page of another one first")
        seats = [Seat(name) for name in agents]
        players = [
            Player(kind="user", name="user")
            if name is None
            else Player(kind="agent", name=name, version=self._version_of(name))
            for name in agents
        ]
        settings = self.settings
        writer = Writer(settings.records, settings.name, settings.options, position.seed, players, position.deal)
        later = [*(step.states for step in steps[1:]), position.states]
        for ply, (step, after) in enumerate(zip(steps, later, strict=False)):
            event = self._display.event(step.states[0], step.action, after[0], None)
            writer.move(ply, step.player, plain_action(step.action), str(event["label"]), step.ms)
        table = self._make_table(position, seats, steps, writer)
        self._tables.append(table)
        self._opened += 1
        table.start()
        return table, next((seat for seat, name in enumerate(agents) if name is None), None)

    def _make_table(self, position: Position, seats: Sequence[Seat], steps: Sequence[Step], writer: Writer) -> Table:
        alone = sum(seat.agent is None for seat in seats) < 2  # no user may look into another user's opponent
        study, pace = self.settings.study and alone, self.settings.pace
        return Table(position, self._display, seats, self._agent, self._think, writer, pace, study, steps)

    def find(self, key: str) -> tuple[Table, int | None]:
        """The table and the seat that a key opens; the seat is None for spectators.

        Raises:
            UsageError: no table has this key, or it admits no spectators.
        """
        for table in self._tables:
            for number, seat in enumerate(table.seats):
                if seat.key == key and seat.agent is None:
                    return table, number
            if table.spectator == key and table.open:
                return table, None
        raise UsageError("this table has been closed: begin a new game")

    def _agent(self, name: str) -> Any:
        """An agent, loaded once: seats play with copies of it. Runs in the thread of the agents."""
        if name not in self._agents:
            self._agents[name] = self._make_agent(name)
        return self._agents[name]

    async def _think(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def consult(self, table: Table, ply: int) -> Plain | None:
        """An agent's thoughts at a position of a table; None if no player is to move there or no agent can be asked.

        The agent is the one whose move it is or, at a user's move, the first one at the table: what it would do there.

        Returns:
            ``agent``; ``moves``, the choices of the player to move with their ``probability``, ``value``, ``prior`` and
            whether they were ``played``; and what `dancfr.agents.insight.Insight` has beside them.
        """
        states = table.states(ply)
        mover = int(self.game.to_move(states)[0])
        if mover < 0:
            return None
        offered = [seat.agent for seat in table.seats if seat.agent in self.settings.agents]
        own = table.seats[mover].agent
        name = own if own in self.settings.agents else (offered or self.settings.agents)[0]
        played = table.steps[ply].action if ply < len(table.steps) else None
        history = [(step.states, step.action) for step in table.steps[:ply] if step.player == mover]
        seed = seed_of(table.position.seed, ply, mover)
        return await self._think(lambda: self._consult(name, states, history, played, seed))

    def _consult(self, name: str, states: States, history: History, played: Any, seed: int) -> Plain:
        """See `consult`. Runs in the thread of the agents."""
        try:
            draws = DRAWS if isinstance(self.game, Game) else FEW_DRAWS
            rng = np.random.default_rng(seed)
            insight = consult(self._agent(name), self.game, states, history, rng, draws).to_json()
        except Exception as error:  # whatever an agent does: the game continues without its advice
            return {"agent": name, "moves": [], "failed": one_line(error)}
        moves = self._display.choices(states)
        for name_of_list, field in (
            ("policy", "probability"),
            ("values", "value"),
            ("prior", "prior"),
            ("tries", "tries"),
        ):
            for move, each in zip(moves, insight.pop(name_of_list) or [None] * len(moves), strict=True):
                move[field] = each
        actions = actions_of(self.game, states)
        for move, action in zip(moves, actions, strict=True):
            move["played"] = played is not None and bool(action == played)
        moves.sort(key=lambda move: -(move["probability"] or 0.0))
        shown = [move for place, move in enumerate(moves) if place < MOST_MOVES or move["played"]]
        return {"agent": name, "moves": shown, "left_out": len(moves) - len(shown), **insight}

    async def sweep(self) -> None:
        """Closes idle tables, in a loop."""
        while True:
            await asyncio.sleep(_SWEEP_S)
            self._drop_idle(self.settings.idle_s)

    def _make_way(self, given_up: Table | None) -> None:
        """Closes tables without pages at which no user has moved, so that a page cannot fill the room by itself; and
        the table that its last page gives up."""
        self._drop_idle(_LEFT_S)
        for table in list(self._tables):
            if table is not self.first and (table is given_up or (table.empty and table.spare)):
                self._drop(table)

    def _drop_idle(self, seconds: float) -> None:
        """Closes tables without pages: those that have ended, and those left alone for some time."""
        now = time.monotonic()
        for table in list(self._tables):
            if table is not self.first and table.empty and (table.ended or now - table.used > seconds):
                self._drop(table)

    def _drop(self, table: Table) -> None:
        self._tables.remove(table)
        self._finished += table.position.over
        stopping = asyncio.ensure_future(table.stop())
        self._stopping.add(stopping)
        stopping.add_done_callback(self._stopping.discard)

    async def close(self) -> None:
        """Ends all tables."""
        await asyncio.gather(*(table.stop() for table in self._tables))

    def summary(self) -> Plain:
        """How many tables there were, and how many of their games have ended; a recorded game is none of them."""
        ended = self._finished + sum(table.position.over for table in self._tables if table is not self._recorded)
        return {"tables": self._opened, "finished": ended}


__all__ = ["GAME", "Room", "RoomSettings"]
