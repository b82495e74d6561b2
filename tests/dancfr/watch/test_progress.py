"""Progress: lines now and then without a terminal, a bar on one."""

import os
import pty
import re
import subprocess
import sys

import pytest

from dancfr.watch import progress as module
from dancfr.watch.progress import Progress, describe_wins, duration, fitted, readable

START = "starting, compiling kernels that are not cached yet ..."
OPPONENTS = ("random", "heuristic", "rush")


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
            progress.advance(iteration, float(iteration), row, {"average/rush": 0.961} if iteration > 15 else {})
        progress.event("worker 1 died")
    assert capsys.readouterr().err.splitlines() == [
        START,
        "iteration 1  1:59 min left  123k decisions/s",
        "iteration 11/100  1.0 s each  1:29 min left  123k decisions/s",
        "iteration 21/100  1.0 s each  1:19 min left  123k decisions/s  wins of average: rush 96 %",
        "iteration 31/100  1.0 s each  1:09 min left  123k decisions/s",
        "worker 1 died",
        "iteration 40/100  1.0 s each  1:00 min left  123k decisions/s",
    ]


def test_disabled_progress_shows_events_only(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(10, enabled=False) as progress:
        progress.resumed(3)
        progress.advance(4, 1.0)
        progress.event("checkpoint failed")
    assert capsys.readouterr().err == "checkpoint failed\n"


def last_line(capsys: pytest.CaptureFixture[str], progress: Progress, ends: dict[int, float]) -> str:
    """What is said after iterations that ended after so many seconds."""
    with progress:
        for iteration, seconds in ends.items():
            progress.advance(iteration, seconds)
    return capsys.readouterr().err.splitlines()[-1]


def test_iterations_that_the_time_limit_will_cut_off_are_not_promised(capsys: pytest.CaptureFixture[str]) -> None:
    ends = {iteration: 0.5 * iteration for iteration in range(1, 28)}
    assert last_line(capsys, Progress(100_000, minutes=5), ends) == "iteration 27  0.50 s each  4:46 min left"
    assert last_line(capsys, Progress(100, minutes=5), ends) == "iteration 27/100  0.50 s each  36 s left"
    assert last_line(capsys, Progress(100_000), ends) == "iteration 27/100000  0.50 s each  13:53 h left"
    assert last_line(capsys, Progress(27, minutes=5), ends) == "iteration 27/27  0.50 s each  0 s left"
    assert last_line(capsys, Progress(1, minutes=5), {1: 3.0}) == "iteration 1/1"


def test_the_pace_is_that_of_the_recent_iterations(capsys: pytest.CaptureFixture[str]) -> None:
    """The first iteration compiles kernels, and later ones may become slower."""
    assert last_line(capsys, Progress(10), {1: 25.0}) == "iteration 1/10"
    assert last_line(capsys, Progress(10), {1: 25.0, 2: 27.0}) == "iteration 2/10  2.0 s each  16 s left"
    fast = {iteration: 0.01 * iteration for iteration in range(1, 5001)}
    assert last_line(capsys, Progress(6000), fast) == "iteration 5000/6000  100/s  10 s left"
    slower = fast | {5000 + more: 50 + 20.0 * more for more in range(1, 21)}
    assert last_line(capsys, Progress(5050), slower) == "iteration 5020/5050  20 s each  10:00 min left"


def test_a_resumed_run_counts_its_speed_from_there(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(100) as progress:
        progress.resumed(50, 1000.0)
        progress.advance(59, 1045.0)
        progress.advance(60, 1047.0)
    assert capsys.readouterr().err.splitlines() == [
        START,
        "resumed after iteration 50, 16:40 min of training",
        "iteration 59/100",
        "iteration 60/100  2.0 s each  1:20 min left",
    ]


def test_win_rates_are_short_and_a_line_has_room_for_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    latest = {
        f"{policy}/{opponent}": rate
        for policy, rates in {"average": (0.99, 0.968, 1.0), "last": (0.981, 0.5, 0.004)}.items()
        for opponent, rate in zip(OPPONENTS, rates, strict=True)
    }
    wins = "wins of average: random 99, heuristic 97, rush 100 %, of last: 98, 50, 0 %"
    assert describe_wins(latest) == wins
    assert (
        describe_wins({"average/random": 0.5, "last/rush": 1.0}) == "wins of average: random 50 %, of last: rush 100 %"
    )
    assert describe_wins({}) == ""
    with Progress(100_000) as progress:
        for iteration in range(1200, 1204):
            row = {"traversal/decisions_per_second": 123_456.0}
            progress.advance(iteration, 1.0 * iteration, row, latest if iteration > 1201 else {})
    lines = capsys.readouterr().err.splitlines()
    assert lines[3] == f"iteration 1202/100000  27:26 h left  {wins}"
    assert lines[4] == "iteration 1203/100000  1.0 s each  27:26 h left  123k decisions/s"
    assert max(map(len, lines)) <= 118


def test_what_matters_least_is_given_up_first() -> None:
    parts = {"iteration": "iteration 7", "pace": "2.0 s each", "left": "9 s left", "speed": "1k decisions/s"}
    shown = [fitted(parts, width) for width in (80, 49, 48, 33, 32, 21, 20, 10)]
    everything, paced, timed = "  ".join(parts.values()), "iteration 7  2.0 s each  9 s left", "iteration 7  9 s left"
    assert shown == [everything, everything, paced, paced, timed, timed, "iteration 7", "iterati..."]


def test_workers_are_told_of_once_any_had_to_be_replaced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    with Progress(4) as progress:
        for iteration, (alive, replaced) in enumerate([(4, 0), (3, 1), (1, 3)], 1):
            row = {"workers/alive": alive, "workers/replaced": replaced, "selfplay/decisions_per_second": 900.0}
            progress.advance(iteration, 2.0 * iteration, row)
        progress.advance(4, 8.0, {"cfr/nodes_per_second": 4.5e6})
    assert capsys.readouterr().err.splitlines()[1:] == [
        "iteration 1/4  900 decisions/s",
        "iteration 2/4  2.0 s each  4 s left  3 workers, 1 replaced  900 decisions/s",
        "iteration 3/4  2.0 s each  2 s left  1 worker, 3 replaced  900 decisions/s",
        "iteration 4/4  2.0 s each  0 s left  4.5M nodes/s",
    ]


BAR = """
from dancfr.watch.progress import Progress
with Progress(4) as progress:
    progress.phase("training")
    for iteration in range(1, 5):
        row = {"traversal/decisions_per_second": 123_456.0}
        wins = {f"{policy}/{name}": 0.97 for policy in ("average", "last") for name in ("random", "heuristic", "rush")}
        progress.advance(iteration, 1000.0 * iteration, row, wins)
    progress.event("a message")
"""


def on_a_terminal(columns: int) -> list[str]:
    """Lines that `BAR` leaves on a terminal of that width, without colours and movements of the cursor."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BAR],
        stderr=theirs,
        stdout=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns)},
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
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r", "\n")
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("columns", "state"),
    [
        (120, "iteration 4/4  16:40 min each  0 s left  123k decisions/s"),
        (80, "iteration 4/4  16:40 min each  0 s left"),
        (50, "iteration 4/4"),
    ],
)
def test_on_a_terminal_there_is_a_bar_that_fits_its_width(columns: int, state: str) -> None:
    lines = on_a_terminal(columns)
    assert max(map(len, lines)) <= columns
    assert "a message" in lines
    bar = [line for line in lines if line.startswith("training")][-1]
    assert re.fullmatch(r"training +━{12,24} +100% +" + re.escape(state), bar)
    wins = "wins of average: random 97, heuristic 97, rush 97 %, of last: 97, 97, 97 %"
    assert lines[-1] == (wins if columns > len(wins) else wins[: columns - 1] + "…")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.4, "59 s"), (185, "3:05 min"), (7800, "2:10 h"), (360_000, "100:00 h")]
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(3.21, "3.2"), (28, "28"), (850.4, "850"), (999.6, "1.0k"), (1234, "1.2k"), (12_345, "12k"), (4.5e6, "4.5M")],
)
def test_numbers_are_readable(number: float, text: str) -> None:
    assert readable(number) == text
