"""Sends a run to Weights & Biases: reads `metrics.jsonl` while it grows, in a process beside the training.

    python -m dancfr.watch.wandb_reader RUN online|offline [KEY UNIT]

KEY and UNIT are those of the method's `Speed`. The process ends when its standard input does: with the training. Its
exit code is 1 if W&B fails; the last line on standard error then says why.

W&B's own step only counts rows here. The axis of charts is ``iteration``, that of evaluations ``evaluation/iteration``,
so rows may arrive late. When an online run is resumed, the server's summary shows which rows W&B has already. An
offline piece cannot be continued, since W&B may replace the rows of a first piece by those of a second one; therefore
each piece begins with the first row of the record and is complete.
"""

import json
import os
import re
import shutil
import sys
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dancfr.runs import checkpoints
from dancfr.runs.folder import write_json
from dancfr.runs.run import Run
from dancfr.watch.beside import ignore_signals, until_the_end
from dancfr.watch.following import Row, Tail, evaluated, is_number
from dancfr.watch.progress import Speed
from dancfr.watch.tracking import server

FILE = "wandb.json"
"""The file in a run's folder with the ``id`` of its W&B run, and the names of its offline ``pieces``, oldest first."""

INIT_TIMEOUT_S = 30.0
"""Time after which W&B gives up on a server that does not answer; the variable WANDB_INIT_TIMEOUT overrides it."""

SUMMARIES = (
    (r"evaluation/.*/win_rate", "max,last"),
    (r"evaluation/.*/nash_conv", "min,last"),
    (r".*per_second(_each)?", "mean,last"),
)
"""Summaries of metrics in W&B's table of runs, which shows the last value of all others."""

AXES = ("iteration", "evaluation/iteration", "elapsed_s")
"""Metrics that need no chart of their own."""

CHARTS = {"win_rate": "Share of games won", "nash_conv": "NashConv"}
"""Titles of the charts that contain all learning curves of a kind."""


