"""Benchmarks: each measures a part of the program, on one core, and what limits it in the same process.

A benchmark is a function of the seconds that it may take, roughly, and returns what `dancfr bench NAME --json` prints:
``name``, ``rate``, ``unit``, ``limit`` (in the same unit), ``ratio`` and ``detail``. Its docstring says what it is.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

Bench = Callable[..., dict[str, Any]]


def _measure(name: str, module: str, seconds: float) -> dict[str, Any]:
    """Runs a benchmark here if this process was started with one thread, else in a process that is.

    The threads of a BLAS library cannot be changed any more once NumPy has been imported.
    """
    if os.environ.get("OMP_NUM_THREADS") == "1":
        return importlib.import_module(f"dancfr.bench.{module}").measure(seconds)
    command = [sys.executable, "-m", "dancfr.bench", name, str(seconds)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def geister_env(seconds: float = 6.0) -> dict[str, Any]:
    """Random plies a second of Geister in batches of 512, masks included."""
    return _measure("geister-env", "environment", seconds)


def dream_traversal(seconds: float = 12.0) -> dict[str, Any]:
    """Decisions a second of DREAM's traversals at 512 games, beside bare inference."""
    return _measure("dream-traversal", "traversal", seconds)


def inference(seconds: float = 10.0) -> dict[str, Any]:
    """Rows a second of a forward pass at batch 512, by the backends there are."""
    return _measure("inference", "inference", seconds)


def dream_learner(seconds: float = 16.0) -> dict[str, Any]:
    """Rows a second that the advantage learner trains on, with the paper's network and batch."""
    return _measure("dream-learner", "learner", seconds)


def average_policy(seconds: float = 6.0) -> dict[str, Any]:
    """Milliseconds of a move by the average of 200 networks on one board."""
    return _measure("average-policy", "average", seconds)


def buffers(seconds: float = 5.0) -> dict[str, Any]:
    """Rows a second into and out of the reservoir, in blocks of 10,000."""
    return _measure("buffers", "buffers", seconds)


BENCHES: dict[str, Bench] = {
    "geister-env": geister_env,
    "dream-traversal": dream_traversal,
    "inference": inference,
    "dream-learner": dream_learner,
    "average-policy": average_policy,
    "buffers": buffers,
}
