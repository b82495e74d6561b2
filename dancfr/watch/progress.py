"""Shows the progress of a training on standard error: a bar on a terminal, otherwise a line every ten seconds."""

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from dancfr.errors import warn
from dancfr.values import is_number
from dancfr.watch.strength import describe_measures
from dancfr.watch.terminal import Shown, Terminal

LINE_EVERY_S = 10.0
"""Minimum interval between two lines of progress, if standard error is not a terminal."""

RECENT, RECENT_S = 10, 10.0
"""The pace is that of the last ten iterations, or of the last ten seconds if those are longer."""

COMPILING = "compiling kernels that are not cached yet"
"""A step of `Progress.step`."""


@dataclass(frozen=True)
class Speed:
    """The speed of a method, as recorded in its training rows.

    Attributes:
        key: Key of a training row, such as ``traversal/decisions_per_second``.
        unit: The things that are counted, such as ``decisions``.
        during: The part of an iteration whose time is counted, such as ``in traversals``; empty: the whole iteration.
        total: Key of a training row that counts the same things since the start of the run; empty: rows have none.
    """

    key: str
    unit: str
    during: str = ""
    total: str = ""

    def of(self, row: Mapping[str, Any]) -> float | None:
        """Returns the speed in a training row; None if the row does not contain it."""
        speed = row.get(self.key)
        return float(speed) if isinstance(speed, (int, float)) else None

    def overall(self, row: Mapping[str, Any], seconds: float) -> float | None:
        """Returns the mean speed over `seconds` of training that end with a row; None if the row has no total."""
        total = row.get(self.total)
        return float(total) / seconds if isinstance(total, (int, float)) and seconds > 0 else None

    def describe(self, value: float) -> str:
        """Formats a speed with its unit and its part of an iteration: ``123k decisions/s in traversals``."""
        return " ".join(filter(None, (f"{readable(value)} {self.unit}/s", self.during)))


@dataclass(frozen=True)
class Budget:
    """A limit of a training other than its iterations and minutes.

    Attributes:
        key: Key of a training row that counts towards the limit, such as ``games``.
        total: Value of the key that ends the training.
    """

    key: str
    total: float

    @classmethod
    def of(cls, keys: Mapping[str, str], config: Mapping[str, Any]) -> Self | None:
        """Returns the first limit that a configuration sets; None if it sets none.

        Args:
            keys: Keys of settings, each with the key of training rows that counts towards it.
            config: The configuration.
        """
        found = ((key, config.get(setting)) for setting, key in keys.items())
        return next((cls(key, total) for key, total in found if is_number(total) and total > 0), None)

    def spent(self, row: Mapping[str, Any]) -> float:
        """Returns the fraction of the limit that a training row has reached; 0 if the row does not have the key."""
        return min(float(row.get(self.key, 0)) / self.total, 1.0)


