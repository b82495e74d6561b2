"""The program on top of `envs`, `learners` and `actors`: commands, methods, runs, evaluation, reports."""

import importlib.util
from importlib import metadata
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


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


def _check_siblings() -> None:
    """Names like `envs` are common: a foreign package of that name must not be taken for ours.

    Raises:
        ImportError: a sibling package is missing or would be imported from elsewhere.
    """
    for name in ("envs", "learners", "actors"):
        spec = importlib.util.find_spec(name)
        folders = [Path(place).resolve().parent for place in (spec.submodule_search_locations or ())] if spec else []
        if not folders or folders[0] != _ROOT:
            found = f"comes from {folders[0]}" if folders else "is missing"
            raise ImportError(
                f"dancfr is loaded from {_ROOT} but its package '{name}' {found}: "
                "remove the other distribution, or install dancfr in an environment of its own"
            )


_check_siblings()
__version__ = _find_version()

__all__ = ["__version__"]
