"""Weights & Biases beside the record: one W&B run for each of ours, fed from a thread of its own.

The training hands its rows over and goes on; whatever W&B does with them (wait for a server, hang, fail) happens
elsewhere, and the first failure turns it off with one line of warning.
"""

import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from dancfr.errors import warn
from dancfr.runs.run import Run
from dancfr.watch.progress import KNOWN_SPEEDS, Speed
from learners.storage import replacing

INIT_TIMEOUT_S = 30.0
FINISH_TIMEOUT_S = 60.0
TEARDOWN_TIMEOUT_S = 10.0

WAITING_ROWS = 10_000
"""So many rows may wait for W&B; when there are more, it is taken to hang."""

CURVES = {"win_rate": "Share of games won", "nash_conv": "NashConv"}
"""Titles of the charts that hold all learning curves of a kind."""

Row = Mapping[str, Any]

SUMMARIES = (
    (r"evaluation/.*/win_rate", "max,last"),
    (r"evaluation/.*/nash_conv", "min,last"),
    (r".*per_second(_each)?", "mean,last"),
)
"""What the table of runs shows of a metric beside its name; of all others the last value."""

HIDDEN = ("iteration", "evaluation/iteration", "elapsed_s")
"""Axes: W&B need not draw a chart of them."""


class WandbSink:
    """One W&B run beside a run of ours; the same one again when ours is resumed.

    W&B takes its steps in order only, but an evaluation may come in after rows of later iterations, and a resumed run
    repeats iterations. So steps are no axis here: charts are drawn over ``iteration``, those of evaluations over
    ``evaluation/iteration``. What a W&B run has already is not sent again, and what the record has but W&B lacks (a
    killed process may lose rows there) is sent when the run goes on.

    Args:
        run: Our run. W&B's files go to its folder ``wandb/``, the id of the W&B run to ``wandb.json``.
        mode: ``online`` or ``offline``.
        speed: The speed of the method, from which W&B gets the speed of one worker.
    """

    def __init__(self, run: Run, mode: Literal["online", "offline"], speed: Speed | None = None) -> None:
        self._run = run
        self._speed = speed
        self._mode = mode
        self._wandb: Any = None
        self._live: Any = None
        self._steps = _Steps()
        self._curves = _Curves()
        self._events: Counter[str] = Counter()
        self._defined: set[str] = set()
        self._record = run.read_metrics()  # now: when the run goes on, rows will be dropped and added
        self._failed = threading.Event()
        self._once = threading.Lock()
        self._letting_go: threading.Thread | None = None
        self._calls: queue.Queue[Callable[[], object] | None] = queue.Queue(WAITING_ROWS)
        self._thread = threading.Thread(target=self._work, name="wandb", daemon=True)
        self._thread.start()

    def log(self, row: Row) -> None:
        """Sends a row of `metrics.jsonl`."""
        self._submit(lambda: self._send(row))

    def log_checkpoint(self, iteration: int) -> None:
        """See `Tracker.checkpoint`."""
        if self._failed.is_set():
            return
        try:
            files = self._checkpoint_files(iteration)
        except OSError as error:
            self._give_up(error)
            return
        self._submit(self._send_curves)
        self._submit(lambda: self._send_artifact(iteration, files))

    def finish(self, exit_code: int) -> None:
        """Ends the W&B run, waiting at most `FINISH_TIMEOUT_S` for what is still being sent."""

        def end() -> None:
            self._send_curves()
            self._live.finish(exit_code=exit_code)
            self._wandb.teardown()  # its service process ends here, and not with this one

        self._submit(end)
        self._submit(None)
        self._thread.join(FINISH_TIMEOUT_S)
        if self._thread.is_alive() and not self._failed.is_set():
            self._give_up(TimeoutError(f"no answer within {FINISH_TIMEOUT_S:.0f} s"))
        if self._letting_go is not None:
            self._letting_go.join(TEARDOWN_TIMEOUT_S + 10)

    # On the way to the thread

    def _submit(self, call: Callable[[], object] | None) -> None:
        if self._failed.is_set():
            return
        try:
            self._calls.put_nowait(call)
        except queue.Full:
            self._give_up(TimeoutError(f"{WAITING_ROWS} rows wait for it"))

    def _work(self) -> None:
        """The thread: starts W&B, then makes the calls in their order until there is None, or one fails."""
        call: Callable[[], object] | None = self._start
        while call is not None and not self._failed.is_set():
            try:
                call()
            except Exception as error:
                self._give_up(error)
                return
            call = self._calls.get()

    def _give_up(self, error: BaseException) -> None:
        """Warns once and lets go of W&B so that it cannot hold up the end of this process either."""
        if not self._once.acquire(blocking=False):
            return
        self._failed.set()
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        warn(f"warning: W&B failed ({reason}); the run goes on, {self._run.metrics.path} has everything")
        if self._wandb is not None:
            self._letting_go = threading.Thread(target=_let_go, args=(self._wandb,), name="wandb-end", daemon=True)
            self._letting_go.start()

    # In the thread

    def _start(self) -> None:
        os.environ.setdefault("WANDB_SILENT", "true")  # read at import
        import wandb

        self._wandb = wandb
        run = self._run
        details = {key: run.info.get(key) for key in ("preset", "method", "version", "git_revision")}
        offered = {"x_stats_track_process_tree": True, "x_stats_disk_paths": (str(run.path),)}
        watched = {key: value for key, value in offered.items() if key in wandb.Settings.model_fields}
        self._live = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or "dancfr",
            group=run.preset,
            job_type="train",
            tags=[run.method, *([run.info["config"]["game"]] if "game" in run.info["config"] else [])],
            name=run.name,
            id=_wandb_id(run),
            resume="allow",
            mode=self._mode,
            dir=str(run.path),
            config={**details, **run.info["config"]},
            settings=wandb.Settings(
                silent=True, console="off", init_timeout=INIT_TIMEOUT_S, disable_code=True, **watched
            ),
        )
        for axis in HIDDEN:
            self._live.define_metric(axis, hidden=True)
        if self._record:
            self._catch_up()
        self._record = []

    def _catch_up(self) -> None:
        """Finds out what this W&B run has, and sends what it lacks of the record."""
        if self._mode == "online":
            self._steps.resume(self._live.step, dict(self._live.summary))
        else:
            step, summary = offline_state(self._run.path / "wandb", self._live.id)
            self._steps.resume(step + 1, summary)
        for row in self._record:
            self._send(row)

    def _send(self, row: Row) -> None:
        """Hands one row of the record to W&B, unless W&B has it."""
        kind, iteration = row.get("kind"), row["iteration"]
        if kind == "evaluation":
            metrics = {f"evaluation/{row['policy']}/{row['opponent']}/win_rate": row["win_rate"]}
        elif kind == "exploitability":
            metrics = {f"evaluation/{row['policy']}/nash_conv": row["nash_conv"]}
            metrics |= {f"evaluation/{key}": value for key, value in row.items() if key.startswith("validation/")}
        elif kind == "event":
            metrics = self._count_event(row)
        else:
            metrics = {**row, **derived(row, self._speed)}
        axis = "evaluation/iteration" if kind in ("evaluation", "exploitability") else "iteration"
        metrics = {key: value for key, value in metrics.items() if _is_number(value)}
        if not metrics:
            return
        if axis == "evaluation/iteration":
            self._curves.add(iteration, metrics)
        wanted = {**metrics, axis: iteration}
        step = self._steps.take(kind, iteration, wanted)
        if step is None:
            return
        for name in metrics.keys() - self._defined - set(HIDDEN):
            self._define(name, axis)
        self._live.log(wanted, step=step)

    def _count_event(self, row: Row) -> dict[str, Any]:
        """Events of this kind so far, and sums of what they tell."""
        name = f"events/{row.get('event', 'unknown')}"
        told = {f"{name}_{key}": row[key] for key in ("lost_iterations", "seconds") if _is_number(row.get(key))}
        self._events.update({name: 1, **told})
        return {key: self._events[key] for key in (name, *told)}

    def _define(self, name: str, axis: str) -> None:
        self._defined.add(name)
        summary = next((kinds for pattern, kinds in SUMMARIES if re.fullmatch(pattern, name)), None)
        self._live.define_metric(name, step_metric=axis, **({"summary": summary} if summary else {}))

    def _send_curves(self) -> None:
        """The learning curves so far as charts of their own, all policies and opponents in one."""
        for key, title, curves in self._curves.charts():
            chart = self._wandb.plot.line_series(
                xs=[xs for xs, _ in curves.values()],
                ys=[ys for _, ys in curves.values()],
                keys=list(curves),
                title=title,
                xname="iteration",
                split_table=True,
            )
            self._live.log({key: chart}, step=self._steps.step)

    def _checkpoint_files(self, iteration: int) -> list[tuple[Path, str]]:
        """What goes into the artifact, and the names there. The manifest is copied: a checkpoint is removed in time."""
        folder = self._run.path / "wandb"
        folder.mkdir(exist_ok=True)
        manifest = folder / f"manifest-{iteration:06d}.json"
        shutil.copyfile(self._run.path / "checkpoints" / f"{iteration:06d}" / "manifest.json", manifest)
        stored = [file.path for file in self._run.list_strategies() if file.iteration <= iteration]
        return [(manifest, "manifest.json"), *((path, f"strategies/{path.name}") for path in stored)]

    def _send_artifact(self, iteration: int, files: list[tuple[Path, str]]) -> None:
        name = re.sub(r"[^\w.-]", "-", self._run.name)[:100]
        artifact = self._wandb.Artifact(f"{name}-checkpoint", type="checkpoint", metadata={"iteration": iteration})
        for path, inner in files:  # none of them is ever changed, so W&B need not copy them
            artifact.add_file(str(path), name=inner, policy="immutable", skip_cache=True)
        self._live.log_artifact(artifact, aliases=["latest", f"iteration-{iteration}"])


