"""Formats the status of runs, as returned by `dancfr.watch.status.Watched.look`, as text."""

from collections.abc import Mapping

from dancfr.cli import output
from dancfr.evaluation.statistics import describe_share
from dancfr.values import count
from dancfr.watch.progress import Speed, describe_pace, duration, readable
from dancfr.watch.status import OPEN, Status
from dancfr.watch.strength import describe_measures, measures


def describe(result: output.Result) -> str:
    """Formats a single run in full, or several runs as a table."""
    return _describe_runs(result["runs"]) if "runs" in result else _describe_run(result)


def _describe_runs(runs: list[Status]) -> str:
    rows = [
        {
            "run": run["run_dir"],
            "preset": run["preset"],
            "state": _joined(run["state"], _step(run)),
            "iteration": f"{run['iteration']}/{run['iterations']}",
            "trained": duration(run["elapsed_s"]),
            "left": _time(run["eta_s"]),
            "checkpoint": "none" if run["checkpoint"] is None else run["checkpoint"]["iteration"],
            "warnings": len(run["warnings"]) or "",
            "newest evaluation": _newest_measures(run),
        }
        for run in runs
    ]
    return output.table(rows, list(rows[0])) if rows else "no run"


def _describe_run(run: Status) -> str:
    """Formats a run: one fact per line, then the newest evaluations, then the warnings."""
    facts = {heading: text for heading, text in _facts(run).items() if text}
    width = max(map(len, facts))
    lines = [f"{run['run_dir']}: {run['preset']} ({run['method']}), {_state(run)}"]
    lines += [f"  {heading.ljust(width)}  {text}" for heading, text in facts.items()]
    if run["evaluations"]:
        lines += ["", *(f"  {line}" for line in _evaluations(run).splitlines())]
    if run["warnings"]:
        lines += ["", *(f"  warning: {text}" for text in run["warnings"])]
    return "\n".join(lines)


def _state(run: Status) -> str:
    if run["state"] not in OPEN:
        return str(run["state"])
    holder = run["holder"]
    name = f"{holder['process'] or 'unknown'} on {holder['host']}"
    if run["state"] == "running":
        return f"running: process {name} holds its lock"
    return f"last held by process {name}: this machine cannot see whether it is still training"


def _facts(run: Status) -> dict[str, str]:
    """Returns the facts about a run by heading; empty texts are not shown."""
    limit = "" if run["minutes"] is None else f", or {run['minutes']:g} min of training"
    if run["budget"] is not None:
        limit += f", or {run['budget']['total']:,} {run['budget']['key'].rpartition('/')[2]}"
    resumed = f"resumed {count(run['resumed'], 'time')}" if run["resumed"] else ""
    pace = "" if run["seconds_each"] is None else describe_pace(run["seconds_each"])
    exact = [f"{row['nash_conv']:.4g} of {of} at iteration {row['iteration']}" for of, row in run["nash_conv"].items()]
    fills = [f"{key.removesuffix('fill').rstrip('_')} {100 * fill:.0f} % full" for key, fill in run["buffers"].items()]
    return {
        "now": _step(run),
        "iterations": f"{run['iteration']} of {run['iterations']}{limit}",
        "trained": _joined(duration(run["elapsed_s"]), "without evaluations and checkpoints", resumed),
        "pace": _joined(pace, _rate(run["rate"])),
        "copy of": run["origin"]["path"] if run["origin"] else "",
        "left": _time(run["eta_s"]),
        "newest row": "" if run["row_age_s"] is None else f"{_time(run['row_age_s'])} ago",
        "NashConv": _joined(*exact),
        "samples": _counts(run["samples"]),
        "buffers": _joined(*(fill.strip() for fill in fills)),
        "workers": _workers(run),
        "recovered": _recovered(run["events"]),
        "checkpoint": _checkpoint(run["checkpoint"], run["checkpoints_removed"]),
        "strategies": _strategies(run["strategies"]),
        "disk": f"{readable(run['disk']['bytes'])}B used, {readable(run['disk']['free_bytes'])}B free",
        "W&B": _wandb(run),
    }


