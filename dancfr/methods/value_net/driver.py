"""The driver of value functions for depth-limited solving (paper 003)."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.remote import Ref
from actors.value_solving import ValueTask
from dancfr.methods.loop import Loop, Row, reading, timed
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.streams import Stream
from dancfr.methods.value_net import METHOD
from dancfr.methods.value_net.actors import ValueNetActors
from dancfr.methods.value_net.config import ValueNetConfig
from dancfr.methods.value_net.data import ValueData
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.networks.settings import Weights


def train(run: Run, config: ValueNetConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a value function to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(ValueNet, run, config, tracker), METHOD, run, config, tracker, options)


class ValueNet(Loop):
    """A run: the net, and how many samples there were."""

    method = METHOD

    def __init__(
        self, run: Run, config: ValueNetConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        self.config = config
        about, own = describe_data(config), run.path / "data"
        self.data = {"asked": ValueData(own, about)}  # depend on this run's nets, so that no other run can use them
        self.data["random"] = ValueData(Path(config.data), about) if config.data else self.data["asked"]
        self.actors = ValueNetActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, self.actors)
        self.samples = 0
        self.weights: Weights | None = None

    def learn(self) -> None:
        """In iteration 1 the bottom is solved below many random strategies of the trunk; each public state at the limit
        is a sample. For t = 1, 2, ...: where the configuration asks for it, DL-CFR+ runs with the net as it is, and the
        bottom is solved below strategies that it plays; the net is fitted to the samples so far; at evaluations DL-CFR+
        runs to its end, and what its trunk loses to a best response is computed exactly."""
        for t, row in self.iterations():
            with timed(row, "solving"):
                self.solve(t, row)
            self.fit(t, row)
            if self.evaluation_due(t):
                self.evaluate(t)

    def solve(self, t: int, row: Row) -> None:
        """The samples of an iteration, from the folder or from the workers, go to the buffer."""
        tasks = list(tasks_of(self.config, t))
        if not tasks:
            return
        self.progress.phase("solving")
        weights = None if self.weights is None else self.actors.runtime.put(self.weights)
        found = {task.seed: self.data[task.kind].get(task.seed, task.shard) for task in tasks}
        missing = [(task, weights) if task.asked else (task,) for task in tasks if found[task.seed] is None]
        solved = self.actors.workers.run("solve", missing)
        added, gaps, seconds, count = [], [], 0.0, 0
        for task in tasks:
            if (known := found[task.seed]) is not None:
                rows, stats = known
            else:
                _, stats, block = next(solved)
                rows = self.actors.runtime.get(block)
                self.data[task.kind].put(task.seed, task.shard, rows, stats)  # at once, so that nothing is solved twice
                seconds += stats["seconds"]
            added.append(self._add(t, task, rows))
            gaps.append(stats["gap"])
            count += len(rows)
        self.get(added)
        for kind in {task.kind for task in tasks}:
            self.data[kind].write_manifest()
        self.samples += count
        row |= {"solving/gap": max(gaps), "solving/samples": count, "solving/worker_seconds": seconds}

    def fit(self, t: int, row: Row) -> None:
        """Fits the net to the samples so far."""
        self.progress.phase("training")
        seed = (self.config.seed, t, Stream.FIT)
        fit = self.actors.learner.call("fit", 0, t, self.actors.buffer, seed, returns=2)
        metrics, self.weights = self.get(list(fit))
        row |= {
            "loss/values": metrics["loss"],
            "time/fit_s": metrics["seconds"],
            "learner/rows_per_second": metrics["rows_per_second"],
            "learner/waited_s": metrics["waited"],
            "samples/values": self.samples,
        }

    def _add(self, t: int, task: ValueTask, rows: NDArray[np.void]) -> Ref:
        """Hands the samples of a chunk on: to the buffer, and those held out to the evaluation."""
        config = self.config
        strategy = task.seed[2] * config.chunk + np.arange(len(rows)) // (len(rows) // task.strategies)
        held = strategy % config.held == config.held - 1
        if config.unseen is None:
            shown, hidden = ~held, held
        else:  # validation is of the public state that was left out
            left = rows["public"] == config.unseen
            shown, hidden = ~held & ~left, left
        if self.actors.evaluation:
            self.actors.evaluation.call("hold", task.seed, rows[hidden])
        return self.actors.buffer.call("add", (t, task.seed[2]), rows[shown], task.seed)

    def ready(self) -> bool:
        return self.weights is not None

    def prepare_evaluation(self, t: int) -> None:
        assert self.weights is not None
        self.store_evaluated(t, self.weights, {})

    def warm_up(self) -> None:
        """Solves below one strategy."""
        self.compile_in_workers("solve", [(ValueTask((self.config.seed, 0, 0), 1, False), None)])

    def state(self, folder: Path) -> dict[str, Any]:
        return {"samples": self.samples}

    def restore(self) -> None:
        """Goes on from the newest whole checkpoint.

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
        self.weights = self.actors.runtime.get(self.actors.learner.call("weights", 0))

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
