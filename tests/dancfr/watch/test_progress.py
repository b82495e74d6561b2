"""Progress: lines now and then without a terminal, a bar on one."""

import os
import pty
import re
import subprocess
import sys

import pytest

from dancfr.watch import progress as module
from dancfr.watch.progress import Budget, Progress, Speed, Steps, duration, readable

DECISIONS = Speed("traversal/decisions_per_second", "decisions", "in traversals")


def test_without_a_terminal_lines_come_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    with Progress(100, minutes=2, speed=DECISIONS) as progress:
        progress.phase("traversal")
        for iteration in range(1, 41):
            clock[0] += 1
            row = {"traversal/decisions_per_second": 123_456.0}
            progress.advance(iteration, float(iteration), row, {"average/rush": 0.961} if iteration > 15 else {})
        progress.event("worker 1 died")
    assert capsys.readouterr().err.splitlines() == [
        "iteration 1  1:59 min left  123k decisions/s in traversals",
        "iteration 11/100  1:29 min left  1.0 s each  123k decisions/s in traversals",
        "iteration 21/100  1:19 min left  1.0 s each  123k decisions/s in traversals  wins of average: rush 96 %",
        "iteration 31/100  1:09 min left  1.0 s each  123k decisions/s in traversals",
        "worker 1 died",
        "iteration 40/100  1:00 min left  1.0 s each  123k decisions/s in traversals",
    ]


def test_a_result_is_not_followed_by_an_iteration_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(3) as progress:
        progress.advance(1, 1.0)
        progress.advance(2, 2.0)  # within the time between two lines
        progress.result("measuring")
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["iteration", "measuring"]


