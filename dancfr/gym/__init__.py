"""Ids of environments: ``dancfr/NAME-v0`` of Gymnasium for games with numbered actions, and of PettingZoo for all.

`import dancfr` registers the ids as soon as gymnasium or PettingZoo is imported, before or after, and imports neither
of them, nor NumPy, for it. Games of installed packages have ids too, of both kinds, by the names of their entry points:
the packages are imported when an environment is made.
"""

import importlib
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

GAMES = (
    "geister",
    "mini-geister",
    "cheat",
    "mini-cheat",
    "kuhn",
    "leduc",
    "leduc_2b2r",
    "goofspiel",
    "goofspiel5",
    "oshi_zumo",
    "oshi_zumo8_k1",
    "oshi_zumo8_k3",
    "liars_dice",
    "liars_dice5",
    "liars_dice_2d5f",
    "phantom_ttt",
    "phantom_ttt_abrupt",
    "dark_hex",
    "dark_hex3",
    "dark_hex3_abrupt",
)
"""Names of the games with numbered actions; written down here, since importing the registry of games takes a second."""

LISTED_GAMES = ("guandan",)
"""Names of the games without numbered actions, which have an id of PettingZoo alone."""

ANY_GAME = "dancfr/Game-v0"
"""Id of an environment of any game, whose name, or the game itself, is the argument `game`."""

_OfModule = Callable[[ModuleType], None]
_GYMNASIUM, _PETTINGZOO = "gymnasium.envs.registration", "pettingzoo.env_registry.registration"


def id_of(name: str) -> str:
    """Returns the id of a game's environment in gymnasium: ``dancfr/MiniGeister-v0`` for ``mini-geister``."""
    words = name.replace("_", "-").split("-")
    return f"dancfr/{''.join(word[:1].upper() + word[1:] for word in words)}-v0"


def aec_id_of(name: str) -> str:
    """Returns the id of a game's environment in PettingZoo: ``dancfr/mini-geister-v0`` for ``mini-geister``."""
    return f"dancfr/{name}-v0"


def register() -> None:
    """Registers the environments with gymnasium and PettingZoo; ids that are registered already are left as they are.

    PettingZoo has a registry since version 1.27; older ones have no ids.
    """
    for name in _REGISTRARS:
        with suppress(ModuleNotFoundError):
            _REGISTRARS[name](importlib.import_module(name))


def register_when_imported() -> None:
    """Registers the environments now where the registry has been imported, or else as soon as it is."""
    for name, registrar in _REGISTRARS.items():
        if name in sys.modules:
            registrar(sys.modules[name])
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def games_of_packages() -> tuple[str, ...]:
    """Returns the names of the entry points by which installed packages register games."""
    from dancfr.extensions import GAME_GROUP

    names = sorted(entry.name for entry in metadata.entry_points(group=GAME_GROUP))
    return tuple(name for name in names if re.fullmatch(r"[\w-]+", name) and name not in (*GAMES, *LISTED_GAMES))


def _register_with_gymnasium(registration: ModuleType) -> None:
    names = (*GAMES, *games_of_packages())
    known: dict[str, dict[str, Any]] = {ANY_GAME: {}} | {id_of(name): {"game": name} for name in names}
    for env_id, kwargs in known.items():
        if env_id not in registration.registry:
            registration.register(
                env_id,
                "dancfr.gym.environment:SingleAgentEnv",
                kwargs=kwargs,
                vector_entry_point="dancfr.gym.vector:SingleAgentVectorEnv",
            )


def _register_with_pettingzoo(registration: ModuleType) -> None:
    for name in (*GAMES, *LISTED_GAMES, *games_of_packages()):
        if aec_id_of(name) not in registration.aec_registry:
            registration.register("aec", aec_id_of(name), "dancfr.gym:make_aec_env", kwargs={"game": name})


_REGISTRARS: dict[str, _OfModule] = {_GYMNASIUM: _register_with_gymnasium, _PETTINGZOO: _register_with_pettingzoo}
"""Functions that register the environments in the registry of a library, by the name of its module."""


def make_aec_env(game: str, render_mode: str | None = None, view: int | None = None, **options: Any) -> Any:
    """Makes the PettingZoo environment of a game, for ``pettingzoo.make("aec", "dancfr/geister-v0", ...)``.

    Args:
        game: Name of a game.
        render_mode: One of the environment's ``metadata["render_modes"]``.
        view: Player whose view is rendered; None: everything is shown.
        options: Options of the game.

    Raises:
        UsageError: the game or an option does not exist, or a game of an installed package has no environment.
    """
    from dancfr.errors import UsageError
    from dancfr.games.registry import make_game
    from envs.playable import Playable

    shown, rules = {} if view is None else {"view": view}, make_game(game, **options)
    if not isinstance(rules, Playable):
        raise UsageError(f"{game} has no environment of PettingZoo: derive its class from envs.playable.Playable")
    return rules.env(render_mode=render_mode, **shown)


class _Finder:
    """Finds the registries as usual, and registers the environments when one has been imported."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in _REGISTRARS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            followed = _followed_by(spec.loader.exec_module, _REGISTRARS[name])
            spec.loader.exec_module = followed  # type: ignore[method-assign, assignment]
        return spec


def _followed_by(execute: _OfModule, registrar: _OfModule) -> _OfModule:
    """Returns a function that executes the module of a registry, then registers the environments there."""

    def call(module: ModuleType) -> None:
        execute(module)
        registrar(module)

    return call


__all__ = ["ANY_GAME", "GAMES", "LISTED_GAMES", "aec_id_of", "id_of", "make_aec_env", "register"]
