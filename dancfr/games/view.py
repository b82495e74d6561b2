"""The PettingZoo environment of a game with numbered actions, without wrappers: its encoding, spaces and pictures."""

from dancfr.errors import UsageError
from envs.game import Game, GameBase
from envs.pettingzoo_view import GameEnv


def numbered_game(name: str, game: GameBase, needed_by: str) -> Game:
    """Returns a game as one with numbered actions.

    Args:
        name: Its name.
        game: The game.
        needed_by: What numbers the actions, at the start of a clause: ``an environment of gymnasium numbers them``.

    Raises:
        UsageError: it lists its actions.
    """
    if not isinstance(game, Game):
        raise UsageError(
            f"{name} lists its actions, and {needed_by}: use its PettingZoo environment, "
            f"dancfr.make_game({name!r}).env()"
        )
    return game


def view_of(game: Game, encoding: str | None = None, render_mode: str | None = None) -> GameEnv:
    """Makes the PettingZoo environment of a game without wrappers, of the game's own class if it has one.

    Args:
        game: The game.
        encoding: One of `game.spec.shapes`; None: that of the environment, which `GameEnv.encoding` names.
        render_mode: One of the environment's ``metadata["render_modes"]``.

    Raises:
        UsageError: the encoding or the render mode does not exist.
    """
    if encoding is not None and encoding not in game.spec.shapes:
        raise UsageError(f"encoding must be one of {list(game.spec.shapes)} in {game.spec.name}, got {encoding!r}")
    try:
        view = game.raw_env(render_mode) if hasattr(game, "raw_env") else GameEnv(game, render_mode=render_mode)
    except ValueError as error:
        raise UsageError(f"{game.spec.name}: {error}") from None
    assert isinstance(view, GameEnv)
    view.encoding = encoding or view.encoding
    return view


__all__ = ["numbered_game", "view_of"]
