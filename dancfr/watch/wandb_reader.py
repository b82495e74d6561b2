"""Sends a run to Weights & Biases: reads `metrics.jsonl` while it grows, in a process beside the training.

    python -m dancfr.watch.wandb_reader RUN online|offline [KEY UNIT [DECISIONS]]

KEY and UNIT are those of the method's `Speed`, and DECISIONS is the key of the decisions so far. The process ends when
its standard input does: with the training. Its exit code is 1 if W&B fails; the last line on standard error then says
why.

W&B's own step only counts rows here. The axis of charts is ``iteration``, that of evaluations ``evaluation/iteration``,
so rows may arrive late. Rows of evaluations also contain ``evaluation/decisions`` and ``evaluation/elapsed_s``, two
axes by which runs of different settings or methods can be compared. When an online run is resumed, the server's
summary shows which rows W&B has already. An offline piece cannot be continued, since W&B may replace the rows of a
first piece by those of a second one; therefore each piece begins with the first row of the record and is complete.
"""

import json
import os
import re
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from dancfr.runs import checkpoints
from dancfr.runs.folder import write_json
from dancfr.runs.run import Run
from dancfr.values import is_number
from dancfr.watch.beside import ignore_signals, until_the_end
from dancfr.watch.following import Row, Tail, evaluated
from dancfr.watch.progress import Speed
from dancfr.watch.reader_process import NOTE
from dancfr.watch.tracking import server
from dancfr.watch.wandb_page import Curves, refused, send_checkpoint, send_record, tables

FILE = "wandb.json"
"""The file in a run's folder with the ``id`` of its W&B run, and the names of its offline ``pieces``, oldest first."""

INIT_TIMEOUT_S = 30.0
"""Time after which W&B gives up on a server that does not answer; the variable WANDB_INIT_TIMEOUT overrides it."""

REFUSAL_S = 20.0
"""Time to wait at the end for the server's answers about artifacts."""

SUMMARIES = (
    (r"evaluation/.*/(win_rate|mean_return)", "max,last"),
    (r"evaluation/.*/nash_conv", "min,last"),
    (r"response/value.*", "max,last"),
    (r"loss/.*", "min,last"),
    (r".*per_second(_each)?", "mean,last"),
)
"""Summaries of metrics in W&B's table of runs, which shows the last value of all others."""

EVALUATED = tuple(f"evaluation/{name}" for name in ("iteration", "decisions", "elapsed_s"))
"""Axes of evaluations, their own first."""

AXES = ("iteration", "elapsed_s", *EVALUATED)
"""Metrics that need no chart of their own."""


class Reader:
    """Sends new rows and checkpoints of a run to W&B.

    Args:
        run: The run.
        live: The W&B run, just started.
        speed: The speed of the method.
        decisions: Key of training rows that counts the decisions so far, if there is one.
    """

    def __init__(self, run: Run, live: Any, speed: Speed | None = None, decisions: str = "") -> None:
        self._run, self._live, self._speed, self._decisions_key = run, live, speed, decisions
        self._tail = Tail(run.metrics.path)
        self._sent: dict[str, Any] = dict(live.summary)  # newest value of each metric
        self._defined = set(AXES)
        self._events: Counter[str] = Counter()
        self._decisions: dict[int, float] = {}  # until the end of an iteration
        self._curves = Curves()
        self._checkpoint = 0
        self._artifacts: list[Any] = []
        for axis in AXES:
            live.define_metric(axis, hidden=True)

    def update(self, last: bool = False) -> None:
        """Sends new rows and, if there is a new checkpoint, the checkpoint and the charts.

        Args:
            last: Send the charts in any case, and the tables and the record.
        """
        rows, anew = self._tail.read()
        if anew:  # the run went back to a checkpoint
            self._events.clear()
        for row in rows:
            self._send(row)
        stored = checkpoints.listed(self._run)
        due = bool(stored) and stored[-1].iteration > self._checkpoint
        if due:
            self._checkpoint = stored[-1].iteration
            self._artifacts.append(send_checkpoint(self._run, self._live, stored[-1]))
        if (due or last) and (charts := self._curves.draw()):
            self._live.log(charts)
        if last:
            if made := tables(self._run, self._decisions):
                self._live.log(made)
            self._artifacts.append(send_record(self._run, self._live))

    def refusals(self) -> list[str]:
        """Returns a line for each reason why the server has refused artifacts."""
        found = refused([artifact for artifact in self._artifacts if artifact is not None], REFUSAL_S)
        return [f"{server()} does not take {', '.join(names)}: {why}" for why, names in found.items()]

    def _send(self, row: Row) -> None:
        """Sends a row, unless W&B has it already."""
        kind, axis = row.get("kind"), "iteration"
        axes: dict[str, float] = {}
        if kind == "event":
            metrics = self._count(row)
            new = any(value > self._sent.get(name, 0) for name, value in metrics.items())
        elif kind in ("evaluation", "exploitability"):
            axis = EVALUATED[0]
            metrics = evaluated(row)
            new = row["iteration"] >= self._sent.get(axis, 0)  # several rows have the iteration of an evaluation
            self._curves.add(row["iteration"], metrics)
            values = {"decisions": self._decisions.get(row["iteration"]), "elapsed_s": row.get("elapsed_s")}
            axes = {f"evaluation/{name}": value for name, value in values.items() if value is not None}
        else:
            metrics = {key: value for key, value in row.items() if is_number(value)} | speed_each(row, self._speed)
            new = row["iteration"] > self._sent.get(axis, 0)
            if is_number(row.get(self._decisions_key)):
                self._decisions[row["iteration"]] = row[self._decisions_key]
        if new:
            for name in metrics.keys() - self._defined:
                summary = next((kinds for pattern, kinds in SUMMARIES if re.fullmatch(pattern, name)), None)
                self._live.define_metric(name, step_metric=axis, **({"summary": summary} if summary else {}))
                self._defined.add(name)
            self._sent |= metrics | ({} if kind == "event" else {axis: row["iteration"]})
            self._live.log(metrics | axes | {axis: row["iteration"]})

    def _count(self, row: Row) -> dict[str, float]:
        """Returns the number of events of this kind so far, and the iterations and seconds that they cost."""
        name = f"events/{row.get('event')}"
        costs = {f"{name}_{key}": row[key] for key in ("lost_iterations", "seconds") if is_number(row.get(key))}
        self._events.update({name: 1, **costs})
        return {key: self._events[key] for key in (name, *costs)}