class Reader:
    """Sends new rows and checkpoints of a run to W&B.

    Args:
        run: The run.
        live: The W&B run, just started.
        speed: The speed of the method.
    """

    def __init__(self, run: Run, live: Any, speed: Speed | None = None) -> None:
        self._run, self._live, self._speed = run, live, speed
        self._tail = Tail(run.metrics.path)
        self._sent: dict[str, Any] = dict(live.summary)  # newest value of each metric
        self._defined = set(AXES)
        self._events: Counter[str] = Counter()
        self._curves: dict[str, dict[str, dict[int, float]]] = {}  # points by chart and curve
        self._charted = 0
        self._checkpoint = 0
        for axis in AXES:
            live.define_metric(axis, hidden=True)

    def update(self, last: bool = False) -> None:
        """Sends new rows and, if there is a new checkpoint, the checkpoint and the charts.

        Args:
            last: Send the charts in any case.
        """
        rows, anew = self._tail.read()
        if anew:  # the run went back to a checkpoint
            self._events.clear()
        for row in rows:
            self._send(row)
        stored = checkpoints.listed(self._run)
        due = bool(stored) and stored[-1].iteration > self._checkpoint
        if due:
            self._send_checkpoint(stored[-1])
        if due or last:
            self._send_charts()

    def _send(self, row: Row) -> None:
        """Sends a row, unless W&B has it already."""
        kind, axis = row.get("kind"), "iteration"
        if kind == "event":
            metrics = self._count(row)
            new = any(value > self._sent.get(name, 0) for name, value in metrics.items())
        elif kind in ("evaluation", "exploitability"):
            axis = "evaluation/iteration"
            metrics = evaluated(row)
            new = row["iteration"] >= self._sent.get(axis, 0)  # several rows have the iteration of an evaluation
            self._chart(row["iteration"], metrics)
        else:
            metrics = {key: value for key, value in row.items() if is_number(value)} | speed_each(row, self._speed)
            new = row["iteration"] > self._sent.get(axis, 0)
        if new:
            for name in metrics.keys() - self._defined:
                summary = next((kinds for pattern, kinds in SUMMARIES if re.fullmatch(pattern, name)), None)
                self._live.define_metric(name, step_metric=axis, **({"summary": summary} if summary else {}))
                self._defined.add(name)
            self._sent |= metrics | ({} if kind == "event" else {axis: row["iteration"]})
            self._live.log(metrics | {axis: row["iteration"]})

    def _count(self, row: Row) -> dict[str, float]:
        """Returns the number of events of this kind so far, and the iterations and seconds that they cost."""
        name = f"events/{row.get('event')}"
        costs = {f"{name}_{key}": row[key] for key in ("lost_iterations", "seconds") if is_number(row.get(key))}
        self._events.update({name: 1, **costs})
        return {key: self._events[key] for key in (name, *costs)}

    def _chart(self, iteration: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            curve, _, chart = name.removeprefix("evaluation/").rpartition("/")
            self._curves.setdefault(chart, {}).setdefault(curve, {})[iteration] = value

    def _send_charts(self) -> None:
        """Draws the learning curves so far, those of all policies and opponents in one chart."""
        points = sum(len(curve) for curves in self._curves.values() for curve in curves.values())
        if points == self._charted:
            return
        import wandb

        self._charted = points
        for chart, curves in self._curves.items():
            drawn = wandb.plot.line_series(
                xs=[list(curve) for curve in curves.values()],
                ys=[list(curve.values()) for curve in curves.values()],
                keys=list(curves),
                title=CHARTS.get(chart, chart),
                xname="iteration",
                split_table=True,
            )
            self._live.log({f"curves/{chart}": drawn})

    def _send_checkpoint(self, checkpoint: checkpoints.Checkpoint) -> None:
        """Sends a checkpoint's manifest and the strategies up to it as an artifact; the buffers stay on the disk."""
        import wandb

        self._checkpoint = checkpoint.iteration
        name = re.sub(r"[^\w.-]", "-", self._run.name)[:100]
        about = {"iteration": checkpoint.iteration}
        # With the id, since runs of two machines may have the same name.
        artifact = wandb.Artifact(f"{name}-{self._live.id}-checkpoint", type="checkpoint", metadata=about)
        manifest = self._run.path / "wandb" / f"manifest-{checkpoint.iteration:06d}.json"
        stored = [file.path for file in self._run.list_strategies() if file.iteration <= checkpoint.iteration]
        try:
            shutil.copyfile(checkpoint.folder / "manifest.json", manifest)  # a later checkpoint removes this one
            artifact.add_file(str(manifest), name="manifest.json", policy="immutable", skip_cache=True)
            for path in stored:  # W&B need not copy a file that does not change
                artifact.add_file(str(path), name=f"strategies/{path.name}", policy="immutable", skip_cache=True)
        except (OSError, ValueError):
            return  # the run has removed a file meanwhile; the next checkpoint is sent instead
        self._live.log_artifact(artifact, aliases=["latest", f"iteration-{checkpoint.iteration}"])


def speed_each(row: Row, speed: Speed | None) -> dict[str, float]:
    """Returns the speed per worker of a training row."""
    total, alive = None if speed is None else speed.of(row), row.get("workers/alive")
    return {f"workers/{speed.unit}_per_second_each": total / alive} if speed and total is not None and alive else {}


def wandb_id(run: Run) -> str:
    """Returns the id of the W&B run that belongs to a run; the first call creates it."""
    stored = _stored(run).get("id")
    if isinstance(stored, str) and re.fullmatch(r"[\w-]{1,64}", stored):
        return stored
    made = uuid.uuid4().hex[:12]  # there is none yet, or the file is damaged, and W&B will have this run in two parts
    write_json(run.path / FILE, {"id": made})
    return made


def note_piece(run: Run, live: Any) -> None:
    """Notes that an offline piece has all rows, as the newest one; its name cannot tell, being local time."""
    stored, piece = _stored(run), Path(live.dir).parent.name
    if piece.startswith("offline-run-"):
        write_json(run.path / FILE, {**stored, "pieces": [*stored.get("pieces", []), piece]})


def _stored(run: Run) -> dict[str, Any]:
    try:
        stored = json.loads((run.path / FILE).read_text())
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def start(run: Run, mode: str) -> Any:
    """Starts or resumes the W&B run of a run.

    W&B monitors this machine and the processes of the training, which is the parent of this process.
    """
    os.environ.setdefault("WANDB_SILENT", "true")  # read at import
    os.environ.setdefault("WANDB_INIT_TIMEOUT", str(INIT_TIMEOUT_S))
    import wandb

    (run.path / "wandb").mkdir(exist_ok=True)
    offered = {
        "x_stats_pid": os.getppid(),
        "x_stats_track_process_tree": True,
        "x_stats_disk_paths": (str(run.path),),
    }
    known = {key: value for key, value in offered.items() if key in wandb.Settings.model_fields}
    config = run.info["config"]
    details = {key: run.info.get(key) for key in ("preset", "method", "version", "git_revision")}
    details |= {"origin": run.info["origin"]} if "origin" in run.info else {}
    return wandb.init(
        project=os.environ.get("WANDB_PROJECT") or "dancfr",
        group=run.preset,
        job_type="train",
        tags=[run.method, *([config["game"]] if "game" in config else [])],
        name=run.name,
        id=wandb_id(run),
        resume="allow",
        mode=mode,  # type: ignore[arg-type]
        dir=str(run.path),
        config={**details, **config},
        settings=wandb.Settings(silent=True, console="off", disable_code=True, **known),
    )


def main(path: str, mode: str, *speed: str) -> None:
    """Follows a run until standard input ends, which contains the exit code of the training."""
    ignore_signals()
    run = Run.open(path)
    live = start(run, mode)
    reader = Reader(run, live, Speed(*speed) if speed else None)
    reader.update()
    note_piece(run, live)
    exit_code = until_the_end(reader.update)
    reader.update(last=True)
    live.finish(exit_code=exit_code)


def explained(error: Exception) -> str:
    """Returns the cause of an error of W&B, in one line; its own words name neither the server nor a wrong setting."""
    text = " ".join(str(error).split())[:300] or type(error).__name__
    where = server()
    if re.search(r"error 40[13]\b|API key", text):
        return f"{where} does not accept the key: set WANDB_API_KEY or run `wandb login`; {text}"
    if re.search(r"deadline exceeded|timed out", text):
        return f"no answer from {where}"
    return text


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:
        print(explained(error), file=sys.stderr, flush=True)
        os._exit(1)  # at a regular exit W&B would wait for its service