def test_disabled_progress_shows_events_only(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(10, enabled=False) as progress:
        progress.resumed(3)
        progress.advance(4, 1.0)
        progress.event("checkpoint failed")
    assert capsys.readouterr().err == "checkpoint failed\n"


def test_steps_of_the_start_are_told_and_noted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, noted = [1000.0], []
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    with Progress(9, note=noted.append) as progress:
        progress.step("starting Ray", "")
        clock[0] += 75
        progress.step("starting workers")
        clock[0] += 0.2
        progress.step("compiling")
        progress.step("iteration 1", "training for 9 iterations")
        progress.advance(1, 2.0)
        progress.step("recovering: a learner died", "")
        progress.step("compiling")
        clock[0] += 20
        progress.advance(2, 4.0)
    assert capsys.readouterr().err.splitlines() == [
        "starting workers ... (after 1:15 min of starting Ray)",
        "compiling ...",
        "training for 9 iterations",
        "iteration 1/9",
        "iteration 2/9  14 s left  2.0 s each",
    ]
    recovered = ["recovering: a learner died", None]
    assert noted == ["starting Ray", "starting workers", "compiling", "iteration 1", None, *recovered]


def last_line(capsys: pytest.CaptureFixture[str], progress: Progress, ends: dict[int, float]) -> str:
    """The progress shown after iterations that ended at the given seconds."""
    with progress:
        for iteration, seconds in ends.items():
            progress.advance(iteration, seconds)
    return capsys.readouterr().err.splitlines()[-1]


def test_iterations_that_the_time_limit_will_cut_off_are_not_promised(capsys: pytest.CaptureFixture[str]) -> None:
    ends = {iteration: 0.5 * iteration for iteration in range(1, 28)}
    assert last_line(capsys, Progress(100_000, minutes=5), ends) == "iteration 27  4:46 min left  0.50 s each"
    assert last_line(capsys, Progress(100, minutes=5), ends) == "iteration 27/100  36 s left  0.50 s each"
    assert last_line(capsys, Progress(100_000), ends) == "iteration 27/100000  13:53 h left  0.50 s each"
    assert last_line(capsys, Progress(27, minutes=5), ends) == "iteration 27/27  0 s left  0.50 s each"
    assert last_line(capsys, Progress(1, minutes=5), {1: 3.0}) == "iteration 1/1"


def test_iterations_that_a_limit_of_games_will_cut_off_are_not_promised(capsys: pytest.CaptureFixture[str]) -> None:
    """270 of 540 games took 13.5 s."""
    budget = Budget.of({"games": "games"}, {"games": 540})
    with Progress(100_000, budget=budget) as progress:
        for iteration in range(1, 28):
            progress.advance(iteration, 0.5 * iteration, {"games": 10 * iteration})
    assert capsys.readouterr().err.splitlines()[-1] == "iteration 27  14 s left  0.50 s each"
    assert Budget.of({"games": "games"}, {"games": None}) is Budget.of({}, {"games": 300}) is None
    assert Budget.of({"games": "games"}, {"games": 0}) is None, "a configuration edited by hand"


def test_the_pace_is_that_of_the_recent_iterations(capsys: pytest.CaptureFixture[str]) -> None:
    """The first iteration compiles kernels, and later ones may become slower."""
    assert last_line(capsys, Progress(10), {1: 25.0}) == "iteration 1/10"
    assert last_line(capsys, Progress(10), {1: 25.0, 2: 27.0}) == "iteration 2/10  16 s left  2.0 s each"
    fast = {iteration: 0.01 * iteration for iteration in range(1, 5001)}
    assert last_line(capsys, Progress(6000), fast) == "iteration 5000/6000  10 s left  100/s"
    slower = fast | {5000 + more: 50 + 20.0 * more for more in range(1, 21)}
    assert last_line(capsys, Progress(5050), slower) == "iteration 5020/5050  10:00 min left  20 s each"


def test_a_resumed_run_counts_its_speed_from_there(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(100) as progress:
        progress.resumed(50, 1000.0)
        progress.advance(59, 1045.0)
        progress.advance(60, 1047.0)
    assert capsys.readouterr().err.splitlines() == [
        "resumed after iteration 50, 16:40 min of training",
        "iteration 59/100",
        "iteration 60/100  1:20 min left  2.0 s each",
    ]


def test_workers_are_shown_once_any_had_to_be_replaced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    with Progress(4, speed=Speed("cfr/nodes_per_second", "nodes")) as progress:
        for iteration, (alive, replaced) in enumerate([(4, 0), (3, 1), (1, 3)], 1):
            row = {"workers/alive": alive, "workers/replaced": replaced, "cfr/nodes_per_second": 900.0}
            progress.advance(iteration, 2.0 * iteration, row)
        progress.advance(4, 8.0, {"cfr/nodes_per_second": 4.5e6})
    assert capsys.readouterr().err.splitlines() == [
        "iteration 1/4  900 nodes/s",
        "iteration 2/4  4 s left  3 workers, 1 replaced  2.0 s each  900 nodes/s",
        "iteration 3/4  2 s left  1 worker, 3 replaced  2.0 s each  900 nodes/s",
        "iteration 4/4  0 s left  2.0 s each  4.5M nodes/s",
    ]


BAR = """
from dancfr.watch.progress import Progress, Speed
with Progress(4, speed=Speed("traversal/decisions_per_second", "decisions")) as progress:
    progress.phase("training")
    for iteration in range(1, 5):
        row = {"traversal/decisions_per_second": 123_456.0}
        progress.advance(iteration, 1000.0 * iteration, row, {"average/random": 0.97} if iteration > 1 else {})
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
        (120, "iteration 4/4  0 s left  16:40 min each  123k decisions/s"),
        (80, "iteration 4/4  0 s left  16:40 min each  123k decisions/s"),
        (50, "iteration 4/4  0 s left  16:40 min each"),
    ],
)
def test_on_a_terminal_there_is_a_bar_that_fits_its_width(columns: int, state: str) -> None:
    """On a narrow one the bar makes way for the state."""
    lines = on_a_terminal(columns)
    assert max(map(len, lines)) <= columns
    assert "a message" in lines
    assert lines.count("iteration 2  wins of average: random 97 %") == 1
    bar = [line for line in lines if line.startswith("training")][-1]
    assert re.fullmatch(r"training +(━+ +100% +)?" + re.escape(state), bar)


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


def test_steps_say_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with Steps("policy of random") as report:
        report(0.25)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(module, "LINE_EVERY_S", -1.0)
        report(0.5)
    assert capsys.readouterr().err == "policy of random: 50%\n"
