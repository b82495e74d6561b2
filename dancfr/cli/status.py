"""`dancfr status`: how runs stand, for people and for scripts."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app
from dancfr.errors import UsageError, warn

if TYPE_CHECKING:
    from dancfr.watch.status import Watched

Status = dict[str, Any]

OPEN = ("running", "elsewhere")
"""States in which more may come."""


@app.command(cls=Command)
def status(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or folders that hold runs, e.g. runs.")
    ],
    watch: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Show it again so often, until no run goes on.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell how runs stand, and what went wrong in them."""
    if watch is not None and not 0.1 <= watch <= 86_400:
        raise UsageError(f"--watch takes 0.1 to 86400 seconds, not {watch:g}")
    if watch is not None and as_json:
        raise UsageError("--json prints one object: leave out --watch, and ask again")
    from dancfr.watch.status import find_watched

    watched, several = find_watched(runs)

    def look() -> output.Result:
        if not several:
            return watched[0].look()
        return {"runs": [each for run in watched if (each := _looked(run)) is not None]}

    if watch is None:
        output.deliver(look, as_json, describe)
    else:
        with suppress(KeyboardInterrupt):  # how one stops watching
            _watch(look, watch)


def _looked(run: "Watched") -> Status | None:
    """One of several runs; None, with a warning, if it cannot be read."""
    try:
        return run.look(thorough=False)
    except UsageError as error:
        warn(f"warning: {error}")
        return None


def describe(result: output.Result) -> str:
    """One run in full, or several in a line each."""
    return describe_runs(result["runs"]) if "runs" in result else describe_run(result)


def _watch(look: Callable[[], output.Result], seconds: float) -> None:
    """Shows it again and again: in place on a terminal, else a line or a table whenever something is new."""
    shown = ""
    with _screen() as draw:
        while True:
            result = look()
            single = draw is None and "runs" not in result
            text = describe_runs([result]) if single else describe(result)
            if draw is not None:
                draw(text)
            elif text != shown:
                print(text.partition("\n")[2] if single and shown else text, flush=True)
            shown = text
            if not any(run["state"] in OPEN for run in result.get("runs", [result])):
                break
            time.sleep(seconds)
    if draw is not None:
        print(shown)


@contextmanager
def _screen() -> Iterator[Callable[[str], None] | None]:
    """Draws text over what was drawn before; None without a terminal."""
    if not sys.stdout.isatty():
        yield None
        return
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False, screen=False, transient=True, vertical_overflow="crop") as live:

        def draw(text: str) -> None:
            live.update(Text(text, overflow="fold"), refresh=True)

        yield draw


def describe_runs(runs: list[Status]) -> str:
    """A line for each run."""
    from dancfr.watch.progress import duration

    rows = []
    for run in runs:
        checkpoint = run["checkpoint"]
        rows.append(
            {
                "run": run["run_dir"],
                "preset": run["preset"],
                "state": run["state"],
                "iteration": f"{run['iteration']}/{run['iterations']}",
                "trained": duration(run["elapsed_s"]),
                "left": "" if run["eta_s"] is None else duration(run["eta_s"]),
                "checkpoint": "none" if checkpoint is None else checkpoint["iteration"],
                "warnings": len(run["warnings"]) or "",
                "newest evaluation": _newest_wins(run),
            }
        )
    return output.table(rows, list(rows[0])) if rows else "no run"


def describe_run(run: Status) -> str:
    """One run in full: a fact a line, then the newest evaluations, then the warnings."""
    facts = [(name, text) for name, text in _facts(run) if text]
    width = max(len(name) for name, _ in facts)
    lines = [f"{run['run_dir']}: {run['preset']} ({run['method']}), {_state(run)}"]
    lines += [f"  {name.ljust(width)}  {text}" for name, text in facts]
    if run["evaluations"]:
        lines += ["", *_indented(_evaluations(run))]
    if run["warnings"]:
        lines += ["", *(f"  warning: {text}" for text in run["warnings"])]
    return "\n".join(lines)


def _state(run: Status) -> str:
    holder = run["holder"]
    if run["state"] == "running":
        return f"running: process {holder['process']} on {holder['host']} holds its lock"
    if run["state"] == "elsewhere":
        return (
            f"last held by process {holder['process']} on {holder['host']}: whether that still trains it "
            "cannot be told from this machine"
        )
    return str(run["state"])


