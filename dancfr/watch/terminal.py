"""The bar at the bottom of a terminal, in which progress is shown."""

from contextlib import suppress
from typing import Any, Self


class Terminal:
    """A bar at the bottom of the terminal with the phase, the fraction done, and the state of the run."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        console = Console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description:<10}", markup=False, table_column=Column(no_wrap=True, min_width=10)),
            BarColumn(bar_width=24 if console.width >= 100 else 12),
            TaskProgressColumn(),
            TextColumn("{task.fields[state]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=console,
        )
        self._task = self._bar.add_task("", total=1.0, state="")
        self._bar.start()

    def update(self, **fields: Any) -> None:
        """Changes the ``description``, the fraction ``completed`` or the ``state``."""
        self._bar.update(self._task, **fields)

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        with suppress(OSError, ValueError):  # the terminal is gone, and the training continues
            self._bar.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Stops updating the bar, and leaves it on the screen."""
        with suppress(OSError, ValueError):
            self._bar.stop()


class Shown:
    """A context manager that may have a bar on the terminal, and ends it."""

    _terminal: Terminal | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal is not None:
            self._terminal.close()
            self._terminal = None
