"""Games as PettingZoo environments: the method `env` of every game of this repository."""

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from envs.game import Game, GameBase, ListedGame

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pettingzoo import AECEnv


class Playable:
    """A base class for games: gives them `env`. PettingZoo is imported by the call, not by the rules."""

    illegal_reward: ClassVar[float] = -1.0
    """Reward of a player whose illegal action has ended the environment."""

    def raw_env(self, render_mode: str | None = None, **options: Any) -> "AECEnv":
        """Creates the environment without wrappers; games with pictures or options of their view override this."""
        from envs.pettingzoo_view import GameEnv
        from envs.ragged_view import ListedGameEnv

        if hasattr(self, "action_dtype"):
            return ListedGameEnv(cast(ListedGame, self), render_mode=render_mode, **options)
        return GameEnv(cast(Game, self), render_mode=render_mode, **options)

    def env(self, render_mode: str | None = None, **options: Any) -> "AECEnv":
        """Creates a PettingZoo AEC environment of this game with the usual wrappers.

        Args:
            render_mode: One of the environment's ``metadata["render_modes"]``, such as ``ansi``.
            options: Options of the environment that are not rules, such as ``view``.

        Raises:
            TypeError: the environment has no such option.
            ValueError: an option is not valid, or is one of the game.
        """
        from envs.pettingzoo_view import wrapped

        rules = rules_of(self).keys() - {"name"} if is_dataclass(self) else ()  # environments have a name, too
        if rule := next((option for option in options if option in rules), None):
            name = cast(Game, self).spec.name
            raise ValueError(f"{name}: {rule} is an option of the game: pass it when making the game")
        return wrapped(self.raw_env(render_mode=render_mode, **options), self.illegal_reward)


class PlayableGame(GameBase, Protocol):
    """A game that makes its environment: to a type checker, a `GameBase` whose class derives from `Playable`."""

    def raw_env(self, render_mode: str | None = None, **options: Any) -> "AECEnv":
        """See `Playable.raw_env`."""
        ...

    def env(self, render_mode: str | None = None, **options: Any) -> "AECEnv":
        """See `Playable.env`."""
        ...


def rules_of(game: "DataclassInstance") -> dict[str, Any]:
    """Returns the options of a game that is a dataclass, as keyword arguments that make an equal game."""
    return {each.name: getattr(game, each.name) for each in fields(game) if each.init}
