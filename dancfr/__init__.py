"""Train, solve and measure agents for imperfect-information games.

The names of this module are the library. Each is imported when it is first used, so that `import dancfr` is quick and
needs neither torch nor Ray; the command line calls the same functions.

Importing this package makes sure that `envs`, `learners` and `actors` are those beside it, whatever the module search
path contains. It also registers the games as environments of gymnasium, see `dancfr.gym`.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dancfr.gym import register_when_imported

if TYPE_CHECKING:
    from dancfr.agents.by_name import make_agent as make_agent
    from dancfr.agents.exact import exact_response as exact_response
    from dancfr.agents.exact import exploitability as exploitability
    from dancfr.agents.functions import policy_agent as policy_agent
    from dancfr.agents.match import play as play
    from dancfr.agents.response import best_response as best_response
    from dancfr.agents.solving import solve as solve
    from dancfr.agents.tournament import tournament as tournament
    from dancfr.agents.trained import load_run as load_run
    from dancfr.agents.trained import train as train
    from dancfr.games.check import check as check
    from dancfr.games.registry import make_game as make_game
    from dancfr.seeds import load_seeds as load_seeds
    from dancfr.seeds import train_seeds as train_seeds

_ROOT = Path(__file__).resolve().parent.parent
_SIBLINGS = ("envs", "learners", "actors")


def _find_version() -> str:
    """Version of this very copy: of the source tree around it, or else of the installed distribution.

    The source tree comes first because an installed copy of another version may lie on the same path.
    """
    project = _ROOT / "pyproject.toml"
    if project.is_file():
        import tomllib

        table = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {})
        if table.get("name") == "dancfr":
            return str(table["version"])
    return metadata.version("dancfr")


class _SiblingFinder:
    """Finds `envs`, `learners` and `actors` beside this package.

    These names are common, and the folder of a user's own project, which may have packages of these names, often comes
    first on the module search path. In Ray's workers it always does.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if package not in _SIBLINGS:
            return None
        spec = PathFinder.find_spec(name, [str(_ROOT)] if path is None else path)
        if spec is None and path is not None:
            from actors.packages import shadowing

            if (other := shadowing(sys.path, [package])) is not None:
                raise ModuleNotFoundError(
                    f"no module {name!r} in dancfr's package {package!r}, which takes the place of {other} here: give "
                    "that package another name",
                    name=name,
                )
        return spec


def pin_packages() -> None:
    """Makes `envs`, `learners` and `actors` the packages beside this one in this process.

    Importing this package calls it; by its name, Ray's workers call it before they import anything else.

    Raises:
        ImportError: One of them is missing, or a package of another project with its name has been imported already.
    """
    if _SiblingFinder not in sys.meta_path:
        sys.meta_path.insert(0, _SiblingFinder)
    for name in _SIBLINGS:
        spec, loaded = PathFinder.find_spec(name, [str(_ROOT)]), sys.modules.get(name)
        place = loaded and Path(next(iter(getattr(loaded, "__path__", ())), loaded.__file__ or "")).resolve()
        if spec is None:
            raise ImportError(
                f"dancfr is loaded from {_ROOT} but its package {name!r} is missing: install dancfr again"
            )
        if place is not None and place.parent != _ROOT:
            raise ImportError(
                f"dancfr is loaded from {_ROOT} but its package {name!r} cannot be, because the {name!r} at "
                f"{place} was imported before: import dancfr first, or give that package another name"
            )


pin_packages()
register_when_imported()
__version__ = _find_version()

_PLACES = {
    "make_game": "dancfr.games.registry",
    "check": "dancfr.games.check",
    "make_agent": "dancfr.agents.by_name",
    "policy_agent": "dancfr.agents.functions",
    "play": "dancfr.agents.match",
    "tournament": "dancfr.agents.tournament",
    "solve": "dancfr.agents.solving",
    "exploitability": "dancfr.agents.exact",
    "exact_response": "dancfr.agents.exact",
    "best_response": "dancfr.agents.response",
    "train": "dancfr.agents.trained",
    "load_run": "dancfr.agents.trained",
    "train_seeds": "dancfr.seeds",
    "load_seeds": "dancfr.seeds",
}
"""The library: each name and the module that has it."""


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})


__all__ = [
    "__version__",
    "best_response",
    "check",
    "exact_response",
    "exploitability",
    "load_run",
    "load_seeds",
    "make_agent",
    "make_game",
    "play",
    "policy_agent",
    "solve",
    "tournament",
    "train",
    "train_seeds",
]
