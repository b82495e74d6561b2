"""Who sits at a table of the server: users with a connection, and agents of ours."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dancfr.serve.guandan.client import Client
from dancfr.serve.guandan.notation import Message, ProtocolError, read_field, read_integer, read_json
from dancfr.serve.websocket import Link

FIRST = 0
"""The action that is played for a seat that let its clock run out: the first legal one, a pass where that is one."""


class Seat(Protocol):
    """A seat at a table that plays."""

    name: str

    def tell(self, message: Message, text: str) -> None:
        """A notification, as an object and as the same text."""
        ...

    async def decide(self, request: Message, text: str, clock: float) -> int | None:
        """The answer to a request, an index into its `actionList`; None if the time was up."""
        ...


class AgentSeat:
    """A seat with an agent of ours, which sees what a user would see."""

    def __init__(self, name: str, make: Callable[[], Client]) -> None:
        self.name = name
        self._client = make()

    def tell(self, message: Message, text: str) -> None:
        self._client.receive(message)

    async def decide(self, request: Message, text: str, clock: float) -> int | None:
        await asyncio.sleep(0)  # others' messages come in between
        answer = self._client.receive(request)
        assert answer is not None
        return answer["actIndex"]


@dataclass
class _Pending:
    """A request that waits for its answer: its text, the greatest index allowed, and the answer."""

    text: str
    last: int
    answer: "asyncio.Future[int]"


class UserSeat:
    """A seat with a user, who may be away for a while and come back under the same name.

    Args:
        name: The user's.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.link: Link | None = None
        self._told: list[str] = []  # of this round, for one who comes back
        self._pending: _Pending | None = None
        self._given_up = False

    def attach(self, link: Link) -> None:
        """The user is there: he is told what the seat knows of this round, and what he is asked."""
        self.link = link
        self._given_up = False
        for text in self._told:
            link.send(text)
        if self._pending is not None:
            link.send(self._pending.text)

    def detach(self, link: Link) -> None:
        """That connection has ended."""
        if self.link is link:
            self.link = None

    def tell(self, message: Message, text: str) -> None:
        if message["stage"] == "beginning":
            self._told.clear()
        self._told.append(text)
        if self.link is not None:
            self.link.send(text)

    async def decide(self, request: Message, text: str, clock: float) -> int | None:
        """Whoever is away and has let the time run out once is not waited for until he is back."""
        if self.link is None and self._given_up:
            return None
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pending = _Pending(text, int(request["indexRange"]), answer)
        if self.link is not None:
            self.link.send(text)
        try:
            async with asyncio.timeout(clock):
                return await answer
        except TimeoutError:
            self._given_up = self.link is None
            return None
        finally:
            self._pending = None

    def receive(self, text: str | bytes, link: Link) -> None:
        """A message from the user. What answers nothing is ignored and counted: an index out of range, an answer that
        comes too late or that nobody asked for, and what is no answer at all."""
        try:
            index = read_answer(text)
        except ProtocolError as error:
            link.count_unreadable(str(error))
            link.count()
            return
        pending = self._pending
        if pending is not None and 0 <= index <= pending.last and not pending.answer.done():
            pending.answer.set_result(index)
        else:
            link.count()


def read_answer(text: str | bytes) -> int:
    """The index in an answer, ``{"actIndex": 3}``.

    Raises:
        ProtocolError: it is none.
    """
    return read_integer(read_field(read_json(text), "actIndex"), "actIndex", -(2**63), 2**63)


def as_text(message: Message) -> str:
    """A message as it is sent."""
    return json.dumps(message, separators=(",", ":"))
