"""Rules of a match: those of the command, or else those that the agents were trained under."""

from collections.abc import Mapping, Sequence
from typing import Any

from dancfr.agents.by_name import game_options_of
from dancfr.errors import UsageError
from dancfr.games.registry import PETTINGZOO, all_games, known_options, make_game, read_options
from envs.game import GameBase


def match_rules(
    game: str,
    agents: Sequence[object],
    settings: Mapping[str, Any] | Sequence[str] = (),
    ply_limit: int | None = None,
) -> tuple[GameBase, dict[str, Any]]:
    """Returns the game that the agents play, and its options.

    The options are those that the first agent with rules of its own was made for, such as a trained run, or the game's
    defaults if all are bots (in Geister with forced escape and random layouts), except for the length of the game,
    which `GameRecord.in_matches` gives, and for `GameRecord.turned_on`, such as the history of ghosts in Geister.

    Args:
        game: Name of the game.
        agents: Names, see `dancfr.agents.by_name`, or objects.
        settings: Options by name or as ``key=value``, which take precedence over all others.
        ply_limit: Number of plies after which a game is a draw; None: that of `GameRecord.in_matches`, or else the
            game's own limit.

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
    trained_on = [game_options_of(agent, game) for agent in agents]
    trained = next(filter(None, trained_on), {})
    options = dict(trained)
    if (record := all_games().get(game)) is not None:
        options |= {key: True for key in record.turned_on if any(each.get(key) for each in trained_on)}
        options |= record.in_matches
        for key, value in given.items():
            options |= record.implied.get(f"{key}={value}", {})
    options |= given
    return make_game(game, **options), options