class _Steps:
    """W&B's steps for our rows: in order, close to the iterations, and no value of a step written over by another.

    Attributes:
        step: The newest one.
    """

    def __init__(self) -> None:
        self.step = 0
        self._held: dict[str, Any] = {}  # logged at this step
        self._known: frozenset[str] = frozenset()  # metrics of which W&B has its newest evaluation
        self._trained = self._evaluated = -1

    def resume(self, step: int, summary: Mapping[str, Any]) -> None:
        """The W&B run goes on at `step`; its summary says up to which iteration it has rows."""
        self.step = max(self.step, step)
        self._trained = _whole(summary.get("iteration"))
        self._evaluated = _whole(summary.get("evaluation/iteration"))
        self._known = frozenset(summary)

    def take(self, kind: Any, iteration: int, metrics: Mapping[str, Any]) -> int | None:
        """The step for a row; None where W&B has the row."""
        if kind in ("evaluation", "exploitability"):
            if iteration < self._evaluated or (iteration == self._evaluated and self._known.issuperset(metrics)):
                return None
            if iteration > self._evaluated:
                self._evaluated, self._known = iteration, frozenset()
        elif kind != "event" and iteration <= self._trained:
            return None
        elif kind != "event":
            self._trained = iteration
        step = max(iteration, self.step)
        if step == self.step and any(self._held.get(key, value) != value for key, value in metrics.items()):
            step += 1
        if step > self.step:
            self.step, self._held = step, {}
        self._held |= metrics
        return step


