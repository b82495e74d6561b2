"""The package in `examples/package`, with a game and a method of its own, as pip installs it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXTENSION = Path(__file__).resolve().parents[2] / "examples" / "package"


def install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installs the package into a new folder, and returns the folder."""
    source = tmp_path_factory.mktemp("source") / "pennies"
    shutil.copytree(EXTENSION, source)  # building writes into the tree
    target = tmp_path_factory.mktemp("target")
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True, timeout=120)
    return target
