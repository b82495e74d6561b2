"""Half an hour of training: no process grows."""

import os
import time
from pathlib import Path
from statistics import median

import psutil
import pytest

from tests.faults.training import training

MINUTES = float(os.environ.get("DANCFR_SOAK_MINUTES", "30"))
WARM_UP = 0.25
"""Share of the time in which buffers fill and allocators settle."""
GROWTH = 0.05
"""Largest growth of a process's memory from the quarter after that to the last one, as a share."""
SLACK = 8 << 20
"""Bytes of growth that are tolerated in addition to the share."""


@pytest.mark.long
@pytest.mark.timeout(int(60 * MINUTES) + 600)
def test_the_memory_of_every_process_is_flat(tmp_path: Path) -> None:
    seen: dict[tuple[int, str], list[tuple[float, int]]] = {}
    with training(tmp_path / "run", "iterations=1000000", "checkpoint_every=50", "--workers", "1") as run:
        run.reach(5)
        begin = time.monotonic()
        while (now := time.monotonic() - begin) < 60 * MINUTES:
            assert run.process.poll() is None, run.told()
            for key, used in memory(run.process.pid).items():
                seen.setdefault(key, []).append((now, used))
            time.sleep(5)
        iterations = run.iteration()
        run.process.terminate()
        assert run.end() == 0, run.told()
    assert not run.rows("event")
    lasting = {key: at for key, at in seen.items() if at[-1][0] > 60 * MINUTES - 30 and at[0][0] < 60}
    assert any("DreamTraverser" in name for _, name in lasting)
    grown = {}
    for (pid, name), at in sorted(lasting.items(), key=lambda entry: entry[0][1]):
        early, late = between(at, WARM_UP, 0.5), between(at, 0.75, 1.0)
        print(f"{name[:40]:40} {early / 2**20:8.1f} -> {late / 2**20:8.1f} MiB")
        if late > early * (1 + GROWTH) + SLACK:
            grown[pid, name] = early, late
    print(f"{iterations} iterations in {MINUTES:g} minutes")
    assert not grown


def memory(root: int) -> dict[tuple[int, str], int]:
    """Bytes that only it holds, of the driver and every process below it."""
    found = {}
    for process in [psutil.Process(root), *psutil.Process(root).children(recursive=True)]:
        try:
            command = process.cmdline()
            name = command[0] if command and command[0].startswith("ray::") else process.name()
            if not name.startswith("ray::IDLE"):  # spare processes come and go
                found[process.pid, name.split(".")[0]] = process.memory_full_info().uss
        except psutil.Error:
            continue
    return found


def between(at: list[tuple[float, int]], start: float, end: float) -> float:
    return median(used for when, used in at if start * 60 * MINUTES <= when <= end * 60 * MINUTES)
