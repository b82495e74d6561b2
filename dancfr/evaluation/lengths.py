"""Length of evaluation games, which does not depend on the length that a run was trained on."""

from dataclasses import is_dataclass, replace

from dancfr.games.registry import all_games
from envs.game import GameBase


def evaluated_as(game: GameBase) -> GameBase:
    """Returns the game that evaluates runs trained on `game`, see `GameRecord.in_evaluations`."""
    record = all_games().get(game.spec.name)
    if record is None or not record.in_evaluations:
        return game
    assert is_dataclass(game)
    assert not isinstance(game, type)
    return replace(game, **record.in_evaluations)
