"""The cost of a trained response as text: a bound of exploitability means nothing without it."""

from collections.abc import Mapping, Sequence
from typing import Any

POINTS = 6
"""Points of a curve that are shown."""


def describe_effort(minutes: float | None, decisions: int | None) -> str:
    """Describes the cost of a response: CPU minutes, measurement included, and decisions; None: not recorded."""
    time = "CPU time not recorded" if minutes is None else f"{minutes:.3g} CPU minutes"
    return f"{time}, {'decisions not recorded' if decisions is None else f'{count(decisions)} decisions'}"


def describe_curve(curve: Sequence[Sequence[float]], points: int = POINTS) -> str:
    """Describes the curve of a response by some of its points, the first and the last among them.

    Args:
        curve: Decisions, CPU seconds and mean return of each point.
        points: Largest number of points that are shown.
    """
    if not curve:
        return ""
    last = len(curve) - 1
    places = sorted({round(last * number / max(points - 1, 1)) for number in range(points)} | {last})
    return ", ".join(f"{curve[place][2]:+.2f} ({count(int(curve[place][0]))})" for place in places)


def describe_known(result: Mapping[str, Any]) -> list[str]:
    """Describes the agents that were measured beside a trained response, a line each, and whether the bound is theirs.

    Args:
        result: The result of `dancfr exploit`.
    """
    lines = []
    for name, found in result.get("known", {}).items():
        low, high = found["value_ci95"]
        own = ", which is the bound, less an allowance for the choice of the best" if name == result["bound_by"] else ""
        lines.append(f"{name} wins {found['value']:+.4f} a game (95 % interval {low:+.4f} to {high:+.4f}){own}")
    return lines


def count(number: int) -> str:
    """Formats a number of decisions, as ``12.3 million`` where it has seven digits or more."""
    return f"{number / 1e6:,.1f} million" if number >= 1_000_000 else f"{number:,}"