class _Curves:
    """Points of the learning curves, by chart."""

    def __init__(self) -> None:
        self._points: dict[str, dict[str, dict[int, float]]] = {}
        self._changed = False

    def add(self, iteration: int, metrics: Mapping[str, Any]) -> None:
        """``evaluation/<curve>/<chart>: value`` of one iteration."""
        for name, value in metrics.items():
            curve, _, chart = name.removeprefix("evaluation/").rpartition("/")
            self._points.setdefault(chart, {}).setdefault(curve, {})[iteration] = value
            self._changed = True

    def charts(self) -> list[tuple[str, str, dict[str, tuple[list[int], list[float]]]]]:
        """(key, title, curves), if there are new points."""
        if not self._changed:
            return []
        self._changed = False
        found = []
        for chart, curves in self._points.items():
            lines = {name: (sorted(points), [points[i] for i in sorted(points)]) for name, points in curves.items()}
            found.append((f"curves/{chart}", CURVES.get(chart, chart), lines))
        return found


def derived(row: Row, speed: Speed | None = None) -> dict[str, float]:
    """What W&B gets beside a training row: the speed of one worker."""
    alive = row.get("workers/alive")
    for each in KNOWN_SPEEDS if speed is None else (speed,):
        value = each.of(row)
        if value is not None and _is_number(alive) and alive:
            return {f"workers/{each.unit}_per_second_each": value / alive}
    return {}


def offline_state(folder: Path, wandb_id: str) -> tuple[int, dict[str, Any]]:
    """Last step and newest values that the offline pieces of a W&B run hold, read by W&B itself; (-1, {}) for none."""
    for piece in sorted(folder.glob(f"offline-run-*-{wandb_id}"), reverse=True):
        command = [sys.executable, "-m", "wandb", "leet", "inspect", "--summary", "--json", str(piece)]
        try:
            told = subprocess.run(command, capture_output=True, timeout=60, check=True).stdout
            found = json.loads(told)["summary"]
        except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
            continue  # nothing whole in it, or the one that is being written
        if isinstance(found, dict) and _whole(found.get("_step")) >= 0:
            return _whole(found["_step"]), found
    return -1, {}


def _let_go(wandb: Any) -> None:
    """Takes back what W&B would do, and wait for, at the end of this process."""

    def work() -> None:
        with suppress(Exception):  # it has failed already, and that has been told
            wandb.teardown()

    ending = threading.Thread(target=work, name="wandb-teardown", daemon=True)
    ending.start()
    ending.join(TEARDOWN_TIMEOUT_S)
    _end_service()  # also one that was starting, of which W&B knows nothing yet


def _end_service() -> None:
    """Ends W&B's service process if it still is a child of this one; what it has stored can still be synced."""
    import psutil

    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if child.name().startswith("wandb-core"):
                child.kill()
                child.wait(5)


def _wandb_id(run: Run) -> str:
    """The id of the W&B run that belongs to this one, made at the first call."""
    path = run.path / "wandb.json"
    try:
        stored = json.loads(path.read_text())["id"]
        if re.fullmatch(r"[\w-]{1,64}", stored):
            return str(stored)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none yet, or damaged: W&B then has this run in two parts
    made = uuid.uuid4().hex[:12]
    with replacing(path) as file:
        file.write(json.dumps({"id": made}).encode() + b"\n")
    return made


def _whole(value: Any) -> int:
    return int(value) if _is_number(value) else -1


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))