def _rate(rate: Status | None) -> str:
    """Describes the speed of the part of an iteration that it belongs to, and the speed of the whole training."""
    if rate is None:
        return ""
    part = Speed("", rate["unit"], rate["during"]).describe(rate["value"])
    return part if rate["overall"] is None else f"{part}, {readable(rate['overall'])}/s over all of the training"


def _step(run: Status) -> str:
    """The step of the start or of a recovery that a run takes; empty if it trains or has ended."""
    step = run["step"]
    return "" if step is None else f"{step['name']}, since {duration(step['seconds'])}"


def _workers(run: Status) -> str:
    """Describes the workers, as far as they are known; empty for a run without a pool."""
    queue = {"chunks queued": run["queue_depth"], "fits behind the learner": run["weights_age"]}
    counts = run["workers"] | {name: value for name, value in queue.items() if value is not None}
    if run["state"] == "elsewhere":
        return _joined(_counts(counts), "as of the newest row" if counts else "")
    if run["state"] not in OPEN and counts:
        return _joined("none now", _counts({name: value for name, value in counts.items() if name != "alive"}))
    return _counts(counts)


def _recovered(events: Status) -> str:
    if not events["counts"]:
        return ""
    newest, lost = events["newest"], count(events["lost_iterations"], "iteration")
    times = _joined(*(f"{name} {count(number, 'time')}" for name, number in events["counts"].items()))
    return f"{times}, {lost} done again; last at iteration {newest['iteration']}: {newest.get('cause', 'unknown')}"


def _checkpoint(checkpoint: Status | None, removed: bool) -> str:
    if checkpoint is None:
        return "removed" if removed else "none yet"
    health = "" if not checkpoint["checked"] else "intact" if checkpoint["damage"] is None else "DAMAGED"
    return _joined(f"of iteration {checkpoint['iteration']}", f"{duration(checkpoint['age_s'])} old", health)


def _strategies(strategies: Status) -> str:
    newest = f"the newest of iteration {strategies['newest']}" if strategies["stored"] else ""
    missing = f"{len(strategies['missing'])} missing" if strategies["missing"] else ""
    return _joined(f"{strategies['stored']} stored", newest, missing)


def _wandb(run: Status) -> str:
    wandb = run["wandb"]
    if wandb is None:
        return ""
    sync = f"to send it: wandb sync {wandb['to_sync']}" if wandb["to_sync"] else ""
    return _joined(f"run {wandb['id']}", sync)


def _evaluations(run: Status) -> str:
    rows = []
    for row in run["evaluations"]:
        won = describe_share(row["win_rate"], *row["ci95"]) if row["ci95"] else f"{100 * row['win_rate']:.1f}"
        rows.append(
            {"policy": row["policy"], "against": row["opponent"], "won, in % [95 % interval]": won}
            | _mean_return(row)
            | {"games": row["games"] or "", "iteration": row["iteration"]}
        )
    columns = max((list(row) for row in rows), key=len)
    return output.table(rows, columns)


def _mean_return(row: Status) -> dict[str, str]:
    """The mean return where the numbers of games won and lost do not tell it; rows of old runs have none."""
    mean = row["mean_return"]
    known = None not in (mean, row["wins"], row["losses"])
    told = known and row["games"] and output.differ_in_size(mean, row)
    return {"mean return": f"{mean:+.3g}"} if told else {}


def _newest_measures(run: Status) -> str:
    rows = [*run["evaluations"], *({"policy": policy} | row for policy, row in run["nash_conv"].items())]
    return describe_measures({name: value for row in rows for name, value in measures(row).items()})


def _counts(counts: Mapping[str, float]) -> str:
    """Formats counts as ``4 alive, 1.2k values``; omits zeros, except for ``alive``."""
    return _joined(*(f"{readable(value)} {name}" for name, value in counts.items() if value or name == "alive"))


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _time(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)
