"""Matches of every pair of the agents that an experiment has trained, and the table of their results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dancfr.agents.by_name import make_agent
from dancfr.agents.match_rules import match_rules
from dancfr.agents.tournament import play_pairs, standings_of
from dancfr.errors import RunError
from dancfr.evaluation.statistics import describe_share
from dancfr.papers.trainings import count_runs
from dancfr.report.history import History, Settings
from dancfr.report.report import Table

Cells = dict[str, dict[str, dict[str, Any]]]
"""The table of a tournament: results of the row's agent against the column's."""


def tournaments(
    game: str, settings: Settings, games: int, bots: Sequence[str] = (), options: Sequence[str] = ()
) -> list[Cells]:
    """Plays a tournament for each seed that all settings have, of the agents of its runs and of bots.

    Args:
        game: Name of the game.
        settings: The runs, by the names of their agents in the table.
        games: Games of each pair.
        bots: Names of bots.
        options: Options of the game.

    Raises:
        RunError: the settings have no seed in common.
    """
    return [_meet(game, runs, games, i, bots, options) for i, runs in enumerate(of_shared_seeds(settings))]


def of_shared_seeds(settings: Settings) -> list[dict[str, History]]:
    """Returns the runs of each seed that all settings have, by setting and in the order of the seeds.

    Raises:
        RunError: there is no such seed.
    """
    by_seed = {name: {int(run.config["seed"]): run for run in runs} for name, runs in settings.items()}
    shared = set.intersection(*(set(runs) for runs in by_seed.values()))
    if not shared:
        raise RunError(f"{', '.join(settings)} have no seed in common: give runs of each with the same seed")
    return [{name: runs[seed] for name, runs in by_seed.items()} for seed in sorted(shared)]


def _meet(
    game: str, runs: Mapping[str, History], games: int, seed: int, bots: Sequence[str], options: Sequence[str]
) -> Cells:
    paths = {name: str(run.path) for name, run in runs.items()}
    rules, _ = match_rules(game, list(paths.values()), options)
    players = {name: make_agent(path, rules) for name, path in paths.items()}
    players |= {bot: make_agent(bot, rules) for bot in bots}
    table: Cells = standings_of(play_pairs(rules, players, games, seed))["table"]
    return table


def crosstable(
    played: Sequence[Cells], names: Sequence[str], matches: str = "games", *, by_deals: bool = False
) -> Table:
    """Returns the win rate of the row's agent against the column's, over tournaments of agents with different seeds.

    Args:
        played: The tournaments.
        names: Names of the agents.
        matches: Name of what is won.
        by_deals: Whether deals were played twice, with the sides swapped.
    """

    def text(one: str, other: str) -> str:
        if one == other:
            return "-"
        cells = [table[one][other] for table in played]
        if len(cells) == 1:
            return describe_share(cells[0]["win_rate"], *cells[0]["ci95"])
        return f"{100 * np.mean([each['win_rate'] for each in cells]):.1f}"

    intervals = f"with 95 % intervals{' by deals' if by_deals else ''}"
    kind = intervals if len(played) == 1 else f"means over {count_runs(len(played))}"
    caption = f"Percentage of {matches} that the row won against the column, {kind}."
    lines = tuple((one, *(text(one, other) for other in names)) for one in names)
    return Table("Every pair", caption, ("", *names), lines)
