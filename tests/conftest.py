"""What every test shares: one thread a process, no outside service, repeatable random examples.

The environment is set while pytest starts, before any test module imports NumPy, torch, Ray or W&B; processes
that tests start inherit it.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ["OMP_NUM_THREADS"] = "1"

# W&B: neither a developer's settings nor their key may decide what a test does or send it over the network.
for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_PROJECT", "WANDB_ENTITY", "WANDB_RUN_ID", "WANDB_DIR"):
    os.environ.pop(name, None)
os.environ["NETRC"] = os.devnull
os.environ["WANDB_SILENT"] = "true"

# Ray: a local instance for each test that wants one, never one that happens to run on this machine.
os.environ.pop("RAY_ADDRESS", None)
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_DISABLE_IMPORT_WARNING"] = "1"

# Figures are drawn into files, windows into memory.
os.environ["MPLBACKEND"] = "Agg"
os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"

# No deadline: the first example of a test may compile a kernel. In CI the examples are the same in every run.
settings.register_profile("default-dancfr", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default-dancfr"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "default-dancfr")


STARTING = ("actors/test_pool", "actors/test_remote", "dancfr/experiments/", "dancfr/evaluation/test_reproduce")
STARTING += ("dancfr/serve/test_processes", "dancfr/test_cli", "dancfr/test_checkpoints", "packaging/")
"""Beginnings of the names of test files whose tests start Ray, servers or many processes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes run the tests, one of them runs all that start processes of their own, so that no two of
    those meet; the tests of any other file stay together, since they share what was compiled."""
    for item in items:
        name = item.path.relative_to(Path(__file__).parent).as_posix()
        group = "processes" if name.startswith(STARTING) else name
        item.add_marker(pytest.mark.xdist_group(group))
