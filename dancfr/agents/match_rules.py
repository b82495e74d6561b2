"""Rules of a match: those of the command, or else those that the agents were trained under."""

from collections.abc import Sequence
from typing import Any

from dancfr.agents.by_name import game_options_of
from dancfr.errors import UsageError
from dancfr.evaluation.lengths import LENGTHS, PLY_LIMITS, WHOLE
from dancfr.games.registry import PETTINGZOO, known_options, make_game, read_options
from envs.game import Game, RaggedGame


def match_rules(
    game: str, agents: Sequence[str], settings: Sequence[str] = (), ply_limit: int | None = None
) -> tuple[Game | RaggedGame, dict[str, Any]]:
    """Returns the game that the agents play, and its options.

    The options are those of the first agent that is a trained run, or the game's defaults if all are bots (in Geister
    with forced escape and random layouts), except for the length of the game, which `PLY_LIMITS` and `LENGTHS` give,
    and for the history of ghosts in Geister, which the game has if any of the agents observes it.

    Args:
        game: Name of the game.
        agents: Names, see `dancfr.agents.by_name`.
        settings: ``key=value`` options, which take precedence over all others.
        ply_limit: Number of plies after which a game is a draw; None: `PLY_LIMITS`, or else the game's own limit.

    Raises:
        UsageError: the game or an option does not exist, a value is not valid, or the game has no ply limit to set.
    """
    given = read_options(game, settings)
    key = "max_plies" if game.startswith(PETTINGZOO) else "ply_limit"
    if ply_limit is not None:
        if key in given:
            raise UsageError(f"--ply-limit and --option {key} set the same limit: leave one of them out")
        known = known_options(game)
        if known is not None and key not in known:
            raise UsageError(f"{game} has no ply limit: leave out --ply-limit")
        given[key] = ply_limit
    trained_on = [game_options_of(name, game) for name in agents]
    trained = next(filter(None, trained_on), {})
    if any(options.get("history") for options in trained_on):
        trained = trained | {"history": True}
    lengths = {"ply_limit": PLY_LIMITS[game]} if game in PLY_LIMITS else LENGTHS.get(game, {})
    whole = WHOLE.get(game, {}) if given.get("length") == "match" else {}
    options = trained | lengths | whole | given
    return make_game(game, **options), options
