"""Fills the page of a run in Weights & Biases beside the metrics of its rows: charts, tables and artifacts.

Everything here is made from the run's folder; `dancfr.watch.wandb_reader` decides when it is sent.
"""

import json
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dancfr.runs import checkpoints
from dancfr.runs.recorded_games import is_record
from dancfr.runs.run import Run
from dancfr.values import is_number
from dancfr.watch.following import Row

CHARTS = {"win_rate": "Share of games won", "mean_return": "Mean return", "nash_conv": "NashConv"}
"""Titles of the charts that contain all learning curves of a kind."""

EVALUATIONS = (
    "iteration", "decisions", "elapsed_s", "policy", "opponent", "games", "win_rate", "low", "high", "mean_return"
)  # fmt: skip
"""Columns of the table of evaluations; ``low`` and ``high`` are the 95 % interval of the win rate."""

EXACT = ("iteration", "decisions", "elapsed_s", "policy", "value", "exploitability", "nash_conv")
"""Columns of the table of exact evaluations."""

BOUNDS = (
    "agent", "game", "exact", "exploitability_at_least", "value", "low", "high", "eval_games", "decisions",
    "cpu_seconds", "file",
)  # fmt: skip
"""Columns of the table of best responses: a bound of the exploitability, with 97.5 % confidence, and its cost."""

RESPONSE = "exploit.json"
"""The result of `dancfr exploit` in the folder of a response, which may lie in the folder of the run."""

FILES = ("config.json", "metrics.jsonl", "report.html", RESPONSE)
"""Files of a run's folder that are sent when the training ends, if they exist."""

LARGEST = 64 * 2**20
"""Larger files are not sent, in bytes."""


class Curves:
    """The learning curves so far; those of all policies and opponents are drawn in one chart for each kind."""

    def __init__(self) -> None:
        self._points: dict[str, dict[str, dict[int, float]]] = {}  # by chart, curve and iteration
        self._drawn = 0

    def add(self, iteration: int, metrics: Mapping[str, float]) -> None:
        """Adds the metrics of an evaluation, a point each."""
        for name, value in metrics.items():
            curve, _, chart = name.removeprefix("evaluation/").rpartition("/")
            self._points.setdefault(chart, {}).setdefault(curve, {})[iteration] = value

    def draw(self) -> dict[str, Any]:
        """Returns the charts by name; none if there is no new point since the last call."""
        import wandb

        points = sum(len(curve) for curves in self._points.values() for curve in curves.values())
        if points == self._drawn:
            return {}
        self._drawn = points
        return {
            f"curves/{chart}": wandb.plot.line_series(
                xs=[list(curve) for curve in curves.values()],
                ys=[list(curve.values()) for curve in curves.values()],
                keys=list(curves),
                title=CHARTS.get(chart, chart),
                xname="iteration",
                split_table=True,
            )
            for chart, curves in self._points.items()
        }


def tables(run: Run, decisions: Mapping[int, float]) -> dict[str, Any]:
    """Returns the tables of a run by name, without those that would have no row.

    Args:
        run: The run.
        decisions: Number of decisions played until the end of an iteration, as far as it is known.
    """
    made = {
        "tables/evaluations": (EVALUATIONS, _interval("ci95", run.read_metrics("evaluation"), decisions)),
        "tables/exploitability": (EXACT, _interval("", run.read_metrics("exploitability"), decisions)),
        "tables/best_responses": (BOUNDS, _interval("value_ci95", responses(run.path), {})),
    }
    import wandb

    return {
        name: wandb.Table(columns=list(columns), data=[[_cell(row.get(column)) for column in columns] for row in rows])
        for name, (columns, rows) in made.items()
        if rows
    }


def _interval(key: str, rows: Iterable[Row], decisions: Mapping[int, float]) -> list[Row]:
    """Returns the rows with the ends of an interval as ``low`` and ``high``, and with the decisions where known."""
    found = []
    for row in rows:
        low, high = row.get(key) or (None, None)
        known = decisions.get(row.get("iteration", -1))
        found.append(row | {"low": low, "high": high} | ({} if known is None else {"decisions": known}))
    return found


