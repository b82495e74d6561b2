"""The command `dancfr status`, which shows the state of runs once or periodically."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app
from dancfr.errors import UsageError, warn

if TYPE_CHECKING:
    from dancfr.watch.status import Facts, Status, Watched


@app.command(cls=Command)
def status(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="Folders of runs, or folders that contain runs; default: runs."),
    ] = None,
    watch: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Repeat at this interval until all runs have ended.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the progress of runs, and warnings about problems."""
    if watch is not None and not 0.1 <= watch <= 86_400:
        raise UsageError(f"--watch must be from 0.1 to 86400 seconds, got {watch:g}")
    if watch is not None and as_json:
        raise UsageError("--json prints one object: leave out --watch, and repeat the command")
    from dancfr.cli.status_text import describe
    from dancfr.watch.status import Watched, find_runs

    watched: dict[Path, Watched] = {}

    def look() -> output.Result:
        folders, several = find_runs(runs or [Path("runs")])  # each time, since more runs may have begun
        for folder in folders:
            watched.setdefault(folder, Watched(folder, facts_of))
        found = [watched[folder] for folder in folders]
        return {"runs": _looked(found)} if several else found[0].look()

    if watch is None:
        output.deliver(look, as_json, describe)
    else:
        with suppress(KeyboardInterrupt):  # the way to stop watching
            _watch(look, describe, watch)


def facts_of(method: str) -> "Facts":
    """Returns the facts about a method that the status of its runs depends on."""
    from dancfr.methods import all_methods
    from dancfr.watch.status import Facts

    known = all_methods().get(method)
    if known is None:  # a method of another version, or of a package that is not installed
        return Facts()
    stored, config = known.strategies, known.config
    strategies = None if stored is None else lambda run, iterations: stored(run.config_as(config), iterations)
    return Facts(known.speed, known.age, strategies, known.budgets, known.result)


def _looked(watched: "list[Watched]") -> "list[Status]":
    """Returns the status of each readable run, and warns of each unreadable one."""
    found = []
    for run in watched:
        try:
            found.append(run.look(thorough=False))
        except UsageError as error:
            warn(f"warning: {error}")
    if not found:
        raise UsageError("none of these runs can be read: give folders of runs, or a folder that contains runs")
    return found


def _watch(look: Callable[[], output.Result], describe: Callable[[output.Result], str], seconds: float) -> None:
    """Shows the status until all runs have ended: in place on a terminal, otherwise after every change."""
    shown = ""
    with _screen() as draw:
        while True:
            result = look()
            text = describe(result)
            if text != shown:
                draw(text)
            shown = text
            if not any(run["state"] in ("running", "elsewhere") for run in result.get("runs", [result])):
                return
            time.sleep(seconds)


@contextmanager
def _screen() -> Iterator[Callable[[str], None]]:
    """Yields a function that shows a text: in place of the previous one on a terminal, otherwise below it."""
    if not sys.stdout.isatty():
        yield lambda text: print(text, flush=True)
        return
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False, vertical_overflow="crop") as live:
        yield lambda text: live.update(Text(text, overflow="fold"), refresh=True)
