"""One table of the server: four seats that play some matches."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dancfr.errors import warn
from dancfr.serve.guandan.notation import JokerBomb
from dancfr.serve.guandan.seats import FIRST, Seat, UserSeat, as_text
from dancfr.serve.guandan.table import Post, Table, closing, result
from envs.guandan import GuanDan
from envs.guandan.state import SEATS

_SAID = (1, 10, 100, 1000)  # which of a seat's missed decisions are told


class Abandoned(Exception):
    """All users of a table have gone."""


@dataclass(frozen=True)
class Rules:
    """How tables play.

    Attributes:
        game: The rules of the engine. Of length ``round`` every match is a single round.
        matches: How many each table plays.
        clock: Seconds for a user's decision.
        joker_bomb: How the bomb of four jokers is written.
        seed: Of all deals; a table's follow from it and from the table's number.
    """

    game: GuanDan
    matches: int = 1
    clock: float = 30.0
    joker_bomb: JokerBomb = "competition"
    seed: int = 0

    def deal_seed(self, table: int, match: int) -> int:
        """Seed of a match at a table, both from 1."""
        return int(np.random.SeedSequence([self.seed, table, match]).generate_state(1, np.uint64)[0])


@dataclass
class Record:
    """What came of a table; `status` is playing, finished, abandoned, stopped or failed."""

    table: int
    names: list[str]
    status: str = "playing"
    matches: int = 0
    rounds: int = 0
    decisions: int = 0
    victories: list[int] = field(default_factory=lambda: [0] * SEATS)
    timeouts: list[int] = field(default_factory=lambda: [0] * SEATS)
    seconds: float = 0.0

    def as_result(self) -> dict[str, Any]:
        """For `--json`."""
        return dict(vars(self))


class Room:
    """Plays its matches to the end, whatever its users do. A failure stays within the table.

    Args:
        number: From 1.
        seats: Four.
        rules: How to play.
    """

    def __init__(self, number: int, seats: Sequence[Seat], rules: Rules) -> None:
        self._seats = list(seats)
        self._rules = rules
        self.record = Record(number, [seat.name for seat in seats])

    @property
    def users(self) -> list[UserSeat]:
        """The seats of users."""
        return [seat for seat in self._seats if isinstance(seat, UserSeat)]

    async def run(self) -> Record:
        """Plays; what came of it is in `record` in any case."""
        record, started = self.record, time.monotonic()
        warn(f"table {record.table}: {', '.join(record.names)}")
        try:
            for match in range(1, self._rules.matches + 1):
                await self._play_match(match)
            self._post(Post(None, result(record.victories)))
            record.status = "finished"
        except asyncio.CancelledError:
            record.status = "stopped"
        except Abandoned:
            record.status = "abandoned"
            warn(f"table {record.table}: no user is left; the table is closed")
        except Exception as error:  # an agent's, say: other tables go on
            record.status = "failed"
            warn(f"table {record.table} failed and is closed: {type(error).__name__}: {error}")
        record.seconds = round(time.monotonic() - started, 3)
        return record

    async def _play_match(self, match: int) -> None:
        rules, record = self._rules, self.record
        table = Table(rules.game, rules.deal_seed(record.table, match), rules.joker_bomb)
        while not table.over:
            if table.round_ended:
                self._post(*table.opening())
            seat = table.seat
            index = await self._ask(seat, table)
            record.decisions += 1
            self._post(*table.play(index))
            record.rounds += table.round_ended
        record.matches += 1
        winner = int(table.state["winner"])
        for seat in (winner, winner + 2):
            record.victories[seat] += 1
        self._post(Post(None, closing(match, rules.matches)))
        pair, rounds = f"{record.names[winner]} and {record.names[winner + 2]}", int(table.state["number"]) + 1
        told = "1 round" if rounds == 1 else f"{rounds} rounds"
        warn(f"table {record.table}, match {match}: {pair} have won after {told}")

    async def _ask(self, seat: int, table: Table) -> int:
        request = table.act()
        index = await self._seats[seat].decide(request, as_text(request), self._rules.clock)
        if index is not None:
            return index
        if not any(user.link is not None for user in self.users):
            raise Abandoned
        missed = self.record.timeouts
        missed[seat] += 1
        if missed[seat] in _SAID:
            warn(
                f"table {self.record.table}: {self._seats[seat].name} let the clock run out "
                f"({missed[seat]} in all); the first legal action is played"
            )
        return FIRST

    def _post(self, *posts: Post) -> None:
        for seat, message in posts:
            text = as_text(message)
            for each in self._seats if seat is None else [self._seats[seat]]:
                each.tell(message, text)
