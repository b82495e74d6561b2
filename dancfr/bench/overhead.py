"""Benchmark of a training with Ray, compared with the same training in one process."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import psutil

from actors.addresses import choose
from actors.cores import available_cpus
from dancfr.bench.timing import joined, noise, result
from dancfr.errors import UsageError
from dancfr.methods import find_preset
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.dream.driver import Dream
from dancfr.methods.options import TrainOptions
from dancfr.methods.run_actors import Placement
from dancfr.runs.config import apply_overrides
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker

PRESET = "geister-quick"
SETTINGS = ("minutes=none", "evaluation.every=0", "checkpoint_every=1000000")
TURN = 4
"""Iterations in one turn of a side. At its end the pending baseline fit is awaited, which would otherwise run during
the other side's turn; within it, baseline fits run at the same time as traversals, as in a run."""
PAIR_S = 12.0
"""Approximate seconds of one turn with Ray and one without, together."""
SHORT = ("traversals=64", "advantage_training.minibatches=4", "baseline_training.minibatches=2")
LEAST_S = 0.01
"""The operating system counts CPU seconds of other processes in steps of this length."""


def measure(seconds: float) -> dict[str, Any]:
    """Measures decisions per CPU second of whole iterations of `geister-quick` with Ray and one worker.

    CPU seconds are those of the driver and of all of Ray's processes, so this is the rate of one core. Ray's daemons
    work even while they wait: on a machine with other load a turn takes longer, and the rate falls. The limit is the
    same training inline, by its CPU seconds; the two take turns. The target is a ratio of 0.9.

    The second row is the rate by wall-clock time. Its ratio also has what other cores bring, on which learners,
    buffers and the worker run at the same time, and so it can exceed 1. Its detail has the traversals alone, including
    the transfer of samples to the buffers.

    Raises:
        UsageError: Ray would be a cluster that runs already, whose processes cannot be counted.
    """
    if choose(None).address is not None:
        raise UsageError("ray-overhead counts the CPU seconds of a Ray that it starts: unset RAY_ADDRESS")
    pairs = max(2, round(seconds / PAIR_S))
    settings = SETTINGS if seconds >= PAIR_S else SETTINGS + SHORT
    config = apply_overrides(find_preset(PRESET).config_as(DreamConfig), settings)
    rates: dict[str, dict[str, list[float]]] = {side: {} for side in ("ray", "inline")}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runs = {side: stack.enter_context(_training(folder / side, config, side == "inline")) for side in rates}
        for side, run in runs.items():
            _turn(run, side)  # compiles, starts actors, and trains a baseline of each player
        for pair in range(pairs):
            for side in list(rates)[:: 1 if pair % 2 else -1]:
                for kind, value in _turn(runs[side], side).items():
                    rates[side].setdefault(kind, []).append(value)
    cores = available_cpus()
    return joined(
        _row(rates, "cpu", "a core for a core", "--inline in turn, both by CPU seconds", pairs=pairs, target=0.9),
        _row(
            rates,
            "wall",
            f"by wall clock on {cores} core{'s' if cores > 1 else ''}",
            "--inline in turn, on one core",
            **{"traversals alone": _compare(rates, "traversal")},
        ),
    )


def _compare(rates: dict[str, dict[str, list[float]]], kind: str) -> dict[str, float]:
    """Returns the medians of a kind of rate and their ratio."""
    ours, limit = (median(rates[side][kind]) for side in ("ray", "inline"))
    return {"ray": round(ours), "inline": round(limit), "ratio": round(ours / limit, 3)}


def _row(rates: dict[str, dict[str, list[float]]], kind: str, case: str, limit: str, **more: Any) -> dict[str, Any]:
    found = _compare(rates, kind)
    spread = {side: noise([1 / each for each in kinds[kind]]) for side, kinds in rates.items()}
    detail = {"limit": limit, **more, "noise": spread}
    return result("ray-overhead", found["ray"], "decisions/s", found["inline"], found["ratio"], detail, case)


@contextmanager
def _training(path: Path, config: DreamConfig, inline: bool) -> Iterator[Dream]:
    """Yields a training that is ready for its next iteration."""
    options = TrainOptions(workers=None if inline else 1, inline=inline, progress=False)
    placement = Placement(options, config.resources)
    with Run.create(path, PRESET, "dream", config) as run, Tracker(run, mode="off") as tracker:
        try:
            with Progress(config.iterations, False, None) as progress:
                yield Dream(run, config, tracker, progress, placement)
        finally:
            placement.close()


def _turn(dream: Dream, side: str) -> dict[str, float]:
    """Runs `TURN` iterations; returns decisions per second of CPU time, of wall-clock time, and of the traversals."""
    before, started = dream.samples["decisions"], perf_counter()
    spent = process_time()
    processes = _cpu_seconds_of_children() if side == "ray" else {}
    dream.last_iteration = dream.iteration + TURN
    dream.learn()
    dream.settle()
    took, spent = perf_counter() - started, process_time() - spent
    if side == "ray":
        spent += sum(now - processes.get(process, 0.0) for process, now in _cpu_seconds_of_children().items())
    decisions = dream.samples["decisions"] - before
    traversals = sum(row["time/traversal_s"] for row in dream.run.read_metrics("train")[-TURN:])
    return {
        "cpu": decisions / max(spent, LEAST_S),
        "wall": decisions / took,
        "traversal": decisions / traversals,
    }


def _cpu_seconds_of_children() -> dict[int, float]:
    """Returns the CPU seconds so far of each process that this one or a child has started, by process id."""
    seconds = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            seconds[process.pid] = times.user + times.system
    return seconds
