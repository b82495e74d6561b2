"""Names of agents, taken apart: see `dancfr.agents.by_name`."""

import os
from dataclasses import dataclass
from typing import get_args

from dancfr.errors import UsageError, nearest


@dataclass(frozen=True)
class AgentName:
    """An agent's name, taken apart.

    Attributes:
        base: Name of a bot, or path of a run.
        iteration: What stands after ``@``; None is the newest.
        average: Value of the query ``average``; None if left out.
        threshold: Value of the query ``threshold``; None if left out.
    """

    base: str
    iteration: int | None = None
    average: str | None = None
    threshold: float | None = None


def parse_name(name: str) -> AgentName:
    """Takes ``runs/x@40?average=exact`` apart.

    Raises:
        UsageError: an unknown query key, or a value that is none of those allowed.
    """
    from learners.dream.settings import Play

    rest, _, query = name.partition("?")
    average, threshold, seen = None, None, set[str]()
    for part in filter(None, query.split("&")):
        key, _, value = part.partition("=")
        if key in seen:
            raise UsageError(f"{name}: {key} is given twice")
        seen.add(key)
        if key == "average":
            if value not in get_args(Play):
                raise UsageError(f"{name}: {nearest(value, list(get_args(Play)), 'average')}")
            average = value
        elif key == "threshold":
            threshold = _share(name, value)
        else:
            raise UsageError(f"{name}: {nearest(key, ['average', 'threshold'], 'agent option')}")
    base, at, iteration = rest.rpartition("@")
    if not at or os.path.isdir(rest):  # a folder may have an @ in its own name
        return AgentName(rest, None, average, threshold)
    if not iteration.isdecimal() or len(iteration) > 9:
        raise UsageError(f"{name}: after @ stands an iteration, such as {base}@40, not {iteration!r}")
    return AgentName(base, int(iteration), average, threshold)


def _share(name: str, value: str) -> float:
    """A number from 0 to 1."""
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:  # nor nan
        raise UsageError(f"{name}: threshold must be a number from 0 to 1, not {value!r}")
    return share
