"""The driver of value functions for depth-limited solving (paper 003)."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.buffer import BufferServer
from actors.learning import LearnerServer
from actors.remote import Ref
from actors.value_functions import ValueSolver, ValueTask
from dancfr.methods.loop import Loop, Row, timed
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.streams import Stream
from dancfr.methods.value_functions import METHOD
from dancfr.methods.value_functions.actors import ValueFunctionActors
from dancfr.methods.value_functions.agent import ValueEvaluationServer
from dancfr.methods.value_functions.config import ValueFunctionConfig
from dancfr.methods.value_functions.data import ValueData
from dancfr.runs.checkpoints import reading
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.networks.settings import Weights


class ValueFunctions(Loop):
    """The training of a value function: the net, and the number of samples so far."""

    method = METHOD
    stored_when_stopped = True

    def __init__(
        self, run: Run, config: ValueFunctionConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        self.config = config
        about, own = describe_data(config), run.path / "data"
        self.data = {"asked": ValueData(own, about)}  # depends on this run's nets, so it cannot be shared
        self.data["random"] = ValueData(Path(config.data), about) if config.data else self.data["asked"]
        self.actors = ValueFunctionActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, self.actors)
        self.samples = 0
        self.weights: Weights | None = None

    def learn(self) -> None:
        """Iteration 1 solves the subgames below the depth limit for many random trunk strategies, which gives a sample
        per strategy and public state at the limit. Later iterations add samples for random strategies and for
        strategies that DL-CFR+ plays with the current net, if the configuration asks for them. Every iteration fits the
        net to all samples so far. Evaluations run DL-CFR+ with the net and compute the exact exploitability of its
        trunk strategy."""
        for t, row in self.iterations():
            with timed(row, "solving"):
                self.solve(t, row)
            self.fit(t, row)
            if self.evaluation_due(t):
                self.evaluate(t)

    def solve(self, t: int, row: Row) -> None:
        """Adds the samples of an iteration to the buffer: stored ones from the folder, all others from the workers."""
        tasks = list(tasks_of(self.config, t))
        if not tasks:
            return
        self.progress.phase("solving")
        weights = None if self.weights is None else self.actors.runtime.put(self.weights)
        found = {task.seed: self.data[task.kind].get(task.seed, task.shard) for task in tasks}
        missing = [(task, weights) if task.asked else (task,) for task in tasks if found[task.seed] is None]
        solved = self.actors.workers.run(ValueSolver.solve, missing)
        added, gaps, seconds, count = [], [], 0.0, 0
        for task in tasks:
            if (known := found[task.seed]) is not None:
                rows, stats = known
            else:
                _, stats, block = next(solved)
                rows = self.actors.runtime.get(block)
                self.data[task.kind].put(task.seed, task.shard, rows, stats)  # immediately, so that it survives a kill
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
        """Fits the net to all samples so far."""
        self.progress.phase("training")
        seed = (self.config.seed, t, Stream.FIT)
        fit = self.actors.learner.call_pair(LearnerServer.fit, 0, t, self.actors.buffer, seed)
        metrics, self.weights = self.get(list(fit))
        row |= {
            "loss/values": metrics["loss"],
            "time/fit_s": metrics["seconds"],
            "learner/rows_per_second": metrics["rows_per_second"],
            "learner/waited_s": metrics["waited"],
            "samples/values": self.samples,
        }

    def _add(self, t: int, task: ValueTask, rows: NDArray[np.void]) -> Ref:
        """Adds the samples of a chunk to the buffer, except for held-out ones, which are added to the evaluation."""
        config = self.config
        strategy = task.seed[2] * config.chunk + np.arange(len(rows)) // (len(rows) // task.strategies)
        held = strategy % config.held == config.held - 1
        if config.unseen is None:
            shown, hidden = ~held, held
        else:  # validation uses the excluded public state only
            left = rows["public"] == config.unseen
            shown, hidden = ~held & ~left, left
        if self.actors.held:
            self.actors.held.call(ValueEvaluationServer.hold, task.seed, rows[hidden])
        return self.actors.buffer.call(BufferServer.add, (t, task.seed[2]), rows[shown], task.seed)

    def ready(self) -> bool:
        return self.weights is not None

    def prepare_evaluation(self, t: int) -> None:
        assert self.weights is not None
        self.store_evaluated(t, self.weights, {})

    def warm_up(self) -> None:
        """Compiles the kernels of the workers by solving the subgames of one strategy."""
        self.compile_in_workers(ValueSolver.solve, [(ValueTask((self.config.seed, 0, 0), 1, False), None)])

    def state(self, folder: Path) -> Row:
        return {"samples": self.samples}

    def adopt(self, state: Row, folder: Path) -> None:
        with reading(folder):
            self.samples = int(state["samples"])
        self.weights = self.actors.runtime.get(self.actors.learner.call(LearnerServer.weights, 0))

    def samples_offered(self) -> int:
        return self.samples


train = partial(run_to_end, ValueFunctions)
"""Trains a run to its end, see `dancfr.methods.recovery.run_to_end`."""


def tasks_of(config: ValueFunctionConfig, t: int) -> Iterator[ValueTask]:
    """Yields the chunks of iteration t: random strategies first, then strategies of DL-CFR+."""
    seed = config.seed if config.data_seed is None else config.data_seed
    place = 0
    counts = [(config.strategies, False)] if t == 1 else [(config.more, False), (config.asked, True)]
    for strategies, asked in counts:
        for first in range(0, strategies, config.chunk):
            yield ValueTask((seed, t, place), min(config.chunk, strategies - first), asked)
            place += 1


def describe_data(config: ValueFunctionConfig) -> dict[str, Any]:
    """Returns the description of a run's samples; runs with equal descriptions can share samples."""
    return {
        "game": config.game,
        "game_options": config.game_options,
        "limit": str(config.cut),
        "chunk": config.chunk,
        "solving": config.solving.model_dump(),
    }
