"""Tests that commands compute on one thread, or on the number that the environment sets."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from actors.cluster import THREADS
from actors.packages import ROOT

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="threads are counted in /proc")


def most_threads(**environment: str) -> int:
    """The largest number of threads that a running command had."""
    kept = {name: value for name, value in os.environ.items() if name not in THREADS}
    words = ("evaluate", "random", "--game", "kuhn", "--against", "random", "--games", "20000")
    process = subprocess.Popen(
        [sys.executable, "-m", "dancfr", *words], cwd=ROOT, env=kept | environment, stdout=subprocess.DEVNULL
    )
    most = 0
    while process.poll() is None:
        try:
            most = max(most, len(os.listdir(f"/proc/{process.pid}/task")))
        except FileNotFoundError:
            break
        time.sleep(0.01)
    assert process.wait(60) == 0
    return most


def test_a_command_computes_on_one_thread_unless_the_environment_asks_for_more() -> None:
    assert most_threads() == 1
    assert most_threads(OMP_NUM_THREADS="3") == 3


def test_torch_computes_on_one_thread() -> None:
    code = (
        "from dancfr.cli import main\n"
        "try: main(['version'])\n"
        "except SystemExit: import torch; print(torch.get_num_threads())"
    )
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "1", done.stderr
