"""`dancfr decisions`: where two agents given by name would decide differently, and who was right."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dancfr.agents.by_name import game_of, make_agent
from dancfr.agents.hub.fetch import record_of_commits
from dancfr.agents.match_rules import match_rules
from dancfr.errors import RunError, UsageError, reason, require_packages
from dancfr.evaluation.decisions import compare_decisions, require_situations
from dancfr.evaluation.statistics import Summary
from learners.storage import replacing

SORTED = "guandan"
"""A game that sorts decisions by situation."""
MOST_DEALS = 10_000
"""Deals in which a decision is judged, at most."""
SHOWN = 12
"""Decisions that the page shows: those in which the first agent lost most."""


def decisions_command(
    agent: str,
    beside: str,
    game: str | None,
    games: int = 200,
    judged: int = 100,
    deals: int = 32,
    seed: int = 0,
    settings: Sequence[str] = (),
    out: Path | None = None,
) -> dict[str, Any]:
    """Lets two agents play, and judges the decisions in which the second would have acted differently from the first.

    Args:
        agent, beside: Names, see `dancfr.agents.by_name`.
        game: Name of the game; None: that of the agents, or `SORTED`.
        games: Rounds that they play against each other.
        judged: Decisions of each situation that are judged, at most.
        deals: Deals in which each of them is judged, two or more.
        seed: Seed of all draws.
        settings: ``key=value`` options of the game.
        out: Page to write; None for none.

    Returns:
        ``win_rate`` of the match and ``ci95``, by deals, each of which is played twice; ``situations``, rows of
        `dancfr.evaluation.decisions.Judged`; ``examples``, the decisions in which the first agent lost most; ``page``;
        and the arguments.

    Raises:
        UsageError: a name, option or number is not valid, or the game does not say what the situations are.
        PackageMissing: a page is to be written, and Jinja is not installed.
        RunError: the page cannot be written.
    """
    for name, value, least in (("games", games, 1), ("judged", judged, 2), ("deals", deals, 2), ("seed", seed, 0)):
        if value < least:
            raise UsageError(f"--{name} must be at least {least}, got {value}")
    if deals > MOST_DEALS:
        raise UsageError(f"--deals must be at most {MOST_DEALS:,}, got {deals:,}")
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise UsageError(f"{out} is a folder" if out.is_dir() else f"{out.parent} is not a folder: make it first")
    if out is not None:
        require_packages("jinja2")  # it fills the page, after all games
    game = game_of((agent, beside), game, SORTED)
    rules, options = match_rules(game, (agent, beside), settings)
    require_situations(rules)
    names = (agent, beside, beside)
    first, second, other = (make_agent(name, rules) for name in names)
    rng = np.random.default_rng(seed)
    match, rows, examples = compare_decisions(rules, (first, second), other, games, judged, deals, rng)
    result: dict[str, Any] = {
        "agent": agent,
        "beside": beside,
        "game": game,
        "game_options": options,
        "games": games,
        "judged": judged,
        "deals": deals,
        "seed": seed,
        "win_rate": match.win_rate,
        "ci95": list(match.paired_ci95),
        "situations": [
            {
                "situation": row.situation,
                "decisions": row.decisions,
                "differ": row.differ,
                "gains": {name: _plain(gain) for name, gain in zip((agent, beside), row.gains.values(), strict=False)},
            }
            for row in rows
        ],
        "examples": [asdict(each) for each in examples[:SHOWN] if each.gain < 0],
        "page": None if out is None else str(out),
        **record_of_commits((agent, beside)),
    }
    if out is not None:
        try:
            with replacing(out) as file:
                file.write(_page(result).encode(errors="replace"))
        except OSError as error:
            raise RunError(f"cannot write {out}: {reason(error)}") from None
    return result


def _plain(gain: Summary | None) -> dict[str, Any] | None:
    return None if gain is None else {"mean": gain.mean, "ci95": [gain.low, gain.high], "judged": gain.n}


def _page(result: dict[str, Any]) -> str:
    """The result as an HTML page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(loader=PackageLoader("dancfr.agents", "."), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("decisions.html.j2").render(result)
