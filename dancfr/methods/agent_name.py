"""Parses names of agents such as ``runs/x@40?average=exact``, see `dancfr.agents.by_name`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dancfr.errors import UsageError, nearest

SHARE = ("a number from 0 to 1",)
"""Takes the place of the choices of an option whose value is a number from 0 to 1."""

HUB = "hf:"
"""Beginning of the names of agents on the Hugging Face hub, see `dancfr.agents.hub.names`."""

SEARCH = ("search", "ms")
"""Options of any agent with a policy and a value, see `dancfr.agents.searching`. No method reads them."""


@dataclass(frozen=True)
class AgentName:
    """The parts of an agent's name.

    Attributes:
        text: The whole name, for messages.
        base: Name of a bot, path of a run or of a file, or name of an agent that is stored elsewhere.
        iteration: The iteration after ``@``; None stands for the newest one.
        query: Key and value of each option after ``?``.
    """

    text: str
    base: str
    iteration: int | None = None
    query: tuple[tuple[str, str], ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the name has neither an iteration nor options."""
        return self.iteration is None and not self.query

    @property
    def shown(self) -> str:
        """The name without iteration and options, as it was typed: `base` is the folder of a pretrained agent."""
        return parse_name(self.text).base

    def options(self, known: Mapping[str, Sequence[str]], searches: bool = True) -> dict[str, str]:
        """Checks the options and returns them by key.

        Args:
            known: The choices of each existing option, or `SHARE`, by its key.
            searches: Whether the agent takes the options of `SEARCH`, too.

        Raises:
            UsageError: an option does not exist, or its value is not one of the choices.
        """
        for key, value in self.query:
            if key not in known:
                names = [*known, *(SEARCH if searches else ())]
                cure = nearest(key, names, "option") if names else f"it has no options: leave out {key}"
                raise UsageError(f"{self.text}: {cure}")
            if known[key] is SHARE:
                _share(self.text, key, value)
            elif value not in known[key]:
                raise UsageError(f"{self.text}: {nearest(value, list(known[key]), key)}")
        return dict(self.query)

    def share(self, options: Mapping[str, str], key: str) -> float | None:
        """Returns the value of a `SHARE` option; None if it is not given."""
        return _share(self.text, key, options[key]) if key in options else None


def parse_name(text: str) -> AgentName:
    """Parses a name such as ``runs/x@40?average=exact``.

    Raises:
        UsageError: an option has no value or is given twice, or the text after ``@`` is not a number.
    """
    if os.path.exists(text):
        return AgentName(text, text)
    path = "" if text.startswith(HUB) else _path_before(text)
    rest, _, query = text[len(path) :].partition("?")
    pairs: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{text}: the options after ? must have the form average=exact, got {part!r}")
        if key in pairs:
            raise UsageError(f"{text}: {key} is given twice")
        pairs[key] = value
    given = tuple(sorted(pairs.items()))
    if rest.startswith(HUB):  # what follows @ is a revision of the repository
        return AgentName(text, rest, None, given)
    start, at, iteration = rest.rpartition("@")
    base = path + start
    if not at or "/" in iteration:
        return AgentName(text, path + rest, None, given)
    if not iteration.isdecimal() or len(iteration) > 9:
        raise UsageError(f"{text}: the iteration after @ must be a number, as in {base}@40, got {iteration!r}")
    return AgentName(text, base, int(iteration), given)


def _path_before(text: str) -> str:
    """Returns the longest path before an @ or a ? that exists, since the names in it may have both; else nothing."""
    ends = [place for place, sign in enumerate(text) if sign in "@?"]
    return next((text[:end] for end in reversed(ends) if os.path.exists(text[:end])), "")


def _share(text: str, key: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:  # nor nan
        raise UsageError(f"{text}: {key} must be a number from 0 to 1, got {value!r}")
    return share
