"""Reads JSON messages of untrusted programs; every reader checks one field, and names it if it is wrong."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Message = dict[str, Any]
"""One JSON object, as it is sent."""

MAX_ERROR_LENGTH = 200
MAX_SHOWN_VALUE = 60
"""Longest text of an error, and of a wrong value within it, in characters."""


class ProtocolError(ValueError):
    """A message that cannot be understood; the text names the field.

    Attributes:
        field: The wrong field of the message; empty if the message as a whole is wrong.
    """

    def __init__(self, field: str, complaint: str) -> None:
        text = f"{field}: {complaint}" if field else complaint
        super().__init__(text if len(text) <= MAX_ERROR_LENGTH else f"{text[: MAX_ERROR_LENGTH - 3]}...")
        self.field = field


def as_text(message: Message) -> str:
    """A message as JSON without blanks."""
    return json.dumps(message, separators=(",", ":"))


def read_json(text: str | bytes) -> Message:
    """Parses a JSON object.

    Raises:
        ProtocolError: The text is not JSON, or not an object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("", f"not JSON: {error}") from None
    return read_object(value)


def read_object(value: object) -> Message:
    """A JSON object that has been parsed already.

    Raises:
        ProtocolError: The value is not an object whose keys are text.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ProtocolError("", f"a JSON object was expected, got {type(value).__name__}")
    return dict(value)


def read_plain(value: object) -> Message:
    """An object that a caller has built in Python: the other readers compare values, which is safe for JSON only.

    Raises:
        ProtocolError: The value is not an object, or a field holds a type that JSON does not have, such as an array of
            NumPy.
    """
    message = read_object(value)
    for name, field in message.items():
        try:
            foreign = _foreign_type(field)
        except RecursionError:
            raise ProtocolError(name, "nested too deeply") from None
        if foreign is not None:
            raise ProtocolError(name, f"a JSON value was expected, got {foreign}")
    return message


def _foreign_type(value: object) -> str | None:
    """Name of the first type within a value that JSON does not have; None if there is no such type."""
    if isinstance(value, (list, tuple)):
        inner: Iterable[object] = value
    elif isinstance(value, dict):
        inner = (*value, *value.values())
    else:
        return None if value is None or isinstance(value, (str, int, float)) else type(value).__name__
    return next((found for each in inner if type(each) is not str and (found := _foreign_type(each))), None)


def read_field(message: Message, name: str) -> Any:
    """The value of a required field.

    Raises:
        ProtocolError: The message lacks the field.
    """
    if name not in message:
        raise ProtocolError(name, "missing")
    return message[name]


def read_integer(value: object, name: str, low: int, high: int) -> int:
    """An integer from `low` to `high`.

    Args:
        value: What the message holds.
        name: The field, for the error.

    Raises:
        ProtocolError: The value is not an integer, or out of range.
    """
    if type(value) is not int or not low <= value <= high:
        raise ProtocolError(name, f"an integer from {low} to {high} was expected, got {shortened(value)}")
    return value


def read_list(value: object, name: str, max_length: int) -> list[Any]:
    """A list of at most `max_length` entries.

    Raises:
        ProtocolError: The value is not a list, or too long.
    """
    if not isinstance(value, (list, tuple)):
        raise ProtocolError(name, f"a list was expected, got {shortened(value)}")
    if len(value) > max_length:
        raise ProtocolError(name, f"at most {max_length} entries were expected, got {len(value)}")
    return list(value)


def shortened(value: object) -> str:
    """A value for an error message, in at most `MAX_SHOWN_VALUE` characters."""
    if isinstance(value, (Mapping, Sequence)) and not isinstance(value, (str, bytes)) and len(value) > 8:
        return f"{type(value).__name__} of {len(value)} entries"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # integers of thousands of digits
        return type(value).__name__
    return text if len(text) <= MAX_SHOWN_VALUE else f"{text[: MAX_SHOWN_VALUE - 3]}..."
