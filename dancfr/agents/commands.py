"""Evaluation: agents by name, matches, statistics, and the report on runs.

The functions here are what the commands `dancfr evaluate`, `dancfr tournament` and `dancfr report` call. They import
what they need when they are called: matplotlib, torch and SciPy take seconds that other commands should not wait for.
"""

from collections.abc import Sequence
from typing import Any


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
    """Plays `agent` against another and counts, half of the games in each seat; between teams each deal twice.

    Of more than two players, each for himself, `agent` is one and has every seat in turn; `against` is all the others.

    Args:
        agent, against: Names, see `dancfr.agents.by_name`.
        game: Name of the game, played under the rules that `dancfr.agents.match_rules` says.
        games: How many.
        seed: Decides every game.
        ply_limit: Length after which a game is a draw; None takes 300 in Geister, else the game's own.
        settings: ``key=value`` options of the game.
        exploitability: Whether to compute what best responses to `agent` win.

    Returns:
        What `MatchResult.as_dict` says, and the arguments.

    Raises:
        UsageError: an unknown name, a run of another game, no games, or an option that the game does not take.
        RunError: an agent broke the rules.
    """
    import numpy as np

    from dancfr.agents.by_name import make_agent
    from dancfr.agents.match_rules import match_rules
    from dancfr.errors import UsageError
    from dancfr.evaluation.arena import play

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


def tournament_command(
    agents: Sequence[str], game: str, games: int = 1000, seed: int = 0, settings: Sequence[str] = ()
) -> dict[str, Any]:
    """Plays every pair of agents; see `dancfr.agents.tournament.tournament`."""
    from dancfr.agents.tournament import tournament

    return tournament(agents, game, games, seed, settings)
