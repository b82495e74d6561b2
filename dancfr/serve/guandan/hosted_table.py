"""A table of the server: four seats that play some matches."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dancfr.errors import warn
from dancfr.runs.recorded_games import Player, Writer
from dancfr.serve.guandan.notation import JokerBomb
from dancfr.serve.guandan.table import Post, Table, closing, result
from dancfr.serve.messages import as_text
from dancfr.serve.position import plain_action
from dancfr.serve.seats import Seat, UserSeat
from envs.guandan import GuanDan
from envs.guandan.game import describe
from envs.guandan.rules.state import SEATS

DEFAULT_ACTION = 0
"""Played for a seat whose time has run out: the first legal action, which is a pass where passing is legal."""

_REPORTED_TIMEOUTS = (1, 10, 100, 1000)  # of a seat; the others are only counted


class Abandoned(Exception):
    """All users of a table have left."""


@dataclass(frozen=True)
class TableRules:
    """How tables play.

    Attributes:
        game: The rules of the engine. With the length ``round`` each match is a single round.
        matches: Matches at each table.
        clock: Seconds for a user's decision.
        joker_bomb: How the bomb of four jokers is written.
        seed: Of all deals, together with the number of the table.
        records: Folder in which matches are recorded, a file for each; None records none.
        options: The options of the game, for the records.
    """

    game: GuanDan
    matches: int = 1
    clock: float = 30.0
    joker_bomb: JokerBomb = "competition"
    seed: int = 0
    records: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def deal_seed(self, table: int, match: int) -> int:
        """Seed of a match at a table, both from 1."""
        return int(np.random.SeedSequence([self.seed, table, match]).generate_state(1, np.uint64)[0])


@dataclass
class TableRecord:
    """The result of a table; `status` is playing, finished, abandoned, stopped or failed."""

    table: int
    names: list[str]
    status: str = "playing"
    matches: int = 0
    rounds: int = 0
    decisions: int = 0
    victories: list[int] = field(default_factory=lambda: [0] * SEATS)
    timeouts: list[int] = field(default_factory=lambda: [0] * SEATS)
    seconds: float = 0.0


class HostedTable:
    """Plays its matches to the end, whatever its users do. A failure ends this table only.

    Args:
        number: From 1.
        seats: Four seats.
        rules: How to play.

    Attributes:
        record: The result so far.
    """

    def __init__(self, number: int, seats: Sequence[Seat], rules: TableRules) -> None:
        self._seats = list(seats)
        self._rules = rules
        self.record = TableRecord(number, [seat.name for seat in seats])

    @property
    def users(self) -> list[UserSeat]:
        """The seats of users."""
        return [seat for seat in self._seats if isinstance(seat, UserSeat)]

    async def run(self) -> TableRecord:
        """Plays all matches and returns the record. Raises nothing: the record says how the table has ended."""
        record, started = self.record, time.monotonic()
        warn(f"table {record.table}: {', '.join(record.names)}")
        try:
            for match in range(1, self._rules.matches + 1):
                await self._play_match(match)
            self._send(Post(None, result(record.victories)))
            record.status = "finished"
        except asyncio.CancelledError:
            record.status = "stopped"
        except Abandoned:
            record.status = "abandoned"
            warn(f"table {record.table}: no user is left; the table is closed")
        except Exception as error:  # of an agent, for example; other tables continue
            record.status = "failed"
            warn(f"table {record.table} failed and is closed: {type(error).__name__}: {error}")
        record.seconds = round(time.monotonic() - started, 3)
        return record

    async def _play_match(self, match: int) -> None:
        rules, record = self._rules, self.record
        deal = rules.deal_seed(record.table, match)
        table = Table(rules.game, deal, rules.joker_bomb)
        writer = Writer(rules.records, "guandan", dict(rules.options), 0, self._players(), deal)
        ply = 0
        while not table.over:
            if table.round_ended:
                for each in self._seats:
                    each.begin_round()
                self._send(*table.opening())
            seat = table.seat
            asked = time.monotonic()
            index = await self._ask(seat, table)
            record.decisions += 1
            action, taken = table.options[index], round(1000 * (time.monotonic() - asked))
            writer.move(ply, seat, plain_action(action), describe(action), taken)
            ply += 1
            self._send(*table.play(index))
            record.rounds += table.round_ended
        returns = [float(each) for each in rules.game.returns(table.states)[0]]
        writer.end(str(rules.game.spec.endings[rules.game.endings(table.states)[0]]), returns, ply)
        record.matches += 1
        winner = int(table.state["winner"])
        for seat in (winner, winner + 2):
            record.victories[seat] += 1
        self._send(Post(None, closing(match, rules.matches)))
        pair, rounds = f"{record.names[winner]} and {record.names[winner + 2]}", int(table.state["number"]) + 1
        count = "1 round" if rounds == 1 else f"{rounds} rounds"
        warn(f"table {record.table}, match {match}: {pair} have won after {count}")

    def _players(self) -> list[Player]:
        """The seats as the records name them."""
        return [Player(kind="user" if isinstance(seat, UserSeat) else "agent", name=seat.name) for seat in self._seats]

    async def _ask(self, seat: int, table: Table) -> int:
        """The index of the action that a seat chooses, or that is played for it when its time is up.

        Raises:
            Abandoned: No user of the table is connected.
        """
        request = table.act()
        index = await self._seats[seat].decide(as_text(request), request["indexRange"], self._rules.clock)
        if index is not None:
            return index
        if not any(user.link is not None for user in self.users):
            raise Abandoned
        timeouts = self.record.timeouts
        timeouts[seat] += 1
        if timeouts[seat] in _REPORTED_TIMEOUTS:
            warn(
                f"table {self.record.table}: the time of {self._seats[seat].name} has run out "
                f"({timeouts[seat]} in all); the first legal action is played"
            )
        return DEFAULT_ACTION

    def _send(self, *posts: Post) -> None:
        for seat, message in posts:
            text = as_text(message)
            for each in self._seats if seat is None else [self._seats[seat]]:
                each.notify(text)
