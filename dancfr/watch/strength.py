"""The newest measures of a training's policies, as progress, `dancfr train` and `dancfr status` tell them."""

from collections.abc import Mapping
from typing import Any

NASH_CONV = "nash_conv"
"""Takes the place of the opponent's name where the newest NashConv of a policy is shown beside its win rates."""

MEAN_RETURN = "/mean_return"
"""Ends the name of a mean return, which games with stakes (`envs.game.GameSpec.stakes`) have beside the win rate."""


def measures(row: Mapping[str, Any]) -> dict[str, float]:
    """Returns the measures in a row of an evaluation: ``policy/nash_conv``, or the win rate as ``policy/opponent`` and
    in games with stakes the mean return as ``policy/opponent/mean_return``."""
    if NASH_CONV in row:
        return {f"{row['policy']}/{NASH_CONV}": row["nash_conv"]}
    name = f"{row['policy']}/{row['opponent']}"
    mean, stakes = row.get("mean_return"), row.get("stakes")
    returned = {} if mean is None or stakes is None else {f"{name}{MEAN_RETURN}": mean}
    return {name: row["win_rate"]} | returned


def describe_measures(latest: Mapping[str, float]) -> str:
    """Formats measures in a line: ``NashConv of average 0.02  wins of average: random 99, rush 96 %; of last: random
    97 %``, in games with stakes ``mean return of average: random +0.41``."""
    exact: list[str] = []
    wins: dict[str, list[str]] = {}
    returns: dict[str, list[str]] = {}
    for name, value in latest.items():
        policy, _, opponent = name.removesuffix(MEAN_RETURN).partition("/")
        if name.endswith(MEAN_RETURN):
            returns.setdefault(policy, []).append(f"{opponent} {value:+.3g}")
        elif opponent == NASH_CONV:
            exact.append(f"NashConv of {policy} {value:.3g}")
        elif name + MEAN_RETURN not in latest:
            wins.setdefault(policy, []).append(f"{opponent} {100 * value:.0f}")
    told = (("mean return", returns, ""), ("wins", wins, " %"))
    lists = (
        f"{what} " + "; ".join(f"of {policy}: {', '.join(each)}{unit}" for policy, each in found.items())
        for what, found, unit in told
        if found
    )
    return "  ".join([*exact, *lists])


def describe_each(latest: Mapping[str, float]) -> list[str]:
    """Formats each measure in a line of its own, with its name."""
    lines = []
    for name, value in latest.items():
        if name.endswith(f"/{NASH_CONV}"):
            lines.append(f"{name}: {value:.4g}")
        elif not name.endswith(MEAN_RETURN):
            mean = latest.get(name + MEAN_RETURN)
            returned = "" if mean is None else f"mean return {mean:+.3g} per game, "
            lines.append(f"{name}: {returned}{100 * value:.1f} % of games won")
    return lines
