"""The requests of pages, checked by pydantic; anything else is refused in one line."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from dancfr.serve.messages import explain

MOST_BYTES = 8192
"""Longest message of a page."""


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


_Key = Annotated[str, Field(min_length=1, max_length=64)]
_Ply = Annotated[int, Field(ge=0, le=1_000_000)]


class New(_Message):
    """A new table; `agents` has a name for each seat, null for a user. The first user's seat is the sender's."""

    type: Literal["new"]
    agents: list[Annotated[str, Field(max_length=1000)] | None] = Field(min_length=1, max_length=16)


class Sit(_Message):
    """Takes the seat, or the place of a spectator, that a key opens; another page may have it too."""

    type: Literal["sit"]
    table: _Key


class Move(_Message):
    """Plays choice number `choice` of those that were offered at `ply`."""

    type: Literal["move"]
    ply: _Ply
    choice: int = Field(ge=0, le=1_000_000)


class Look(_Message):
    """Asks for an earlier position, and for an agent's thoughts there."""

    type: Literal["look"]
    ply: _Ply


class Branch(_Message):
    """A new table that continues from an earlier position with the user in `seat`, and agents in the others."""

    type: Literal["branch"]
    ply: _Ply
    seat: int = Field(ge=0, le=15)


class Pace(_Message):
    """Sets the time between the moves of agents, and whether they wait."""

    type: Literal["pace"]
    seconds: float = Field(ge=0, le=60, strict=False, allow_inf_nan=False)
    paused: bool


class Ping(_Message):
    """Asks for an answer, so that a page that was asleep learns whether its connection still works."""

    type: Literal["ping"]


Message = New | Sit | Move | Look | Branch | Pace | Ping

_ADAPTER: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="type")])


def read_message(text: str | bytes) -> Message:
    """Reads a message of a page.

    Raises:
        ProtocolError: the text is not a valid message.
    """
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        raise explain(error) from None


__all__ = [
    "MOST_BYTES",
    "Branch",
    "Look",
    "Message",
    "Move",
    "New",
    "Pace",
    "Ping",
    "Sit",
    "read_message",
]
