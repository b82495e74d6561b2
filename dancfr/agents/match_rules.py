"""Under which rules agents meet: those the command says, else those they were trained under, with their own length."""

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
    """The game that agents are to play, and its options.

    It has the options under which the first of them that is a trained run was trained (for bots: the game's defaults,
    in Geister forced escape and random layouts), but its own length: `PLY_LIMITS`, `LENGTHS`.

    Args:
        game: Its name.
        agents: Names, see `dancfr.agents.by_name`.
        settings: ``key=value`` options, which come before all others.
        ply_limit: Length after which a game is a draw; None takes that of `PLY_LIMITS`, else the game's own.

    Raises:
        UsageError: an unknown game or option, a value that it does not take, or a limit for a game without one.
    """
    given = read_options(game, settings)
    key = "max_plies" if game.startswith(PETTINGZOO) else "ply_limit"
    if ply_limit is not None:
        if key in given:
            raise UsageError(f"--ply-limit and --option {key} say the same: leave one out")
        known = known_options(game)
        if known is not None and key not in known:
            raise UsageError(f"{game} has no limit of plies: leave out --ply-limit")
        given[key] = ply_limit
    trained = next(filter(None, (game_options_of(name, game) for name in agents)), {})
    lengths = {"ply_limit": PLY_LIMITS[game]} if game in PLY_LIMITS else LENGTHS.get(game, {})
    whole = WHOLE.get(game, {}) if given.get("length") == "match" else {}
    options = trained | lengths | whole | given
    return make_game(game, **options), options
