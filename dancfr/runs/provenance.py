"""Versions of the code and the packages that a result was made with."""

import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import dancfr

PACKAGES = ("ray", "torch", "numpy", "numba", "gymnasium", "pettingzoo", "wandb", "pydantic", "safetensors")


def git_revision() -> str | None:
    """Commit of this package's source tree, followed by ``+changes`` if files differ; None outside of git."""
    root = Path(dancfr.__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return commit + ("+changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):  # git is missing, or a repository without a commit
        return None


def provenance() -> dict[str, Any]:
    """Versions of dancfr, its source tree, Python, and those of `PACKAGES` that are installed."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "version": dancfr.__version__,
        "git_revision": git_revision(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
    }


def _git(root: Path, *arguments: str) -> str:
    result = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=10
    )
    return result.stdout.strip()
