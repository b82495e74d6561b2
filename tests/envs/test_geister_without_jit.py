"""The rules run without Numba's compiler too, for debuggers and coverage."""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def test_rules_without_compiler() -> None:
    parts = [
        "test_geister_rules.py",
        "test_geister_recordings.py",
        "test_players.py::test_each_feature",
        "test_players.py::test_choose_uniform_takes_the_allowed_action_of_that_rank",
    ]
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *(str(FOLDER / part) for part in parts),
        ],
        cwd=FOLDER.parent.parent,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
