"""Evaluation: agents by name, matches, statistics, and the report on runs.

The functions here are what the commands `dancfr evaluate` and `dancfr report` call. They import what they need when
they are called: matplotlib, torch and SciPy take seconds that other commands should not wait for.
"""

import os
from collections.abc import Sequence
from typing import Any

PLY_LIMITS = {"geister": 300}
"""Length of evaluation games where the command does not say (paper 000, 5.1); other games keep their own."""


def evaluate_command(
    agent: str,
    game: str,
    against: str,
    games: int = 1000,
    seed: int = 0,
    ply_limit: int | None = None,
) -> dict[str, Any]:
    """Plays `agent` against another and counts, half of the games in each seat.

    The game has the options under which the first of the two that is a trained run was trained (for bots: the game's
    defaults, in Geister forced escape and random layouts), but its own length.

    Args:
        agent, against: Names, see `dancfr.evaluation.agents`.
        game: Name of the game.
        games: How many.
        seed: Decides every game.
        ply_limit: Length after which a game is a draw; None takes 300 in Geister, else the game's own.

    Returns:
        What `MatchResult.as_dict` says, and the arguments.

    Raises:
        UsageError: an unknown name, a run of another game, no games, or a limit that the game does not take.
        RunError: an agent broke the rules.
    """
    import numpy as np

    from dancfr.errors import UsageError
    from dancfr.evaluation.agents import game_options_of, make_agent
    from dancfr.evaluation.arena import play
    from dancfr.registry import PETTINGZOO, make_game

    if seed < 0:
        raise UsageError(f"--seed must be at least 0, not {seed}")
    options = game_options_of(agent, game) or game_options_of(against, game)
    limit = PLY_LIMITS.get(game) if ply_limit is None else ply_limit
    if limit is not None:
        options["max_plies" if game.startswith(PETTINGZOO) else "ply_limit"] = limit
    rules = make_game(game, **options)
    pair = make_agent(agent, rules), make_agent(against, rules)
    result = play(rules, pair, games, np.random.default_rng(seed))
    return {
        "agent": agent,
        "against": against,
        "game": game,
        "seed": seed,
        "ply_limit": getattr(rules, "ply_limit", rules.spec.max_plies),
        "game_options": options,
        **result.as_dict(),
    }


def report_command(runs: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Writes the report on runs; see `dancfr.evaluation.report.report`."""
    from dancfr.evaluation.report import report

    return report(runs, out)
