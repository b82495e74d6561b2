"""Reads JSON messages of untrusted programs by models of pydantic; an error is one line that names the field."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from dancfr.errors import shortened

Message = dict[str, Any]
"""One JSON object, as it is sent."""

MAX_ERROR_LENGTH = 200
"""Longest text of an error, in characters."""


class ProtocolError(ValueError):
    """A message that cannot be understood; the text names the field.

    Attributes:
        field: The wrong field of the message; empty if the message as a whole is wrong.
    """

    def __init__(self, field: str, complaint: str) -> None:
        text = f"{field}: {complaint}" if field else complaint
        super().__init__(text if len(text) <= MAX_ERROR_LENGTH else f"{text[: MAX_ERROR_LENGTH - 3]}...")
        self.field = field


class Received(BaseModel):
    """A message of another program; fields without a meaning here are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


M = TypeVar("M", bound=BaseModel)
_OBJECT: TypeAdapter[Message] = TypeAdapter(Message)


def as_text(message: Message) -> str:
    """A message as JSON without blanks."""
    return json.dumps(message, separators=(",", ":"))


def read_object(message: str | bytes | Mapping[str, Any]) -> Message:
    """Parses a JSON object, given as text or as an object that a caller has built in Python.

    Raises:
        ProtocolError: The text is not JSON, or not an object; a field has a type that JSON lacks.
    """
    text = message if isinstance(message, (str, bytes)) else _dumped(message)
    try:
        return _OBJECT.validate_json(text)
    except ValidationError as error:
        raise explain(error) from None


def _dumped(message: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(message))
    except (TypeError, ValueError, RecursionError) as whole:
        for name, value in message.items():
            try:
                json.dumps({name: value})
            except (TypeError, ValueError, RecursionError) as error:
                raise ProtocolError(str(name), str(error)) from None
        raise ProtocolError("", str(whole)) from None


def read(model: type[M], message: str | bytes | Message) -> M:
    """Reads a message, given as text or as the object in it.

    Raises:
        ProtocolError: A field is missing or wrong.
    """
    try:
        if isinstance(message, dict):
            return model.model_validate(message)
        return model.model_validate_json(message)
    except ValidationError as error:
        raise explain(error) from None


def explain(error: ValidationError) -> ProtocolError:
    """The first error that pydantic has found."""
    found = error.errors(include_url=False)[0]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in found["loc"]).lstrip(".")
    if found["type"] == "missing":
        return ProtocolError(field, "missing")
    if found["type"] in ("value_error", "json_invalid"):
        return ProtocolError(field, found["msg"].removeprefix("Value error, "))
    return ProtocolError(field, f"{found['msg']}, got {shortened(found['input'])}")
