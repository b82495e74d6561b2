"""The base class of all drivers: keeps time, records rows, starts evaluations and writes checkpoints.

A driver defines the iterations, in `Loop.learn`. A run may be killed at any moment; it resumes from its newest
checkpoint and reaches the same result.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from actors.pool import ChunkFailed
from actors.remote import Ref
from actors.warm_up import WarmUp
from dancfr.errors import RunError, UsageError
from dancfr.evaluation.server import Evaluations
from dancfr.games.registry import make_game
from dancfr.methods.method import Method
from dancfr.methods.run_actors import RunActors
from dancfr.methods.settings import RunConfig
from dancfr.methods.stopping import Stop
from dancfr.methods.streams import Stream
from dancfr.runs import checkpoints
from dancfr.runs.checkpoints import reading
from dancfr.runs.run import Run
from dancfr.watch.following import read_record
from dancfr.watch.progress import COMPILING, Progress
from dancfr.watch.strength import measures
from dancfr.watch.tracking import Tracker

SAVE_FAILURES = 3
"""Number of consecutive failed checkpoints after which a run ends, since more work would only be lost as well."""

FIRST_MINUTES = 1.0
"""Most minutes until the first checkpoint of a process, since a signal loses the iterations without one."""

Row = dict[str, Any]
NOTHING: Row = {"iterations": 0, "seconds": 0.0, "samples": 0, "metrics": {}}
"""The result of a run without a checkpoint, see `Loop.result`."""


class Loop(ABC):
    """A training run.

    Args:
        run: The run, locked by this process.
        config: Configuration of the run.
        tracker: Records the rows.
        progress: Shows the progress to the user.
        actors: The actors of the run.

    Attributes:
        iteration: Number of completed iterations.
        last_iteration: Iteration after which the run ends.
        seconds: Seconds of training in the completed iterations.
        saved: The result of the training up to its newest checkpoint.
        saved_here: Whether this object has written a checkpoint.
        stop: Whether the run was asked to stop.
    """

    method: Method
    """Record of the method; set by subclasses."""

    stored_after_checkpoints = False
    """Whether strategies are stored only after the checkpoint of their iteration, so that one implies the other."""

    stored_when_stopped = False
    """Whether `prepare_evaluation` stores nets in a moment, so that a stopped run is an agent until it is resumed."""

    def __init__(self, run: Run, config: RunConfig, tracker: Tracker, progress: Progress, actors: RunActors) -> None:
        self.run, self.tracker, self.progress = run, tracker, progress
        self._settings, self._actors = config, actors
        self._counters = actors.placement.counters_of(run, self.method)
        self.iteration = 0
        self.last_iteration = config.iterations
        self.seconds = 0.0
        self.stop = Stop("")
        self._doing = "the start of the run"  # for the message of a run that is cut off
        self._began: float | None = None  # start of the current iteration
        self._untimed = 0.0  # seconds of the current iteration that do not count as training
        self._evaluations: list[tuple[int, float, Ref, dict[str, bool]]] = []
        self._final: dict[str, bool] = {}  # marks rows and strategies that exist only because the run ends
        self._evaluated = 0
        self.saved = NOTHING
        self.saved_here = False
        self._saved_at = perf_counter()
        self._carried: Row = {}  # metrics measured after the last row, for the next one
        self._save_failures = 0
        self._latest: dict[str, float] = {}
        self._played = config.options_at(1)
        if config.options_at(config.iterations) != config.game_options:
            progress.event("the curriculum takes all iterations: the run's own game is evaluated, but never played")

    # Defined by methods

    @abstractmethod
    def learn(self) -> None:
        """Runs the algorithm: a loop over `iterations`."""

    @abstractmethod
    def ready(self) -> bool:
        """Returns whether there is a policy to evaluate."""

    @abstractmethod
    def state(self, folder: Path) -> Row:
        """Returns the state of the driver as JSON values, and writes arrays of the state to files in the folder."""

    def adopt(self, state: Row, folder: Path) -> None:  # noqa: B027 (some methods override `restore`)
        """Takes over the result of `state` and its files; the states of the actors have been loaded."""

    @abstractmethod
    def samples_offered(self) -> int:
        """Returns the number of samples offered to the buffers so far."""

    def settle(self) -> None:  # noqa: B027 (most methods have no pending calls)
        """Waits for pending calls of actors, so that a checkpoint holds the state after a single iteration."""

    def prepare_evaluation(self, t: int) -> None:  # noqa: B027 (some methods do so in every iteration)
        """Sends the policies of iteration t to the evaluation actor."""

    def warm_up(self) -> None:  # noqa: B027 (some methods compile nothing)
        """Compiles the kernels that the iterations need, by a small amount of work whose results are discarded."""

    def compile_in_workers(self, method: Callable[..., object], tasks: Sequence[tuple[Any, Any]]) -> None:
        """Compiles the kernels of the workers before the clock starts, by tasks whose results are discarded.

        Reports which kernels were compiled, and how long it took.

        Args:
            method: The workers' method.
            tasks: Task and weights of each call.
        """
        assert self._actors.pool is not None
        self.progress.step(COMPILING)
        started, put = perf_counter(), self._actors.runtime.put
        calls = [((method.__name__, task), put(weights)) for task, weights in tasks]
        compiled: list[str] = []
        with suppress(ChunkFailed):  # the first iteration fails in the same way, and reports the error
            for _, found, _ in self._actors.pool.run(WarmUp.warm_up, calls * self._actors.runtime.workers):
                compiled += found
        self.report_compilation(compiled, perf_counter() - started)

    def report_compilation(self, kernels: Sequence[str], seconds: float) -> None:
        """Shows how many kernels were compiled, if any. It is not recorded, since it depends on the cache."""
        if count := len(set(kernels)):
            what = "a kernel" if count == 1 else f"{count} kernels"
            self.progress.result(f"compiled {what} in {seconds:.1f} s, before the clock started")

    # Iterations

    def iterations(self) -> Iterator[tuple[int, Row]]:
        """Yields the remaining iterations, until the run is done or asked to stop.

        When the driver asks for the next iteration, the row of the last one and finished evaluations are recorded, and
        a checkpoint is written if one is due.

        Yields:
            The number of the iteration, from 1, and its row of metrics, for the driver to fill in.
        """
        while not self.done() and not self.stop.requested:
            self._enter_stage()
            self._doing = f"iteration {self.iteration + 1}"
            self._began, self._untimed, started = self.clock(), 0.0, perf_counter()
            row: Row = {"kind": "train", "iteration": self.iteration + 1}
            yield self.iteration + 1, row
            self._end_iteration(row)
            self.stop.expect(perf_counter() - started)

    def _enter_stage(self) -> None:
        """Switches the actors to the game of the next iteration, if a curriculum changes it."""
        options = self._settings.options_at(self.iteration + 1)
        if options != self._played:
            self.settle()
            self._actors.enter(make_game(self._settings.game, **options))
            self._played = options

    def _end_iteration(self, row: Row) -> None:
        """Records a row, and writes a checkpoint if one is due.

        The row is written before the checkpoint of its iteration, so that a resumed run does not repeat it. The time of
        the checkpoint is part of the next row.
        """
        self.seconds, self._began = self.elapsed(), None
        self.iteration += 1
        row |= {"elapsed_s": self.seconds, **self._carried, **self._actors.worker_row()}
        self._carried = {}
        self.tracker.log(row)
        self._counters.feed(row)
        self._collect_evaluations(wait=False)
        if self._checkpoint_due():
            with timed(self._carried, "checkpoint"):
                self.save()
        self.progress.advance(self.iteration, self.seconds, row, self._latest)

    def elapsed(self) -> float:
        """Returns the seconds of training so far, without evaluations and checkpoints."""
        return self.seconds + (0.0 if self._began is None else self.clock() - self._began - self._untimed)

    def clock(self) -> float:
        """Returns the seconds, from any start, by which the training is timed."""
        return perf_counter()

    def done(self) -> bool:
        """Returns whether the configured iterations, minutes of training or samples are reached."""
        minutes, samples = self._settings.minutes, self._settings.samples
        if minutes is not None and self.seconds >= 60 * minutes and self.ready():  # not without a policy
            return True
        over = samples is not None and self.samples_offered() >= samples
        return over or self.iteration >= self.last_iteration

    def get(self, refs: Any) -> Any:
        """See `RunActors.get`."""
        return self._actors.get(refs)

    # Evaluations

    def evaluation_due(self, t: int) -> bool:
        """Returns whether the policies are evaluated after iteration t."""
        every = self._settings.evaluation.every
        return bool(every) and t % every == 0

    def evaluate(self, t: int) -> None:
        """Starts an evaluation of the current policies. Its time does not count as training."""
        started = self.clock()
        if self._actors.evaluation is not None and self.ready():
            self.prepare_evaluation(t)
            seed = (self._settings.seed, t, Stream.EVALUATION)
            ref = self._actors.evaluation.call(Evaluations.evaluate, t, self._settings.evaluation.games, seed)
            self._untimed += self.clock() - started
            self._evaluations.append((t, self.elapsed(), ref, self._final))
            self._evaluated = max(self._evaluated, t)

    def store_evaluated(self, t: int, nets: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        """Stores the nets of iteration t and sends them to the evaluation actor.

        For methods whose agents use the newest nets only.
        """
        assert self._actors.evaluation is not None
        self.run.save_strategy(0, t, nets, {**meta, **self._final})
        self.run.discard_final_strategy_before(t)
        self._actors.evaluation.call(Evaluations.add, t, nets)

    def _collect_evaluations(self, wait: bool) -> None:
        """Records finished evaluations, in the order in which they were started."""
        while self._evaluations:
            _, seconds, ref, final = self._evaluations[0]
            if not wait and not self._actors.runtime.wait([ref], timeout=0):
                return
            rows = self.get(ref)
            self._evaluations.pop(0)
            for row in rows:
                self._latest |= measures(row)
                self.tracker.log(row | {"elapsed_s": seconds} | final)

    # Checkpoints

    def _checkpoint_due(self) -> bool:
        minutes = self._settings.checkpoint_minutes
        first = float("inf") if self.saved_here else FIRST_MINUTES
        late = minutes is not None and perf_counter() - self._saved_at >= 60 * min(minutes, first)
        return late or self.iteration % self._settings.checkpoint_every == 0

    def save(self) -> None:
        """Writes a checkpoint; a failure is reported, and the run continues.

        Raises:
            RunError: `SAVE_FAILURES` checkpoints in a row have failed.
        """
        self._doing = f"the checkpoint of iteration {self.iteration}"
        self.progress.phase("checkpoint")
        self.settle()
        self._collect_evaluations(wait=True)
        self._saved_at = perf_counter()
        try:
            with self.stop.shielded(), checkpoints.writing(self.run, self.iteration) as folder:
                self._actors.save(folder)
                state = {"iteration": self.iteration, "seconds": self.seconds, **self.state(folder)}
                (folder / "driver.json").write_text(json.dumps(state))
                self.run.metrics.sync()
        except checkpoints.CheckpointFailed as failure:
            self._save_failures += 1
            if self._save_failures >= SAVE_FAILURES:
                raise RunError(f"{SAVE_FAILURES} checkpoints in a row could not be written: {failure}") from failure
            self.progress.event(str(failure))
        else:
            self._save_failures = 0
            self.saved, self.saved_here = self.result(), True

    def restore(self) -> None:
        """Restores the newest intact checkpoint, if there is one.

        Raises:
            UsageError: the checkpoints were removed, or all of them are damaged.
            ForeignState: the checkpoint belongs to another configuration.
        """
        saved = self.load_newest()
        if saved is not None:
            self.adopt(*saved)

    def load_newest(self) -> tuple[Row, Path] | None:
        """Restores the actors and the record from the newest intact checkpoint.

        Returns:
            The result of `state` and the folder of the checkpoint; None if the run has no checkpoint yet.

        Raises:
            UsageError: the checkpoints were removed, or all of them are damaged.
        """
        checkpoint = checkpoints.latest(self.run)
        done = max((file.iteration for file in self.run.list_strategies()), default=0)
        unsaved = self._settings.checkpoint_every
        if self.stored_after_checkpoints or checkpoints.were_removed(self.run):
            unsaved = 0
        if checkpoint is None and done > unsaved:
            raise UsageError(
                f"{self.run.path} has been trained for {done} iterations, but its checkpoints are gone; not starting "
                f"over: restore {self.run.path / 'checkpoints'} from a copy, or train into another folder (complete "
                "runs of several seeds, and of papers, keep no checkpoints)"
            )
        state = None
        if checkpoint is not None:
            self._actors.load(checkpoint.folder)
            with reading(checkpoint.folder):
                state = json.loads((checkpoint.folder / "driver.json").read_bytes())
                self.iteration, self.seconds = int(state["iteration"]), float(state["seconds"])
        self.run.truncate_metrics(self.iteration)
        recorded = read_record(self.run.metrics.path).iteration
        if recorded < self.iteration:  # a checkpoint is written after the row of its iteration
            lost = f"{recorded + 1} to {self.iteration}"
            self.progress.event(f"warning: {self.run.metrics.path} lacks the rows of iterations {lost}: it was damaged")
        self.run.discard_strategies_after(self.iteration)
        return None if state is None or checkpoint is None else (state, checkpoint.folder)

    def read_evaluations(self) -> None:
        """Reads the recorded evaluations after `restore`; those of the end of a shorter run are removed."""
        self.run.truncate_metrics(self.iteration, finals=self.done())
        for row in read_record(self.run.metrics.path).measured():
            self._evaluated = max(self._evaluated, row["iteration"])
            self._latest |= measures(row)

    def finish(self) -> Row:
        """Saves and evaluates the last iteration, unless that has been done, and returns the result.

        A run that was stopped is not evaluated, since it will be resumed; see `stored_when_stopped`. Rows and
        strategies that a longer run would not have are marked as final, and are removed when the run is resumed.
        """
        newest, failed = checkpoints.listed(self.run), False
        if self.iteration and (not newest or newest[-1].iteration != self.iteration):
            self.save()  # first, since a signal may cut off the evaluation
            failed = bool(self._save_failures)
        self._doing = "the last evaluation"
        self._final = {"final": True}
        if self._evaluated < self.iteration:
            self.settle()
            if not self.stop.requested:
                self.evaluate(self.iteration)
            elif self.stored_when_stopped and self._actors.evaluation is not None and self.ready():
                self.prepare_evaluation(self.iteration)
        self.settle()
        self._collect_evaluations(wait=True)
        self.run.discard_strategies_after(self.iteration)
        if failed:
            raise RunError("the last checkpoint could not be written: make room and continue with --resume")
        return self.result()

    def abandon(self, kept: bool) -> Row:
        """Returns the result up to the newest checkpoint, for a run that did not stop within the notice.

        Args:
            kept: Whether the run's folder is kept, and the run can be resumed.
        """
        saved = self.saved["iterations"]
        start = f"continues after iteration {saved}" if saved else "starts from the first iteration"
        lost = max(self.iteration - saved, 0)
        again = f", {lost} finished iteration{'s' * (lost > 1)} had no checkpoint yet" if lost and kept else ""
        self.progress.event(f"{self._doing} did not end in time{again}" + (f": --resume {start}" if kept else ""))
        return self.saved

    def result(self) -> Row:
        """Returns the result of `dancfr train --json` up to the last completed iteration."""
        done = {"iterations": self.iteration, "seconds": self.seconds, "samples": self.samples_offered()}
        return done | {"metrics": dict(self._latest)}


@contextmanager
def timed(row: Row, phase: str) -> Iterator[None]:
    """Adds the seconds of the block to the time of a phase in a row of metrics."""
    started = perf_counter()
    yield
    key = f"time/{phase}_s"
    row[key] = row.get(key, 0.0) + perf_counter() - started