def _facts(run: Status) -> Iterator[tuple[str, str]]:
    from dancfr.watch.progress import describe_pace, describe_speed, duration, readable

    of_all = f"{run['iteration']} of {run['iterations']}"
    limit = "" if run["minutes"] is None else f", or {run['minutes']:g} min of training"
    yield "iterations", of_all + limit
    resumed = f", resumed {_times(run['resumed'])}" if run["resumed"] else ""
    yield "trained", f"{duration(run['elapsed_s'])}{resumed}"
    pace = "" if run["seconds_each"] is None else describe_pace(run["seconds_each"])
    yield "pace", ", ".join(filter(None, [pace, describe_speed(run["speed"])]))
    yield "left", "" if run["eta_s"] is None else duration(run["eta_s"])
    if run["state"] in OPEN and run["row_age_s"] is not None:
        yield "newest row", f"{duration(run['row_age_s'])} ago"
    for policy, exact in run["nash_conv"].items():
        yield "NashConv", f"{exact['nash_conv']:.4g} of {policy} after iteration {exact['iteration']}"
    yield "samples", ", ".join(f"{readable(value)} {name}" for name, value in run["samples"].items())
    fills = {name.removesuffix("fill").rstrip("_"): value for name, value in run["buffers"].items()}
    yield "buffers", ", ".join(f"{name} {100 * value:.0f} % full".strip() for name, value in fills.items())
    yield "workers", _workers(run)
    yield "recovered", _events(run["events"])
    yield "checkpoint", _checkpoint(run["checkpoint"])
    strategies = run["strategies"]
    gaps = f", {len(strategies['missing'])} missing" if strategies["missing"] else ""
    newest = f", the newest of iteration {strategies['newest']}" if strategies["stored"] else ""
    yield "strategies", f"{strategies['stored']} stored{newest}{gaps}"
    disk = run["disk"]
    free = "" if disk["free_bytes"] is None else f", {readable(disk['free_bytes'])}B free"
    yield "disk", f"{readable(disk['bytes'])}B used{free}"
    yield "W&B", _wandb(run)


def _workers(run: Status) -> str:
    counts = run["workers"]
    names = {"died": "died", "late": "too late", "raised": "failed", "replaced": "replaced"}
    told = [f"{counts['alive']} alive"] if "alive" in counts else []
    told += [f"{counts[name]} {text}" for name, text in names.items() if counts.get(name)]
    if counts.get("replayed"):
        told.append(f"{counts['replayed']} chunk{'' if counts['replayed'] == 1 else 's'} replayed")
    if run["queue_depth"] is not None:
        told.append(f"{run['queue_depth']} chunks under way")
    if run["weights_age"] is not None:
        told.append(f"weights {run['weights_age']} fits old")
    return ", ".join(told)


def _events(events: Status) -> str:
    if not events["counts"]:
        return ""
    told = ", ".join(f"{name} {_times(count)}" for name, count in events["counts"].items())
    newest = events["newest"]
    lost = f", {events['lost_iterations']} iterations done again" if events["lost_iterations"] else ""
    cause = f"; last at iteration {newest['iteration']}: {newest['cause']}" if newest.get("cause") else ""
    return f"{told}{lost}{cause}"


def _checkpoint(checkpoint: Status | None) -> str:
    from dancfr.watch.progress import duration

    if checkpoint is None:
        return "none yet"
    age = "" if checkpoint["age_s"] is None else f", {duration(checkpoint['age_s'])} old"
    sound = "" if not checkpoint["checked"] else ", sound" if checkpoint["damage"] is None else ", DAMAGED"
    return f"of iteration {checkpoint['iteration']}{age}{sound}"


def _wandb(run: Status) -> str:
    known = run["wandb"]
    if known is None:
        return ""
    if not known["unsynced"]:
        return f"run {known['id']}"
    pieces = f"{known['unsynced']} piece{'' if known['unsynced'] == 1 else 's'} to sync"
    return f"run {known['id']}, {pieces}: wandb sync {run['run_dir']}/wandb/offline-run-*"


def _evaluations(run: Status) -> str:
    from dancfr.evaluation.statistics import describe_share  # imports NumPy

    rows = []
    for row in run["evaluations"]:
        won = describe_share(row["win_rate"], *row["ci95"]) if row["ci95"] else f"{100 * row['win_rate']:.1f}"
        rows.append(
            {"policy": row["policy"], "against": row["opponent"], "won, in % [95 % interval]": won}
            | {"games": row["games"] or "", "iteration": row["iteration"]}
        )
    return output.table(rows, list(rows[0]))


def _newest_wins(run: Status) -> str:
    from dancfr.watch.progress import NASH_CONV, describe_wins

    latest = {f"{row['policy']}/{row['opponent']}": row["win_rate"] for row in run["evaluations"]}
    latest |= {f"{policy}/{NASH_CONV}": row["nash_conv"] for policy, row in run["nash_conv"].items()}
    return describe_wins(latest)


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