class Progress(Shown):
    """Shows the progress of a run. A context manager; a terminal that disappears does not end the training.

    Args:
        iterations: Total number of iterations.
        enabled: Whether to show the progress; events are shown in any case.
        minutes: Time limit of the training, if any. The bar shows the limit that is reached first.
        speed: The speed to show, if any.
        budget: A further limit of the training, if any.
        note: Function that gets the name of each step before the first iteration, and None once there are no more.
    """

    def __init__(
        self,
        iterations: int,
        enabled: bool = True,
        minutes: float | None = None,
        speed: Speed | None = None,
        budget: Budget | None = None,
        note: Callable[[str | None], None] = lambda step: None,
    ) -> None:
        self._iterations = iterations
        self._limit = None if minutes is None else 60.0 * minutes
        self._enabled = enabled
        self._speed = speed
        self._budget = budget
        self._pace = Pace()
        self._state = ""  # description of the newest iteration, until it is shown as a line
        self._measured = ""
        self._next_line = 0.0
        self._note, self._step, self._step_began, self._advanced = note, "", 0.0, False

    def __enter__(self) -> Self:
        if self._enabled and sys.stderr.isatty():
            self._terminal = Terminal()
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal is None and self._state:
            self._say(self._state)
        self._end_steps()
        super().__exit__()

    def step(self, name: str, line: str | None = None) -> None:
        """Shows a step of the start or of a recovery.

        Args:
            name: The step, such as ``compiling kernels``.
            line: The line that shows it; empty: none. None: without a terminal its name, and how long the step before
                it took; such a step is part of a recovery if there have been iterations, and is not shown.
        """
        if self._advanced and line is None:
            return
        now = time.monotonic()
        took, before = now - self._step_began, self._step
        self._step, self._step_began = name, now
        self._note(name)
        if not self._enabled:
            return
        if self._terminal is not None:
            self._terminal.update(description="starting", state=f"{name} ...")
        if line:
            self._say(line)
        elif line is None and self._terminal is None:
            after = f" (after {duration(took)} of {before})" if before and took >= 1 else ""
            self._say(f"{name} ...{after}")

    def _end_steps(self) -> None:
        if self._step:
            self._step = ""
            self._note(None)

    def phase(self, name: str) -> None:
        """Shows the current activity of the run, on a terminal; may be called before the first iteration."""
        if self._terminal is not None:
            self._terminal.update(description=name)

    def event(self, text: object) -> None:
        """Shows an event that the user should know of, such as the death of a worker, on a line of its own."""
        self._say(str(text))

    def result(self, text: object) -> None:
        """Shows a result on the way, such as a point of a curve, if progress is shown."""
        if self._enabled:
            self._state = ""  # an iteration that is not shown by then would come out of order
            self._say(str(text))

    def resumed(self, iteration: int, seconds: float = 0.0) -> None:
        """Shows that the run continues after `iteration`, with `seconds` of training behind it."""
        if self._enabled and iteration:
            self._say(f"resumed after iteration {iteration}, {duration(seconds)} of training")
        elif self._enabled:
            self._say("no checkpoint yet: starting from the first iteration")

    def advance(
        self,
        iteration: int,
        seconds: float,
        row: Mapping[str, Any] | None = None,
        latest: Mapping[str, float] | None = None,
    ) -> None:
        """Shows that an iteration is done.

        Args:
            iteration: Number of completed iterations.
            seconds: Seconds of training so far.
            row: Metrics of the iteration. Shown are the speed and, if any had to be replaced, the workers.
            latest: Newest measures by name, see `dancfr.watch.strength.measures`; shown when they change.
        """
        self._end_steps()
        self._advanced = True
        self._pace.add(iteration, seconds)
        if not self._enabled:
            return
        self._state = self._describe(iteration, seconds, row or {})
        measured = describe_measures(latest or {})
        changed = measured if measured != self._measured else ""
        if self._terminal is not None:
            done = max(
                iteration / max(1, self._iterations), seconds / self._limit if self._limit else 0.0, self._spent(row)
            )
            self._terminal.update(completed=min(1.0, done), state=self._state)
            if changed:
                self._say(f"iteration {iteration}  {changed}")
            self._measured = measured
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_EVERY_S
            self._say("  ".join(filter(None, (self._state, changed))))
            self._state, self._measured = "", measured

    def _describe(self, iteration: int, seconds: float, row: Mapping[str, Any]) -> str:
        """Describes the state of the run in a line, the most important part first: narrow terminals cut off its end."""
        each = self._pace.seconds_each
        left, first = time_left(each, self._iterations - iteration, self._limit, seconds, self._spent(row))
        parts = (
            f"iteration {iteration}" + (f"/{self._iterations}" if first == "iterations" else ""),
            "" if left is None else f"{duration(left)} left",
            describe_workers(row),
            "" if each is None else describe_pace(each),
            describe_speed(row, self._speed),
        )
        return "  ".join(filter(None, parts))

    def _spent(self, row: Mapping[str, Any] | None) -> float:
        return 0.0 if self._budget is None else self._budget.spent(row or {})

    def _say(self, text: str) -> None:
        if self._terminal is None:
            warn(text)
        else:
            self._terminal.say(text)


