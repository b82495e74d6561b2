"""What a person sees of a training on standard error: a live bar, or a line now and then without a terminal."""

import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from dancfr.errors import warn

LINE_EVERY_S = 10.0
"""Without a terminal, at most one line in so many seconds."""

LINE_WIDTH = 118
"""Longest line without a terminal."""

RECENT, RECENT_S = 10, 10.0
"""The pace is that of so many iterations, and of no less than so many seconds."""

NASH_CONV = "nash_conv"
"""What stands in an opponent's place where the newest NashConv of a policy is told beside win rates."""

COMPILING = "compiling kernels that are not cached yet ..."


@dataclass(frozen=True)
class Speed:
    """How fast a method plays or solves, as its training rows say it.

    Attributes:
        key: Key of a training row, such as ``traversal/decisions_per_second``.
        unit: What is counted, such as ``decisions``.
    """

    key: str
    unit: str

    def of(self, row: Mapping[str, Any]) -> float | None:
        """The speed in a training row; None if the row has none."""
        speed = row.get(self.key)
        return float(speed) if isinstance(speed, (int, float)) else None


class Progress:
    """Progress of a run. Use it in a `with`; it never raises for a terminal that went away.

    Args:
        iterations: Iterations in all.
        enabled: Whether to show the progress; events are shown in any case.
        minutes: Time limit of the training, if it has one: then the bar is of whichever ends first.
        speed: The speed to show; None shows none.
    """

    def __init__(
        self, iterations: int, enabled: bool = True, minutes: float | None = None, speed: Speed | None = None
    ) -> None:
        self._iterations = iterations
        self._limit = None if minutes is None else 60.0 * minutes
        self._enabled = enabled
        self._speed = speed
        self._pace = Pace()
        self._parts: dict[str, str] = {}  # of the newest line, while it has not been shown
        self._wins = ""
        self._wins_shown = ""
        self._next_line = 0.0
        self._terminal: _Terminal | None = None

    def __enter__(self) -> Self:
        if self._enabled and sys.stderr.isatty():
            self._terminal = _Terminal()
        elif self._enabled:
            self._say(f"starting, {COMPILING}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal is not None:
            self._terminal.close()
            self._terminal = None
        elif self._parts:
            self._line()  # of the last iteration, unless its line has been shown

    def phase(self, name: str) -> None:
        """What the run does now; shown on a terminal only."""
        if self._terminal is not None:
            self._terminal.phase(name)

    def event(self, text: object) -> None:
        """Something a person should know, such as a worker that died: always a line of its own."""
        self._say(str(text))

    def resumed(self, iteration: int, seconds: float = 0.0) -> None:
        """The run goes on after `iteration`, with `seconds` of training behind it."""
        if self._enabled and iteration:
            self._say(f"resumed after iteration {iteration}, {duration(seconds)} of training")
        elif self._enabled:
            self._say("nothing saved yet: from the start")

    def advance(
        self,
        iteration: int,
        seconds: float,
        row: Mapping[str, Any] | None = None,
        latest: Mapping[str, float] | None = None,
    ) -> None:
        """An iteration is done.

        Args:
            iteration: Iterations done in all.
            seconds: Seconds of training in all.
            row: Its metrics; the speed of the games is shown, and the workers where any had to be replaced.
            latest: Newest win rate by ``policy/opponent``, NashConv by ``policy/nash_conv``; without a terminal shown
                only when there are new ones.
        """
        self._pace.add(iteration, seconds)
        if not self._enabled:
            return
        done = iteration / max(1, self._iterations)
        if self._limit is not None:
            done = max(done, seconds / self._limit)
        self._parts = self._describe(iteration, seconds, row or {})
        self._wins = describe_wins(latest or {})
        if self._terminal is not None:
            self._terminal.show(min(1.0, done), self._parts, self._wins)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_EVERY_S
            self._line()

    def _describe(self, iteration: int, seconds: float, row: Mapping[str, Any]) -> dict[str, str]:
        """What there is to say, by what it is about. The number of iterations is said where it will be reached."""
        each = self._pace.seconds_each
        left, first = time_left(each, self._iterations - iteration, self._limit, seconds)
        of_all = "" if first == "minutes" else f"/{self._iterations}"
        parts = {
            "iteration": f"iteration {iteration}{of_all}",
            "pace": "" if each is None else describe_pace(each),
            "left": "" if left is None else f"{duration(left)} left",
            "workers": describe_workers(row),
            "speed": describe_speed(row, self._speed),
        }
        return {about: text for about, text in parts.items() if text}

    def _line(self) -> None:
        """Without a terminal: what has not been shown yet."""
        wins = self._wins if self._wins != self._wins_shown else ""
        self._wins_shown = self._wins
        self._say(fitted(self._parts | ({"wins": wins} if wins else {}), LINE_WIDTH))
        self._parts = {}

    def _say(self, text: str) -> None:
        if self._terminal is None:
            warn(text)
        else:
            self._terminal.say(text)


class Pace:
    """Seconds of an iteration, by the recent ones. The first, which waits for kernels to compile, counts for nothing:
    time is taken from its end."""

    def __init__(self) -> None:
        self._ends: deque[tuple[int, float]] = deque()

    def add(self, iteration: int, seconds: float) -> None:
        """An iteration ended after so many seconds of training."""
        self._ends.append((iteration, seconds))
        while len(self._ends) > RECENT + 1 and seconds - self._ends[1][1] >= RECENT_S:
            self._ends.popleft()

    @property
    def seconds_each(self) -> float | None:
        """None until a second iteration has ended."""
        if not self._ends:
            return None
        (first, start), (last, end) = self._ends[0], self._ends[-1]
        return (end - start) / (last - first) if last > first else None


class _Terminal:
    """A bar that stays at the lower edge: phase, share done, and as much beside them as the width allows; below it the
    win rates."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Display

        self._console = Console(stderr=True)
        bar = 24 if self._console.width >= 100 else 12
        self._beside = 10 + 1 + bar + 1 + 4 + 1  # columns that the state does not have
        self._display = Display(
            TextColumn("{task.description:<10}", markup=False),
            BarColumn(bar_width=bar),
            TaskProgressColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            console=self._console,
        )
        self._wins = ""
        self._task = self._display.add_task("", total=1.0, state=COMPILING)
        self._live = Live(get_renderable=self._render, console=self._console, refresh_per_second=4)
        self._live.start()

    def _render(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        wins = [Text(self._wins, no_wrap=True, overflow="ellipsis")] if self._wins else []
        return Group(self._display.get_renderable(), *wins)

    def phase(self, name: str) -> None:
        """What stands before the bar."""
        self._display.update(self._task, description=name)

    def show(self, done: float, parts: Mapping[str, str], wins: str) -> None:
        """The share that is done, 0 to 1, what stands beside the bar, and what below."""
        self._wins = wins
        state = fitted(parts, max(20, self._console.width - self._beside))
        self._display.update(self._task, completed=done, state=state)

    def say(self, text: str) -> None:
        """A line above the bar."""
        with suppress(OSError, ValueError):  # the terminal is gone: the training matters more
            self._console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Leaves the bar as it is."""
        with suppress(OSError, ValueError):
            self._live.stop()


def fitted(parts: Mapping[str, str], width: int) -> str:
    """The parts in one line of at most `width` characters: speed, pace, workers and time left are given up, in this
    order."""
    kept = dict(parts)
    for about in ("speed", "pace", "workers", "left"):
        if len("  ".join(kept.values())) > width:
            kept.pop(about, None)
    line = "  ".join(kept.values())
    return line if len(line) <= width else f"{line[: width - 3]}..."


def describe_wins(latest: Mapping[str, float]) -> str:
    """Win rates by ``policy/opponent`` in short: ``wins of average: random 99, rush 96 %, of last: 99, 94 %``.

    Opponents are named again only where they are others than those of the policy before.
    """
    policies: dict[str, dict[str, float]] = {}
    exact: list[str] = []
    for name, share in latest.items():
        policy, _, opponent = name.partition("/")
        if opponent == NASH_CONV:
            exact.append(f"NashConv of {policy} {share:.3g}")
        else:
            policies.setdefault(policy, {})[opponent] = share
    told: list[str] = []
    named: list[str] | None = None
    for policy, shares in policies.items():
        percents = [f"{100 * share:.0f}" for share in shares.values()]
        each = percents if list(shares) == named else map(" ".join, zip(shares, percents, strict=True))
        named = list(shares)
        told.append(f"of {policy}: {', '.join(each)} %")
    return ", ".join([*exact, *([f"wins {', '.join(told)}"] if told else [])])


def time_left(
    each: float | None, iterations: int, limit: float | None, seconds: float
) -> tuple[float | None, Literal["iterations", "minutes"]]:
    """Seconds until a training ends, and what will end it.

    Args:
        each: Seconds of an iteration, if known.
        iterations: Those to come.
        limit: Seconds that the training may take in all, if limited.
        seconds: Those it has taken.
    """
    to_last = None if each is None else each * max(0, iterations)
    if limit is not None and iterations > 0:
        to_limit = max(0.0, limit - seconds)
        if to_last is None or to_limit < to_last:
            return to_limit, "minutes"
    return to_last, "iterations"


KNOWN_SPEEDS = (
    Speed("traversal/decisions_per_second", "decisions"),
    Speed("selfplay/decisions_per_second", "decisions"),
    Speed("cfr/nodes_per_second", "nodes"),
)
"""Tried in turn by callers that pass no `Speed` yet."""


def describe_speed(row: Mapping[str, Any], speed: Speed | None = None) -> str:
    """The speed in a training row: ``123k decisions/s``, ``4.5M nodes/s``; empty if the row has none."""
    for each in KNOWN_SPEEDS if speed is None else (speed,):
        if value := each.of(row):
            return f"{readable(value)} {each.unit}/s"
    return ""


def describe_workers(row: Mapping[str, Any]) -> str:
    """What a training row says of the workers, if any had to be replaced: ``4 workers, 2 replaced``."""
    replaced, alive = row.get("workers/replaced"), row.get("workers/alive")
    if not replaced or alive is None:
        return ""
    return f"{alive} worker{'' if alive == 1 else 's'}, {replaced} replaced"


def duration(seconds: float) -> str:
    """Time for people: ``45 s``, ``3:05 min``, ``2:10 h``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"


def readable(number: float) -> str:
    """A positive number in two or three digits: ``3.2``, ``850``, ``1.2k``, ``123k``, ``4.5M``."""
    units = ["", "k", "M", "G"]
    while number >= 999.5 and len(units) > 1:
        number /= 1000
        units.pop(0)
    return f"{number:.1f}{units[0]}" if number < 9.95 and not float(number).is_integer() else f"{number:.0f}{units[0]}"


def describe_pace(each: float) -> str:
    """Seconds of an iteration, or iterations a second, whichever is easier to read."""
    if each < 0.1:
        return f"{readable(1 / each)}/s" if each > 0 else ""
    if each < 9.95:
        return f"{each:.1f} s each" if each >= 1 else f"{each:.2f} s each"
    return f"{duration(each)} each"