def speed_each(row: Row, speed: Speed | None) -> dict[str, float]:
    """Returns the speed per worker of a training row."""
    total, alive = None if speed is None else speed.of(row), row.get("workers/alive")
    return {f"workers/{speed.unit}_per_second_each": total / alive} if speed and total is not None and alive else {}


def wandb_id(run: Run) -> str:
    """Returns the id of the W&B run that belongs to a run; the first call creates it.

    An agent of a sweep has chosen one already, which W&B takes in any case. Stored, it serves to resume the run.
    """
    stored = _stored(run).get("id")
    if isinstance(stored, str) and re.fullmatch(r"[\w-]{1,64}", stored):
        return stored
    chosen = os.environ.get("WANDB_RUN_ID") if os.environ.get("WANDB_SWEEP_ID") else None
    made = chosen or uuid.uuid4().hex[:12]  # no id yet, or a damaged file, and W&B will have this run in two parts
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


def shown_name(run: Run) -> str:
    """Returns the name that W&B shows: that of the folder, one of several seeds with the folder above it."""
    several = re.fullmatch(r"seed-\d+", run.name) is not None
    return f"{run.path.resolve().parent.name}/{run.name}" if several else run.name


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
        name=shown_name(run),
        id=wandb_id(run),
        resume="allow",
        mode=mode,  # type: ignore[arg-type]
        dir=str(run.path),
        config={**details, **config},
        settings=wandb.Settings(silent=True, console="off", disable_code=True, **known),
    )


def main(path: str, mode: str, key: str = "", unit: str = "", decisions: str = "") -> None:
    """Follows a run until standard input ends, which contains the exit code of the training."""
    ignore_signals()
    run = Run.open(path)
    live = start(run, mode)
    reader = Reader(run, live, Speed(key, unit) if key else None, decisions)
    reader.update()
    note_piece(run, live)
    exit_code = until_the_end(reader.update)
    reader.update(last=True)
    for line in reader.refusals() if mode == "online" else ():
        print(f"{NOTE}{line}", file=sys.stderr, flush=True)
    live.finish(exit_code=exit_code)


def explained(error: Exception) -> str:
    """Returns the cause of an error of W&B, in one line; its own words name neither the server nor a wrong setting."""
    text = " ".join(str(error).split())[:300] or type(error).__name__
    where = server()
    if re.search(r"error 40[13]\b|API key|verify credentials", text):
        return f"{where} does not accept the key: set WANDB_API_KEY or run `wandb login`; {text}"
    if re.search(r"permission denied|find entity|HTTP 404", text):
        return f"{where} has no project for this key there: set WANDB_ENTITY and WANDB_PROJECT; {text}"
    if re.search(r"HTTP 429", text):
        return f"{where} takes no more requests of this key for now; {text}"
    if re.search(r"deadline exceeded|timed out|did not respond in time", text):
        return f"no answer from {where}"
    return text


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:
        print(explained(error), file=sys.stderr, flush=True)
        os._exit(1)  # at a regular exit W&B would wait for its service
