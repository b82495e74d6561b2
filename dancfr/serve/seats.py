"""Seats at a table that speaks JSON: agents of this program, and users with a connection who may drop and come back.

A request lists the legal actions of a seat; the answer is ``{"actIndex": i}``, the place of an action in that list.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from dancfr.serve.messages import ProtocolError, Received, read
from dancfr.serve.websocket import WebSocketLink

_UNASKED = " that answer no request"


class Seat(Protocol):
    """A seat at a table that is playing."""

    name: str

    def begin_round(self) -> None:
        """A round begins: earlier messages need not be repeated to a user who reconnects."""
        ...

    def notify(self, text: str) -> None:
        """Sends a notification, given as JSON."""
        ...

    async def decide(self, text: str, last: int, seconds: float) -> int | None:
        """Asks for a decision.

        Args:
            text: The request, as JSON.
            last: The greatest index that is a legal answer.
            seconds: The time limit.

        Returns:
            The answer, 0 .. `last`; None after the time limit.
        """
        ...


class Client(Protocol):
    """Answers requests for one seat; other messages get None."""

    def receive(self, message: str) -> Mapping[str, int] | None: ...


class AgentSeat:
    """A seat with an agent of this program, which gets the messages that a user would get.

    Args:
        name: The agent's name.
        client: The agent, which reads notifications when it has to decide.
        thread: Where it does so, so that users at other tables are served meanwhile.
    """

    def __init__(self, name: str, client: Client, thread: Executor) -> None:
        self.name = name
        self._client = client
        self._thread = thread
        self._unread: list[str] = []

    def begin_round(self) -> None:
        """Nothing to do: an agent is always connected."""

    def notify(self, text: str) -> None:
        self._unread.append(text)

    async def decide(self, text: str, last: int, seconds: float) -> int | None:
        unread, self._unread = self._unread, []
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, unread, text)

    def _answer(self, unread: Sequence[str], text: str) -> int:
        for each in unread:
            self._client.receive(each)
        answer = self._client.receive(text)
        assert answer is not None
        return answer["actIndex"]


@dataclass
class _Pending:
    """A request without an answer yet."""

    text: str
    last: int
    answer: "asyncio.Future[int]"


class _Answer(Received):
    index: int = Field(alias="actIndex")


class UserSeat:
    """A seat with a user, who may disconnect for a while and reconnect under the same name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.link: WebSocketLink | None = None
        self._sent: list[str] = []  # notifications of this round, to repeat after a reconnection
        self._pending: _Pending | None = None
        self._given_up = False

    def attach(self, link: WebSocketLink) -> None:
        """The user has connected: repeats the notifications of this round and the open request."""
        self.link = link
        self._given_up = False
        for text in self._sent:
            link.send(text)
        if self._pending is not None:
            link.send(self._pending.text)

    def detach(self, link: WebSocketLink) -> None:
        """A connection has ended. Has no effect if the user has another one by now."""
        if self.link is link:
            self.link = None

    def begin_round(self) -> None:
        self._sent.clear()

    def notify(self, text: str) -> None:
        self._sent.append(text)
        if self.link is not None:
            self.link.send(text)

    async def decide(self, text: str, last: int, seconds: float) -> int | None:
        """See `Seat.decide`. After one decision missed while disconnected, the table waits no longer for this user
        until a new connection."""
        if self.link is None and self._given_up:
            return None
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pending = _Pending(text, last, answer)
        if self.link is not None:
            self.link.send(text)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            self._given_up = self.link is None
            return None
        finally:
            self._pending = None

    def receive(self, text: str | bytes, link: WebSocketLink) -> None:
        """Handles a message from the user. Ignores and counts unsolicited messages: an index out of range, an answer
        that is late or unrequested, and a message that is not an answer at all."""
        try:
            index = read(_Answer, text).index
        except ProtocolError as error:
            link.count_unreadable(str(error))
            link.count_message(_UNASKED)
            return
        pending = self._pending
        if pending is not None and 0 <= index <= pending.last and not pending.answer.done():
            pending.answer.set_result(index)
        else:
            link.count_message(_UNASKED)