class Steps(Shown):
    """The progress of one piece of work: a bar on a terminal, otherwise a line every ten seconds.

    Args:
        what: The work, in a few words.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._said = time.monotonic()
        if sys.stderr is not None and sys.stderr.isatty():
            self._terminal = Terminal()

    def __call__(self, done: float) -> None:
        """Shows the fraction that is done."""
        if self._terminal is not None:
            self._terminal.update(completed=done, state=self._what)
        elif time.monotonic() - self._said > LINE_EVERY_S:
            self._said = time.monotonic()
            warn(f"{self._what}: {done:.0%}")


class Pace:
    """Seconds per iteration, measured over recent iterations without the first, during which kernels are compiled."""

    def __init__(self) -> None:
        self._ends: deque[tuple[int, float]] = deque()

    def add(self, iteration: int, seconds: float) -> None:
        """Notes that an iteration ended, `seconds` being the training time so far."""
        self._ends.append((iteration, seconds))
        while len(self._ends) > RECENT + 1 and seconds - self._ends[1][1] >= RECENT_S:
            self._ends.popleft()

    @property
    def seconds_each(self) -> float | None:
        """Seconds per iteration; None until a second iteration has ended."""
        if not self._ends:
            return None
        (first, start), (last, end) = self._ends[0], self._ends[-1]
        return (end - start) / (last - first) if last > first else None


def time_left(
    each: float | None, iterations: int, limit: float | None, seconds: float, spent: float = 0.0
) -> tuple[float | None, Literal["iterations", "minutes", "budget"]]:
    """Estimates the seconds until a training ends, and names the limit that ends it.

    Args:
        each: Seconds per iteration, if known.
        iterations: Number of remaining iterations.
        limit: Time limit in seconds, if any.
        seconds: Seconds of training so far.
        spent: Fraction of a `Budget` that is spent; 0 if the training has no budget.
    """
    ends: list[tuple[float, Literal["iterations", "minutes", "budget"]]] = []
    if each is not None:
        ends.append((each * max(0, iterations), "iterations"))
    if limit is not None and iterations > 0:
        ends.append((max(0.0, limit - seconds), "minutes"))
    if spent > 0 and iterations > 0:
        ends.append((seconds * (1 - spent) / spent, "budget"))
    return min(ends, key=lambda end: end[0]) if ends else (None, "iterations")


def describe_speed(row: Mapping[str, Any], speed: Speed | None) -> str:
    """Formats the speed in a training row, see `Speed.describe`; empty if the row has none."""
    value = None if speed is None else speed.of(row)
    return speed.describe(value) if speed and value else ""


def describe_workers(row: Mapping[str, Any]) -> str:
    """Formats the workers in a training row as ``4 workers, 2 replaced``; empty if none had to be replaced."""
    replaced, alive = row.get("workers/replaced"), row.get("workers/alive")
    if not replaced or alive is None:
        return ""
    return f"{alive} worker{'' if alive == 1 else 's'}, {replaced} replaced"


def duration(seconds: float) -> str:
    """Formats a duration: ``45 s``, ``3:05 min``, ``2:10 h``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"


def readable(number: float) -> str:
    """Formats a positive number with two or three digits: ``3.2``, ``850``, ``1.2k``, ``123k``, ``4.5M``."""
    units = ["", "k", "M", "G"]
    while number >= 999.5 and len(units) > 1:
        number /= 1000
        units.pop(0)
    return f"{number:.1f}{units[0]}" if number < 9.95 and not float(number).is_integer() else f"{number:.0f}{units[0]}"


def describe_pace(each: float) -> str:
    """Formats a pace as seconds per iteration or iterations per second, whichever is easier to read."""
    if each < 0.1:
        return f"{readable(1 / each)}/s" if each > 0 else ""
    if each < 9.95:
        return f"{each:.1f} s each" if each >= 1 else f"{each:.2f} s each"
    return f"{duration(each)} each"
