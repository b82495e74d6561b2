"""What a person sees of a training on standard error: a live bar, or a line now and then without a terminal."""

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from dancfr.errors import warn

LINE_EVERY_S = 10.0
"""Without a terminal, at most one line in so many seconds."""


class Progress:
    """Progress of a run. Use it in a `with`; it never raises for a terminal that went away.

    Args:
        iterations: Iterations in all.
        enabled: Whether to show the progress; events are shown in any case.
        minutes: Time limit of the training, if it has one: then the bar is of whichever ends first.
    """

    def __init__(self, iterations: int, enabled: bool = True, minutes: float | None = None) -> None:
        self._iterations = iterations
        self._limit = None if minutes is None else 60.0 * minutes
        self._enabled = enabled
        self._phase = ""
        self._state = ""
        self._next_line = 0.0
        self._start = (0, 0.0)
        self._display: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._enabled and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn
            from rich.progress import Progress as Display

            self._display = Display(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TaskProgressColumn(),
                TextColumn("{task.fields[state]}"),
                console=Console(stderr=True),
                refresh_per_second=4,
            )
            self._task = self._display.add_task("", total=1.0, state="")
            self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.stop()
            self._display = None
        elif self._enabled and self._state:
            self._say(self._state)  # of the last iteration, unless its line has been shown

    def phase(self, name: str) -> None:
        """What the run does now; shown on a terminal only."""
        self._phase = name
        if self._display is not None:
            self._display.update(self._task, description=f"{name:<10}")

    def event(self, text: object) -> None:
        """Something a person should know, such as a worker that died: always a line of its own."""
        self._say(str(text))

    def resumed(self, iteration: int, seconds: float = 0.0) -> None:
        """The run goes on after `iteration`, with `seconds` of training behind it."""
        self._start = (iteration, seconds)
        if self._enabled:
            self._say(f"resumed after iteration {iteration}" if iteration else "nothing saved yet: from the start")

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
            row: Its metrics; the loss and the speed of the games are shown.
            latest: Newest win rate by ``policy/opponent``.
        """
        done = iteration / max(1, self._iterations)
        if self._limit is not None:
            done = max(done, seconds / self._limit)
        self._state = self._describe(iteration, seconds, min(1.0, done), row or {}, latest or {})
        if self._display is not None:
            self._display.update(self._task, completed=min(1.0, done), state=self._state)
        elif self._enabled and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_EVERY_S
            self._say(self._state)
            self._state = ""

    def _describe(
        self, iteration: int, seconds: float, done: float, row: Mapping[str, Any], latest: Mapping[str, float]
    ) -> str:
        first, before = self._start
        spent = seconds - before
        rate = (iteration - first) / spent if spent > 0 else 0.0
        parts = [f"iteration {iteration}/{self._iterations}"]
        if rate > 0:
            parts.append(f"{rate:.2f}/s" if rate >= 1 else f"{1 / rate:.1f} s each")
            left = (self._iterations - iteration) / rate
            if self._limit is not None:
                left = min(left, max(0.0, self._limit - seconds))
            parts.append(f"{duration(left)} left")
        speed = row.get("traversal/decisions_per_second")
        if speed:
            parts.append(f"{speed / 1000:.0f}k decisions/s")
        if latest:
            parts.append(", ".join(f"{name} {100 * share:.0f} %" for name, share in latest.items()))
        return "  ".join(parts)

    def _say(self, text: str) -> None:
        if self._display is None:
            warn(text)
            return
        with suppress(OSError, ValueError):  # the terminal is gone: the training matters more
            self._display.console.print(text, markup=False, highlight=False)


def duration(seconds: float) -> str:
    """Time for people: ``45 s``, ``3:05 min``, ``2:10 h``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"