def _cell(value: Any) -> Any:
    """A column of a table has one type, and whole numbers would make another one than fractions."""
    return float(value) if is_number(value) else value


def responses(folder: Path) -> list[Row]:
    """Returns the results of `dancfr exploit` in a run's folder and in those directly within it, with the ``file``."""
    found = []
    for path in sorted([folder / RESPONSE, *folder.glob(f"*/{RESPONSE}")]):
        try:
            result = json.loads(path.read_text())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(result, dict) and is_number(result.get("exploitability_at_least")):
            found.append(result | {"file": path.relative_to(folder).as_posix()})
    return found


def _artifact(run: Run, live: Any, kind: str, **about: Any) -> Any:
    """Returns a new artifact, named after the run and its id, since runs of two machines may have the same name."""
    import wandb

    name = re.sub(r"[^\w.-]", "-", run.name)[:100]
    return wandb.Artifact(f"{name}-{live.id}-{kind}", type=kind, metadata=about)


def send_checkpoint(run: Run, live: Any, checkpoint: checkpoints.Checkpoint) -> Any:
    """Sends a checkpoint's manifest and the strategies up to it as an artifact; the buffers stay on the disk.

    Returns:
        The artifact; None if a file was removed meanwhile.
    """
    artifact = _artifact(run, live, "checkpoint", iteration=checkpoint.iteration)
    manifest = run.path / "wandb" / f"manifest-{checkpoint.iteration:06d}.json"
    stored = [file.path for file in run.list_strategies() if file.iteration <= checkpoint.iteration]
    try:
        shutil.copyfile(checkpoint.folder / "manifest.json", manifest)  # a later checkpoint removes this one
        artifact.add_file(str(manifest), name="manifest.json", policy="immutable", skip_cache=True)
        for path in stored:  # W&B need not copy a file that does not change
            artifact.add_file(str(path), name=f"strategies/{path.name}", policy="immutable", skip_cache=True)
    except (OSError, ValueError):
        return None  # the run has removed a file meanwhile; the next checkpoint is sent instead
    return live.log_artifact(artifact, aliases=["latest", f"iteration-{checkpoint.iteration}"])


def send_record(run: Run, live: Any) -> Any:
    """Sends the record of the run as an artifact: its `FILES`, those of responses, and recorded games; returns it.

    Copies are sent, beside the rows of this piece, because the run may continue before an offline piece is sent.
    """
    artifact = _artifact(run, live, "record")
    copies = Path(live.dir).parent / "record"
    games = [path for path in sorted(run.path.glob("games/*.jsonl")) if is_record(path)]
    for path in [*(run.path / name for name in FILES), *sorted(run.path.glob(f"*/{RESPONSE}")), *games]:
        name = path.relative_to(run.path).as_posix()
        try:
            if not path.is_file() or path.stat().st_size > LARGEST:
                continue
            (copies / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copies / name)
            artifact.add_file(str(copies / name), name=name, policy="immutable", skip_cache=True)
        except (OSError, ValueError):
            continue  # the file has been removed meanwhile
    return live.log_artifact(artifact, aliases=["latest"])


def refused(artifacts: Iterable[Any], seconds: float) -> dict[str, list[str]]:
    """Returns the names of the artifacts that the server has refused, by its reason.

    Args:
        artifacts: Artifacts that were sent.
        seconds: Time to wait for all of them; one that is still under way then is not refused.
    """
    until, found = time.monotonic() + seconds, dict[str, list[str]]()
    for artifact in artifacts:
        try:
            artifact.wait(timeout=max(int(until - time.monotonic()), 1))
        except ValidationError:  # it was taken, and the answer about it is not understood
            continue
        except ValueError as error:
            found.setdefault(" ".join(str(error).split()), []).append(artifact.name)
        except Exception:  # it takes longer, or is there but cannot be read back
            continue
    return found
