"""What a page may ask for, checked by pydantic; anything else is refused in one line."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

MOST_BYTES = 8192
"""Longest message of a page."""


class BadMessage(ValueError):
    """A message that no page of this program sends."""


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
    """Asks for an earlier position, and for what an agent thinks there."""

    type: Literal["look"]
    ply: _Ply


class Branch(_Message):
    """A new table that goes on from an earlier position with the user in `seat`, and agents in the others."""

    type: Literal["branch"]
    ply: _Ply
    seat: int = Field(ge=0, le=15)


class Pace(_Message):
    """Sets the time between the moves of agents, and whether they wait."""

    type: Literal["pace"]
    seconds: float = Field(ge=0, le=60, strict=False, allow_inf_nan=False)
    paused: bool


Message = New | Sit | Move | Look | Branch | Pace

_ADAPTER: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="type")])


def read_message(text: str) -> Message:
    """Reads a message of a page.

    Raises:
        BadMessage: it is none.
    """
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join(str(part) for part in found["loc"][1:])
        raise BadMessage(f"{place}: {found['msg']}" if place else str(found["msg"])) from None
    except (RecursionError, ValueError) as error:
        raise BadMessage(str(error)[:200]) from None


__all__ = ["MOST_BYTES", "BadMessage", "Branch", "Look", "Message", "Move", "New", "Pace", "Sit", "read_message"]
