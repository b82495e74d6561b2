"""`dancfr evaluate`: a match between two agents given by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dancfr.agents.by_name import make_agent
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError
from dancfr.evaluation.arena import play


def evaluate_command(
    agent: str,
    game: str,
    against: str,
    games: int = 1000,
    seed: int = 0,
    ply_limit: int | None = None,
    settings: Sequence[str] = (),
    exploitability: bool = False,
) -> dict[str, Any]:
    """Plays a match between two agents, half of the games in each seat; in games of teams each deal is played twice.

    In games of more than two players without teams, `agent` has every seat in turn and `against` has all others.

    Args:
        agent, against: Names, see `dancfr.agents.by_name`.
        game: Name of the game; for its rules see `dancfr.agents.match_rules`.
        games: Number of games.
        seed: Seed of the match.
        ply_limit: Number of plies after which a game is a draw; None: 300 in Geister, or else the game's own limit.
        settings: ``key=value`` options of the game.
        exploitability: Whether to compute the exact exploitability of `agent`.

    Returns:
        The keys of `MatchResult.as_dict`, and the arguments.

    Raises:
        UsageError: a name or option is unknown, a run belongs to another game, or the number of games is out of range.
        RunError: an agent returned an illegal action.
    """
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, got {seed}")
    rules, options = match_rules(game, (agent, against), settings, ply_limit)
    pair = make_agent(agent, rules), make_agent(against, rules)
    exact: dict[str, Any] = {}
    if exploitability:
        from dancfr.evaluation.exploitability import exploitability as compute

        exact = compute(agent, pair[0], game, options)
    result = play(rules, pair, games, np.random.default_rng(seed))
    return {
        "agent": agent,
        "against": against,
        "game": game,
        "seed": seed,
        "ply_limit": getattr(rules, "ply_limit", rules.spec.max_plies),
        "game_options": options,
        **result.as_dict(),
        **exact,
    }
