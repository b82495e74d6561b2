"""The responses that are trained side by side: how much each has had, which continue, and the curve of each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dancfr.methods.best_response.config import FRESH, BestResponseConfig
from learners.networks.settings import Weights


@dataclass
class Effort:
    """The cost of a response so far.

    Attributes:
        decisions: Its decisions in the training games.
        seconds: CPU seconds of these games and of its fits.
    """

    decisions: int = 0
    seconds: float = 0.0

    def add(self, decisions: int, seconds: float) -> None:
        self.decisions += decisions
        self.seconds += seconds


@dataclass(frozen=True)
class Candidate:
    """A response at a point of the curve.

    Attributes:
        member: Its number among the starts.
        iteration: Iteration of the run.
        games: Training games before it, of all responses together.
        effort: What it had been trained with.
        values: Its mean return in each seat.
        net: Its weights.
    """

    member: int
    iteration: int
    games: int
    effort: Effort
    values: tuple[float, float]
    net: Weights

    @property
    def value(self) -> float:
        """Its mean return over both seats."""
        return sum(self.values) / 2


def survivors(
    config: BestResponseConfig,
    trained: Sequence[int],
    values: Mapping[int, float],
    decisions: Sequence[int],
    halvings: int,
) -> list[int]:
    """The responses that training continues with.

    These are the best, half as many after each halving. The best fresh one continues beside them until it has had
    `fair` decisions: until then its return says how new it is, not how far it will come.

    Args:
        config: Configuration of the run.
        trained: Numbers of the responses that have been trained so far.
        values: Newest mean return of each of them.
        decisions: Decisions of every response, those no longer trained included.
        halvings: Number of halvings so far.
    """
    keep = max(math.ceil(len(config.starts) / 2**halvings), 1)
    if keep >= len(trained):
        return list(trained)
    ranked = sorted(trained, key=lambda member: -values[member])
    kept, fresh = ranked[:keep], [member for member in ranked if config.starts[member] == FRESH]
    if fresh and fresh[0] not in kept and decisions[fresh[0]] < config.fair:
        kept.append(fresh[0])
    return sorted(kept)


def start_curves(config: BestResponseConfig, candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """The curve of each response: its start, and of each point decisions, CPU seconds, mean return over both seats."""
    return [
        {
            "start": start,
            "curve": [
                [each.effort.decisions, each.effort.seconds, each.value] for each in candidates if each.member == member
            ],
        }
        for member, start in enumerate(config.starts)
    ]


def read_efforts(state: Mapping[str, Any], responses: int) -> tuple[list[Effort], list[Effort]]:
    """The efforts of all responses and those of all candidates, from the state of a driver.

    Checkpoints before 0.4 have none. All responses have about as many decisions an iteration, so these are estimated by
    iterations there.
    """
    if "efforts" in state:
        return (
            [Effort(int(decisions), float(seconds)) for decisions, seconds in state["efforts"]],
            [Effort(int(each[4]), float(each[5])) for each in state["candidates"]],
        )
    last = [0] * responses
    for member, iteration, *_ in state["candidates"]:
        last[int(member)] = int(iteration)
    for member in state["trained"]:
        last[int(member)] = int(state["iteration"])
    shares = [1 / max(sum(last), 1) * iterations for iterations in last]
    total = Effort(int(state["samples"]), float(state["seconds"]))
    points = [int(iteration) / max(sum(last), 1) for _, iteration, *_ in state["candidates"]]
    estimated = [
        [Effort(int(share * total.decisions), share * total.seconds) for share in each] for each in (shares, points)
    ]
    return estimated[0], estimated[1]
