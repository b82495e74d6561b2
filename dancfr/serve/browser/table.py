"""A table: one game, its seats and its spectators. The table is the only one that knows hidden things."""

import asyncio
import secrets
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from dancfr.agents.insight import bring
from dancfr.errors import UsageError, one_line, warn
from dancfr.evaluation.sides import Teams, sides_of
from dancfr.runs.recorded_games import Writer
from dancfr.serve.browser.displays import Display, offered
from dancfr.serve.position import Position, agent_stream, plain_action
from envs.display import Secretive
from envs.game import States

Plain = dict[str, Any]

Think = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a function in the thread of the agents and returns its result."""


class Onlooker(Protocol):
    """A page at a table."""

    def send(self, message: Plain) -> None:
        """Queues a message."""
        ...


@dataclass
class Seat:
    """A seat.

    Attributes:
        agent: Name of the agent; None is a user.
        key: Who knows it may sit here.
    """

    agent: str | None
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))


class Step(NamedTuple):
    """A move: the states before it, the player who made it, the action, and its milliseconds."""

    states: States
    player: int
    action: Any
    ms: int


class Table:
    """Plays one game to its end.

    Args:
        position: The game, perhaps some moves after its start.
        display: Writes it down for viewers.
        seats: A seat for each player.
        load_agent: Loads an agent by its name, in the thread of the agents; seats play with copies of it.
        think: Runs functions in that thread.
        writer: Records the game.
        pace: Least seconds between two moves of agents.
        study: Whether users may see what agents think while the game runs.
        steps: The moves before the present position.

    Attributes:
        seats: As given.
        spectator: Key of spectators; they see everything, so it opens nothing while a user plays.
        used: When a user was last at the table, by `time.monotonic`.
        failed: Why the game cannot continue; empty while nothing is wrong.
        begun: Whether a user has made a move.
    """

    def __init__(
        self,
        position: Position,
        display: Display,
        seats: Sequence[Seat],
        load_agent: Callable[[str], Any],
        think: Think,
        writer: Writer,
        pace: float = 0.5,
        study: bool = False,
        steps: Sequence[Step] = (),
    ) -> None:
        self.position, self.seats = position, list(seats)
        self.spectator = secrets.token_urlsafe(12)
        self.used = time.monotonic()
        self.failed = ""
        self.begun = False
        self._display, self._writer = display, writer
        self._load_agent, self._think = load_agent, think
        self._agents: dict[int, Any] = {}
        self._streams = [agent_stream(position.seed, player) for player in range(len(self.seats))]
        self._pace, self._paused, self._study = pace, False, study
        self._steps: list[Step] = []
        self._told: list[list[int]] = [[] for _ in self.seats]  # by player: plies of the decisions that are told
        for step, after in zip(steps, [*(step.states for step in steps[1:]), position.states], strict=False):
            self._add(step, after)
        self._onlookers: dict[Onlooker, int | None] = {}
        self._wake = asyncio.Event()
        self._asked_at = time.monotonic()
        self._task: asyncio.Task[None] | None = None

    @property
    def steps(self) -> list[Step]:
        """All moves so far."""
        return self._steps

    @property
    def open(self) -> bool:
        """Whether everything may be shown: the game has ended, or no user plays it."""
        return self.position.over or all(seat.agent is not None for seat in self.seats)

    @property
    def ended(self) -> bool:
        """Whether the game is over, or cannot continue."""
        return self.position.over or bool(self.failed)

    @property
    def spare(self) -> bool:
        """Whether the table may be closed once it has no spectators: no user has moved yet, or it has ended."""
        return not self.begun or self.ended

    @property
    def studied(self) -> bool:
        """Whether users may see the agents' thoughts."""
        return self.open or self._study

    @property
    def empty(self) -> bool:
        """Whether the table has no spectators."""
        return not self._onlookers

    def has_only(self, onlooker: Onlooker) -> bool:
        """Whether the table will be empty once this spectator or player has gone."""
        return self._onlookers.keys() == {onlooker}

    def start(self) -> None:
        """Lets the agents play."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Ends the table; its record keeps the moves played."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def viewer_of(self, seat: int | None) -> int | None:
        """The viewpoint of a seat: its player's while the game runs, full information afterwards."""
        return None if self.open else seat

    def join(self, onlooker: Onlooker, seat: int | None) -> None:
        """Adds a player or a spectator and sends the game so far."""
        self._onlookers[onlooker] = seat
        self.used = time.monotonic()
        onlooker.send(self._message(seat, 0))
        self._wake.set()

    def leave(self, onlooker: Onlooker) -> None:
        """Removes a player or a spectator who has gone."""
        self._onlookers.pop(onlooker, None)
        self.used = time.monotonic()

    def play(self, seat: int | None, ply: int, choice: int) -> str:
        """Plays a user's choice after the `ply` decisions that the user was told of.

        Returns:
            Why it cannot be played, or nothing.
        """
        if seat is None or self.seats[seat].agent is not None:
            return "you only watch at this table"
        if self.ended:
            return "the game has ended"
        if ply != len(self._plies(seat)) or seat != self.position.mover:
            return "it is not your turn"
        if choice >= len(self.position.actions):
            return f"there are {len(self.position.actions)} choices, and this is number {choice}"
        self.begun = True
        try:
            self._play(self.position.actions[choice])
        except Exception as error:  # rules of other packages, such as a PettingZoo environment's
            self._fail("the game", error)
        self._wake.set()
        return ""

    def _fail(self, who: str, error: Exception) -> None:
        """Ends the game, whatever the reason; other tables continue."""
        self.failed = f"{who} has failed: {one_line(error)}"
        warn(self.failed)
        self._tell(self.position.ply)

    def set_pace(self, seconds: float, paused: bool) -> None:
        """Sets the time between the moves of agents."""
        self._pace, self._paused = seconds, paused
        self._wake.set()
        self._tell(self.position.ply)

    def look(self, seat: int | None, told: int) -> Plain:
        """The position after the first `told` decisions that a seat is told of, with the move that led to it.

        Raises:
            UsageError: there are fewer.
        """
        viewer = self.viewer_of(seat)
        scene = self._display.scene(self.states(self.ply_at(seat, told))[0], viewer)
        event = self._event(told - 1, viewer) if told > 0 else None
        return {"type": "at", "ply": told, "scene": scene, "event": event, "insight": None}

    def ply_at(self, seat: int | None, told: int) -> int:
        """The ply of the next decision that a seat is told of after `told` others.

        Raises:
            UsageError: there are fewer.
        """
        plies = self._plies(seat)
        if told > len(plies):
            raise UsageError(f"there are {len(plies)} moves, and this is number {told}")
        return plies[told] if told < len(plies) else self.position.ply

    def _plies(self, seat: int | None) -> Sequence[int]:
        """Plies of the decisions that a seat is told of."""
        viewer = self.viewer_of(seat)
        return range(self.position.ply) if viewer is None else self._told[viewer]

    def states(self, ply: int) -> States:
        """The state before decision `ply`, `[1]`."""
        return self.position.states if ply == self.position.ply else self._steps[ply].states

    async def _run(self) -> None:
        """Lets agents move until the game is over. Waits for users, and while there are no spectators."""
        while not self.ended:
            seat = self.seats[self.position.mover]
            if seat.agent is None or self._paused or self.empty:
                await self._wake.wait()
                self._wake.clear()
                continue
            try:
                await self._move_agent(self.position.mover, seat.agent)
            except Exception as error:  # whatever an agent does
                self._fail(seat.agent, error)
                return

    async def _move_agent(self, player: int, name: str) -> None:
        started = time.monotonic()
        states, stream = self.position.states.copy(), self._streams[player]
        action = await self._think(lambda: self._ask(player, name, states, stream))
        taken = time.monotonic() - started
        # A new pace counts immediately, and a pause holds the move back.
        while self._paused or (rest := self._pace - (time.monotonic() - started)) > 0:
            await asyncio.sleep(0.1 if self._paused else min(rest, 0.1))
        self._play(action, round(1000 * taken))

    def _ask(self, player: int, name: str, states: States, stream: Any) -> Any:
        """The move of the agent in a seat. Runs in the thread of the agents, which brings it to the game at first."""
        if player not in self._agents:
            earlier = [(step.states, step.action) for step in self._steps if step.player == player]
            self._agents[player] = bring(self._load_agent(name), self.position.game, earlier, stream)
        return self._agents[player].act(states, np.zeros(1, np.int64), stream)[0]

    def _play(self, action: Any, ms: int | None = None) -> None:
        """Plays an action, writes it down, and sends it to all viewers."""
        position = self.position
        before, player = position.states, position.mover
        taken = round(1000 * (time.monotonic() - self._asked_at)) if ms is None else ms
        position.play(action)
        self._add(Step(before, player, action, taken), position.states)
        self._asked_at = self.used = time.monotonic()
        label = str(self._display.event(before[0], action, position.states[0], None)["label"])
        self._writer.move(position.ply - 1, player, plain_action(action), label, taken)
        if position.over:
            self._writer.end(str(position.ending), position.returns, position.ply)
        # At the end the moves are told again from the first one, since now nothing about them is hidden.
        self._tell(0 if position.over else position.ply - 1)

    def _add(self, step: Step, after: States) -> None:
        """Writes down a move, for those who are told of it."""
        for player, plies in enumerate(self._told):
            display = self._display
            if not isinstance(display, Secretive) or display.told(step.states[0], step.action, after[0], player):
                plies.append(len(self._steps))
        self._steps.append(step)

    def _event(self, number: int, viewer: int | None) -> Plain:
        """The event of a move, of which a viewer is told after `number` others."""
        ply = self._plies(viewer)[number]
        step = self._steps[ply]
        event = self._display.event(step.states[0], step.action, self.states(ply + 1)[0], viewer)
        # How long another player has thought may tell what the cards are, such as that there was no choice.
        time_taken = {"ms": step.ms} if viewer in (None, step.player) else {}
        return {"ply": number, "player": step.player, **time_taken, **event}

    def _tell(self, since: int) -> None:
        """Sends the state and the moves from ply `since` on, but not to those who are told of none of these moves."""
        messages: dict[int | None, Plain] = {}
        for onlooker, seat in list(self._onlookers.items()):
            if since < self.position.ply and bisect_left(self._plies(seat), since) == len(self._plies(seat)):
                continue
            if seat not in messages:
                messages[seat] = self._message(seat, since)
            onlooker.send(messages[seat])

    def _message(self, seat: int | None, since: int) -> Plain:
        """The game as a seat sees it, with the events from ply `since` on."""
        position, viewer, plies = self.position, self.viewer_of(seat), self._plies(seat)
        first = bisect_left(plies, since)
        asked = seat is not None and seat == position.mover and self.seats[seat].agent is None and not self.failed
        return {
            "type": "table",
            "table": self.spectator if seat is None else self.seats[seat].key,
            "you": seat,
            "names": [each.agent or "" for each in self.seats],
            "users": [each.agent is None for each in self.seats],
            "invitations": self._invitations(seat),
            "ply": len(plies),
            "scene": self._display.scene(position.states[0], viewer),
            "mover": position.mover,
            "choices": offered(self._display, position.states) if asked else [],
            "over": position.over,
            "done": position.over or bool(self.failed) or self._task is None,  # a recorded game may be unfinished
            "returns": position.returns if position.over else None,
            "outcome": None if seat is None or not position.over else outcome_of(position, seat),
            "ending": position.ending,
            "failed": self.failed,
            "since": first,
            "events": [self._event(number, viewer) for number in range(first, len(plies))],
            "open": self.open,
            "study": self.studied,
            "record": None if self._writer.path is None else self._writer.path.name,
            "clock": {"pace": self._pace, "paused": self._paused},
        }

    def _invitations(self, seat: int | None) -> dict[str, str]:
        """The keys of the other users' seats, for the first user, who has opened the table."""
        users = [player for player, each in enumerate(self.seats) if each.agent is None]
        if not users or seat != users[0]:
            return {}
        return {str(player): self.seats[player].key for player in users[1:]}


def outcome_of(position: Position, seat: int) -> int:
    """Whether a player has won, 1, drawn, 0, or lost, -1, as a match counts it."""
    game, returns = position.game, position.returns
    try:
        sides = sides_of(game)
    except UsageError:  # a game of which there are no matches
        return (returns[seat] > 0) - (returns[seat] < 0)
    side = game.spec.teams[seat] if isinstance(sides, Teams) else seat
    return int(sides.results(position.states, np.array([side]))[0][0])


__all__ = ["Onlooker", "Seat", "Step", "Table", "outcome_of"]
