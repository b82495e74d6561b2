"""Names of agents, taken apart: ``runs/x@40?average=exact``. See `dancfr.agents.by_name`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dancfr.errors import UsageError, nearest

SHARE = ("a number from 0 to 1",)
"""In the place of choices: an option whose value is a number from 0 to 1."""


@dataclass(frozen=True)
class AgentName:
    """An agent's name, taken apart.

    Attributes:
        text: The whole name, for messages.
        base: Name of a bot, or path of a run or of a file.
        iteration: What stands after ``@``; None is the newest.
        query: Key and value of each option after ``?``.
    """

    text: str
    base: str
    iteration: int | None = None
    query: tuple[tuple[str, str], ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the name asks for no iteration and no option."""
        return self.iteration is None and not self.query

    def options(self, known: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """The options that the name gives.

        Args:
            known: Key of each option that there is to its choices, or to `SHARE`.

        Raises:
            UsageError: an option that there is not, or a value that it does not take.
        """
        for key, value in self.query:
            if key not in known:
                cure = nearest(key, list(known), "option") if known else f"it has no options: leave out {key}"
                raise UsageError(f"{self.text}: {cure}")
            if known[key] is SHARE:
                _share(self.text, key, value)
            elif value not in known[key]:
                raise UsageError(f"{self.text}: {nearest(value, list(known[key]), key)}")
        return dict(self.query)

    def share(self, options: Mapping[str, str], key: str) -> float | None:
        """The value of a `SHARE` option, if it is given."""
        return _share(self.text, key, options[key]) if key in options else None


def parse_name(text: str) -> AgentName:
    """Takes ``runs/x@40?average=exact`` apart.

    Raises:
        UsageError: an option without a value or given twice, or something else than a number after ``@``.
    """
    rest, _, query = text.partition("?")
    pairs: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{text}: after ? stand options such as average=exact, not {part!r}")
        if key in pairs:
            raise UsageError(f"{text}: {key} is given twice")
        pairs[key] = value
    given = tuple(sorted(pairs.items()))
    base, at, iteration = rest.rpartition("@")
    if not at or os.path.isdir(rest):  # a folder may have an @ in its own name
        return AgentName(text, rest, None, given)
    if not iteration.isdecimal() or len(iteration) > 9:
        raise UsageError(f"{text}: after @ stands an iteration, such as {base}@40, not {iteration!r}")
    return AgentName(text, base, int(iteration), given)


def _share(text: str, key: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:  # nor nan
        raise UsageError(f"{text}: {key} must be a number from 0 to 1, not {value!r}")
    return share
