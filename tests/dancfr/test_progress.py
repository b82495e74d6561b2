"""Progress: lines now and then without a terminal, a bar on one."""

import os
import pty
import subprocess
import sys

import pytest

from dancfr import progress as module
from dancfr.progress import Progress, duration


def test_without_a_terminal_lines_come_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    with Progress(100, minutes=2) as progress:
        progress.phase("traversal")
        for iteration in range(1, 41):
            clock[0] += 1
            row = {"traversal/decisions_per_second": 123_456.0}
            progress.advance(iteration, float(iteration), row, {"average/rush": 0.961} if iteration > 30 else {})
        progress.event("worker 1 died")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4 + 2
    assert lines[0] == "iteration 1/100  1.00/s  1:39 min left  123k decisions/s"
    assert lines[3].endswith("average/rush 96 %")
    assert lines[4] == "worker 1 died"
    assert lines[5].startswith("iteration 40/100  1.00/s  1:00 min left")


def test_disabled_progress_shows_events_only(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(10, enabled=False) as progress:
        progress.resumed(3)
        progress.advance(4, 1.0)
        progress.event("checkpoint failed")
    assert capsys.readouterr().err == "checkpoint failed\n"


def test_a_resumed_run_counts_its_speed_from_there(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(100) as progress:
        progress.resumed(50, 1000.0)
        progress.advance(60, 1020.0)
    assert capsys.readouterr().err.splitlines() == [
        "resumed after iteration 50",
        "iteration 60/100  2.0 s each  1:20 min left",
    ]


BAR = """
import time
from dancfr.progress import Progress
with Progress(4) as progress:
    progress.phase("training")
    for iteration in range(1, 5):
        progress.advance(iteration, float(iteration))
    progress.event("a message")
"""


def test_on_a_terminal_there_is_a_bar() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BAR], stderr=theirs, stdout=subprocess.PIPE, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the terminal's other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == b""
    text = shown.decode()
    assert "training" in text
    assert "100%" in text
    assert "a message" in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.4, "59 s"), (185, "3:05 min"), (7800, "2:10 h"), (360_000, "100:00 h")]
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert duration(seconds) == text
