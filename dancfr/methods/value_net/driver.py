"""The driver of value functions for depth-limited solving (paper 003).

Before the first fit: the bottom is solved below many random strategies of the trunk, and each public state at the limit
is a sample. For t = 1, 2, ...:
    where it is asked for, DL-CFR+ runs with the net as it is, and the bottom is solved below strategies that it plays;
    the net is fitted to the samples so far;
    now and then DL-CFR+ runs to its end, and what its trunk loses to a best answer is computed exactly.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.remote import Ref
from actors.value_solving import ValueTask
from dancfr.methods.crew import Place, telling
from dancfr.methods.loop import Loop, reading, timed
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.methods.value_net.actors import ValueNetCrew
from dancfr.methods.value_net.config import ValueNetConfig
from dancfr.methods.value_net.data import ValueData
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.networks.settings import Weights


def train(run: Run, config: ValueNetConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a value function to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(ValueNet, run, config, tracker), run, config, tracker, options)


class ValueNet(Loop):
    """State of a run between iterations: the net, and how many samples there were."""

    def __init__(self, run: Run, config: ValueNetConfig, tracker: Tracker, progress: Progress, place: Place) -> None:
        self.config = config
        about, own = describe_data(config), run.path / "data"
        self.data = {"asked": ValueData(own, about)}  # by this run's nets, so that no other run has a use for them
        self.data["random"] = ValueData(Path(config.data), about) if config.data else self.data["asked"]
        self.crew = ValueNetCrew(config, place, telling(progress.event))
        super().__init__(run, config, tracker, progress, self.crew)
        self.samples = 0
        self.weights: Weights | None = None

    def iterate(self) -> None:
        """One iteration: solve, store, train."""
        started = perf_counter()
        t = self.iteration + 1
        row: dict[str, Any] = {"kind": "train", "iteration": t}
        with timed(row, "solving"):
            new = self._solve(t, row)
        self.progress.phase("training")
        fit = self.crew.learner.call("fit", 0, t, self.crew.buffer, (self.config.seed, t, 2**31), returns=2)
        metrics, self.weights = self.get(list(fit))
        self.samples += new
        row |= {
            "loss/values": metrics["loss"],
            "time/fit_s": metrics["seconds"],
            "learner/rows_per_second": metrics["rows_per_second"],
            "learner/waited_s": metrics["waited"],
            "samples/values": self.samples,
        }
        self.end_iteration(t, started, row)

    def _solve(self, t: int, row: dict[str, Any]) -> int:
        """The samples of an iteration, from the folder or from the workers, go to the buffer; how many there were."""
        tasks = list(tasks_of(self.config, t))
        if not tasks:
            return 0
        self.progress.phase("solving")
        weights = None if self.weights is None else self.crew.runtime.put(self.weights)
        found = {task.seed: self.data[task.kind].get(task.seed, task.shard) for task in tasks}
        missing = [(task, weights) if task.asked else (task,) for task in tasks if found[task.seed] is None]
        solved = self.crew.pool.run("solve", missing, lambda: self.stop.requested)  # what is solved is kept
        added, gaps, seconds, count = [], [], 0.0, 0
        for task in tasks:
            if (known := found[task.seed]) is not None:
                rows, stats = known
            else:
                _, stats, block = next(solved)
                rows = self.crew.runtime.get(block)
                self.data[task.kind].put(task.seed, task.shard, rows, stats)
                seconds += stats["seconds"]
            added.append(self._store(t, task, rows))
            gaps.append(stats["gap"])
            count += len(rows)
        self.get(added)
        for kind in {task.kind for task in tasks}:
            self.data[kind].write_manifest()
        row |= {"solving/gap": max(gaps), "solving/samples": count, "solving/worker_seconds": seconds}
        return count

    def _store(self, t: int, task: ValueTask, rows: NDArray[np.void]) -> Ref:
        """Hands the samples of a chunk on: to the buffer, and those held out to the evaluation."""
        config = self.config
        strategy = task.seed[2] * config.chunk + np.arange(len(rows)) // (len(rows) // task.strategies)
        held = strategy % config.held == config.held - 1
        if config.unseen is None:
            shown, hidden = ~held, held
        else:  # validation is of the public state that was left out
            left = rows["public"] == config.unseen
            shown, hidden = ~held & ~left, left
        if self.crew.evaluation:
            self.crew.evaluation.call("hold", task.seed, rows[hidden])
        return self.crew.buffer.call("add", (t, task.seed[2]), rows[shown], task.seed)

    def ready(self) -> bool:
        return self.weights is not None

    def evaluate(self, t: int) -> None:
        """Evaluates, and keeps, the net as it is now."""
        if self.weights is not None and self.crew.evaluation:
            self.keep_evaluated(t, self.weights, {})
        super().evaluate(t)

    def settle(self) -> None:
        """Nothing goes on between iterations."""

    def state(self, folder: Path) -> dict[str, Any]:
        return {"samples": self.samples}

    def restore(self) -> None:
        """Continues from the newest whole checkpoint.

        Raises:
            UsageError: there is nothing to continue from that is whole.
            ForeignState: the checkpoint is of another net.
        """
        saved = self.load_newest()
        if saved is None:
            return
        state, folder = saved
        with reading(folder):
            self.samples = int(state["samples"])
        self.weights = self.crew.runtime.get(self.crew.learner.call("weights", 0))
        self.reopen_kept()

    def samples_offered(self) -> int:
        return self.samples


def tasks_of(config: ValueNetConfig, t: int) -> Iterator[ValueTask]:
    """The chunks of iteration t: random strategies first, then such as are asked for."""
    seed = config.seed if config.data_seed is None else config.data_seed
    place = 0
    counts = [(config.strategies, False)] if t == 1 else [(config.more, False), (config.asked, True)]
    for strategies, asked in counts:
        for first in range(0, strategies, config.chunk):
            yield ValueTask((seed, t, place), min(config.chunk, strategies - first), asked)
            place += 1


def describe_data(config: ValueNetConfig) -> dict[str, Any]:
    """What the samples of a run are of: those of two runs can be mixed where this is the same."""
    return {
        "game": config.game,
        "game_options": config.game_options,
        "limit": str(config.cut),
        "chunk": config.chunk,
        "solving": config.solving.model_dump(),
    }
