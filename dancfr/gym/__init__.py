"""Gymnasium environments of the games with numbered actions, by the ids ``dancfr/NAME-v0``.

`import dancfr` registers the ids as soon as gymnasium is imported, before or after, and imports neither gymnasium nor
NumPy for it.
"""

import sys
from collections.abc import Callable, Sequence
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
"""Names of the games that have an id; written down here, since importing the registry of games takes a second."""

ANY_GAME = "dancfr/Game-v0"
"""Id of an environment of any game, whose name, or the game itself, is the argument `game`."""

_REGISTRATION = "gymnasium.envs.registration"


def id_of(name: str) -> str:
    """Returns the id of a game's environment: ``dancfr/MiniGeister-v0`` for ``mini-geister``."""
    words = name.replace("_", "-").split("-")
    return f"dancfr/{''.join(word[:1].upper() + word[1:] for word in words)}-v0"


def register() -> None:
    """Registers the environments with gymnasium; ids that are registered already are left as they are."""
    from gymnasium.envs import registration

    _register(registration)


def register_when_imported() -> None:
    """Registers the environments now if gymnasium has been imported, or else as soon as it is."""
    if _REGISTRATION in sys.modules:
        register()
    elif _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def _register(registration: ModuleType) -> None:
    known: dict[str, dict[str, Any]] = {ANY_GAME: {}} | {id_of(name): {"game": name} for name in GAMES}
    for env_id, kwargs in known.items():
        if env_id not in registration.registry:
            registration.register(env_id, "dancfr.gym.environment:SingleAgentEnv", kwargs=kwargs)


class _Finder:
    """Finds gymnasium's registry as usual, and registers the environments when it has been imported."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _REGISTRATION:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = _followed_by(spec.loader.exec_module)  # type: ignore[method-assign, assignment]
        return spec


def _followed_by(execute: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    """Returns a function that executes the module of gymnasium's registry, then registers the environments there."""

    def call(module: ModuleType) -> None:
        execute(module)
        _register(module)

    return call


__all__ = ["ANY_GAME", "GAMES", "id_of", "register"]
