"""What the drivers share around their iterations: evaluations that run beside the training, checkpoints, the end."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from actors.counters import Counters
from actors.remote import Halted, Ref
from dancfr.errors import RunError, UsageError
from dancfr.games.registry import make_game
from dancfr.methods.crew import Crew
from dancfr.methods.settings import RunConfig
from dancfr.methods.signals import Stop
from dancfr.runs import checkpoints
from dancfr.runs.run import Run
from dancfr.watch.progress import NASH_CONV, Progress
from dancfr.watch.tracking import Tracker

SAVE_FAILURES = 3
"""After so many failed checkpoints in a row a run ends: going on would only lose more."""

LOOK_EVERY_S = 0.5
"""So often a wait for actors is left to see whether the run shall end, or Ray is gone."""


class Loop(ABC):
    """A run between iterations. A method says what an iteration is, and what it keeps beside the actors' own state.

    Args:
        run: Where everything is written.
        config: The method's settings.
        tracker: Takes the metrics.
        progress: What a person sees.
        crew: The actors.
    """

    stored_after_checkpoints = False
    """Whether a stored strategy proves that there was a checkpoint; otherwise one is stored sooner."""

    reopens_evaluations = True
    """Whether an evaluation that a stop cuts short can be begun again when the run goes on."""

    def __init__(self, run: Run, config: RunConfig, tracker: Tracker, progress: Progress, crew: Crew) -> None:
        self.run, self.tracker, self.progress = run, tracker, progress
        self._settings, self._crew = config, crew
        self._counters = Counters(crew.runtime, run.name, run.method)
        self.iteration = 0
        self.seconds = 0.0
        self.stop = Stop()
        self._evaluations: list[tuple[int, float, Ref]] = []
        self.open_evaluations: dict[int, float] = {}  # of the run that is resumed: iteration, seconds of training
        self._evaluated = 0
        self._saved = 0
        self._carried: dict[str, Any] = {}  # what the next row is to tell, of what came after the last one
        self._save_failures = 0
        self._latest: dict[str, float] = {}
        self._played = config.options_at(1)
        if config.options_at(config.iterations) != config.game_options:
            progress.event("all iterations belong to the curriculum: the run's own game is evaluated, but never played")

    def enter_stage(self) -> None:
        """Lets the actors play the game of the next iteration, where a curriculum goes on to another."""
        options = self._settings.options_at(self.iteration + 1)
        if options != self._played:
            self.settle()
            self._crew.enter(make_game(self._settings.game, **options))
            self._played = options

    def train(self, stop: Stop) -> None:
        """Iterates until the run is done or somebody stops it. An iteration that takes longer than a stop can wait is
        left, and what it has changed is undone when it is saved."""
        self.stop = stop
        if not self._crew.runtime.parallel:  # nobody can tell them while they fit
            for learner in self._crew.learners_at_work():
                learner.call("halt_when", stop.overdue)
        while not self.done() and not stop.requested:
            self.enter_stage()
            try:
                self.iterate()
            except Halted:
                self.progress.event(f"left iteration {self.iteration + 1} so that the checkpoint is written in time")

    @abstractmethod
    def iterate(self) -> None:
        """One iteration.

        Raises:
            Halted: it was left, see `get`. What the method counts itself is as it was before.
        """

    def get(self, refs: Any, leave: bool = False) -> Any:
        """Values of a ref or of a list of refs. When a stop is overdue, learners are told to leave what they are at.

        Args:
            refs: What is waited for.
            leave: Then wait no longer.

        Raises:
            Halted: a learner has left its fit, or the wait was left.
            RayLost: Ray is gone.
            Exception: see `Runtime.get`.
        """
        runtime, wanted = self._crew.runtime, refs if isinstance(refs, list) else [refs]
        told = False
        while len(runtime.wait(wanted, len(wanted), LOOK_EVERY_S)) < len(wanted):
            runtime.check()
            if self.stop.overdue() and leave:
                raise Halted("the stop is overdue")
            if self.stop.overdue() and not told:
                told = True
                for learner in self._crew.learners_at_work():
                    learner.halt()
        return runtime.get(refs)

    @abstractmethod
    def restore(self) -> None:
        """Continues from the newest whole checkpoint; what was written after it is done again.

        Raises:
            UsageError: there is nothing to continue from that is whole.
        """

    @abstractmethod
    def ready(self) -> bool:
        """Whether there is a policy to evaluate."""

    @abstractmethod
    def settle(self) -> None:
        """Waits for what is under way in the actors, so that a checkpoint is of one iteration. What is left unfinished
        by a stop is noted for `state`, to be begun again."""

    @abstractmethod
    def state(self, folder: Path) -> dict[str, Any]:
        """What the method keeps itself of the iterations done, for JSON; what does not fit that it writes into the
        checkpoint's folder. Iterations, seconds and open evaluations are kept here."""

    @abstractmethod
    def samples_offered(self) -> int:
        """Samples that the buffers were offered."""

    def done(self) -> bool:
        """Whether the configured iterations, or minutes of training, are over."""
        minutes = self._settings.minutes
        over = minutes is not None and self.seconds >= 60 * minutes and self.ready()  # never without a policy
        return over or self.iteration >= self._settings.iterations

    def end_iteration(self, t: int, started: float, row: dict[str, Any]) -> None:
        """What follows each iteration: counters, metrics, evaluation and checkpoint where they are due, progress.

        The row is in the record before the checkpoint of its iteration is written: a run that goes on from there does
        not make it again. How long that took is told by the next row.
        """
        self.iteration = t
        self.seconds += perf_counter() - started
        row |= {"elapsed_s": self.seconds, **self._carried, **self._crew_row()}
        self._carried = {}
        self.tracker.log(row)
        self._counters.feed(row)
        every = self._settings.evaluation.every
        if every and t % every == 0:
            self.evaluate(t)
        self._collect_evaluations(wait=False)
        if t % self._settings.checkpoint_every == 0:
            with timed(self._carried, "checkpoint"):
                self.save()
        self.progress.advance(t, self.seconds, row, self._latest)

    def _crew_row(self) -> dict[str, Any]:
        """How many workers there are, what has happened to them since this process began, what they have to do."""
        pool = self._crew.players()
        if pool is None or not self._crew.runtime.parallel:
            return {}
        counts = self._crew.place.counts
        events = {f"workers/{kind}": counts[kind] for kind in ("died", "late", "raised", "replaced", "replayed")}
        return {"workers/alive": pool.alive(), "queue/depth": pool.take_depth(), **events}

    def evaluate(self, t: int) -> None:
        """Starts the evaluation of the policies as they are now."""
        if self._crew.evaluation and self.ready():
            self._start_evaluation(t, self.seconds)

    def reopen_evaluation(self, t: int) -> None:
        """Starts the evaluation of iteration t again, if a stop has cut it short. For `restore`, when the evaluating
        actor has the nets of that iteration, and none of a later one."""
        if t in self.open_evaluations:
            self._start_evaluation(t, self.open_evaluations.pop(t))

    def keep_evaluated(self, t: int, nets: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        """Stores the nets that are evaluated after iteration t, and gives them to the evaluating actor: for methods
        that play by the newest nets alone."""
        assert self._crew.evaluation is not None
        final = {"final": True} if self.off_schedule(t) else {}
        self.run.save_strategy(0, t, nets, {**meta, **final})
        self.run.discard_final_strategy_before(t)
        self._crew.evaluation.call("add", t, nets)

    def reopen_kept(self) -> None:
        """Starts the evaluations again that a stop has cut short, of the nets that `keep_evaluated` has stored."""
        if self._crew.evaluation:
            for t in sorted(self.open_evaluations):
                self._crew.evaluation.call("add", t, self.run.load_strategy(0, t)[0])
                self.reopen_evaluation(t)

    def _start_evaluation(self, t: int, seconds: float) -> None:
        if self._crew.evaluation:
            seed = (self._settings.seed, t, 2**31 + 2)
            ref = self._crew.evaluation.call("evaluate", t, self._settings.evaluation.games, seed)
            self._evaluations.append((t, seconds, ref))
            self._evaluated = max(self._evaluated, t)

    def _collect_evaluations(self, wait: bool) -> None:
        """Logs the evaluations that are done, in their order.

        Raises:
            Halted: those under way take longer than a stop can wait; they stay open.
        """
        while self._evaluations:
            t, seconds, ref = self._evaluations[0]
            if not wait and not self._crew.runtime.wait([ref], timeout=0):
                return
            rows = self.get(ref, leave=self.reopens_evaluations)
            self._evaluations.pop(0)
            final = {"final": True} if self.off_schedule(t) else {}
            for row in rows:
                self._note(row)
                self.tracker.log(row | {"elapsed_s": seconds} | final)

    def off_schedule(self, t: int) -> bool:
        """Whether iteration t is evaluated only because the run ended there: a longer run would not have done it."""
        every = self._settings.evaluation.every
        return bool(every) and t % every != 0

    def _note(self, row: dict[str, Any]) -> None:
        if row["kind"] == "exploitability":
            self._latest[f"{row['policy']}/{NASH_CONV}"] = row["nash_conv"]
        else:
            self._latest[f"{row['policy']}/{row['opponent']}"] = row["win_rate"]

    def save(self) -> None:
        """Writes a checkpoint. A failure is reported and survived twice in a row.

        Raises:
            RunError: the third failure in a row.
        """
        self.progress.phase("checkpoint")
        self.settle()
        with suppress(Halted):
            self._collect_evaluations(wait=True)
        try:
            with checkpoints.writing(self.run, self.iteration) as folder:
                self._crew.save(folder, self.iteration)
                state = {
                    "iteration": self.iteration,
                    "seconds": self.seconds,
                    "evaluations": [[t, seconds] for t, seconds, _ in self._evaluations],
                    **self.state(folder),
                }
                (folder / "driver.json").write_text(json.dumps(state))
                self.run.metrics.sync()
        except checkpoints.CheckpointFailed as failure:
            self._save_failures += 1
            if self._save_failures >= SAVE_FAILURES:
                raise RunError(f"{SAVE_FAILURES} checkpoints in a row could not be written: {failure}") from failure
            self.progress.event(str(failure))
        else:
            self._save_failures = 0
            self._saved += 1

    @property
    def saved(self) -> bool:
        """Whether a checkpoint has been written since this loop began."""
        return self._saved > 0

    def load_newest(self) -> tuple[dict[str, Any], Path] | None:
        """Brings the actors and the record back to the newest whole checkpoint.

        Returns:
            What `state` had said and the checkpoint's folder; None if nothing has been saved yet.

        Raises:
            UsageError: the checkpoints are gone, or none is whole.
        """
        checkpoint = checkpoints.latest(self.run)
        done = max((file.iteration for file in self.run.list_strategies()), default=0)
        unsaved = 0 if self.stored_after_checkpoints else self._settings.checkpoint_every
        if checkpoint is None and done > unsaved:
            raise UsageError(
                f"{self.run.path} has been trained for {done} iterations, but its checkpoints are gone; not starting "
                f"over: restore {self.run.path / 'checkpoints'} from a copy, or train into another --run-dir"
            )
        state = None
        if checkpoint is not None:
            self._crew.load(checkpoint.folder)
            with reading(checkpoint.folder):
                state = json.loads((checkpoint.folder / "driver.json").read_bytes())
                self.iteration, self.seconds = int(state["iteration"]), float(state["seconds"])
                self.open_evaluations = {int(t): float(seconds) for t, seconds in state.get("evaluations", [])}
        self.run.truncate_metrics(self.iteration, finals=self.done())
        for row in [*self.run.read_metrics("evaluation"), *self.run.read_metrics("exploitability")]:
            self._evaluated = max(self._evaluated, row["iteration"])
            self._note(row)
        self.run.discard_strategies_after(self.iteration)
        return None if state is None or checkpoint is None else (state, checkpoint.folder)

    def finish(self) -> dict[str, Any]:
        """Final evaluation, unless the run was stopped and will go on, final checkpoint, and result."""
        if self._evaluated < self.iteration and not self.stop.requested:
            self.settle()
            self.evaluate(self.iteration)
        self.settle()
        with suppress(Halted):
            self._collect_evaluations(wait=True)
        self.run.discard_strategies_after(self.iteration)
        newest = checkpoints.listed(self.run)
        if self.iteration and (not newest or newest[-1].iteration != self.iteration):
            self.save()
            if self._save_failures:
                raise RunError("the last checkpoint could not be written: make room and go on with --resume")
        return {
            "iterations": self.iteration,
            "seconds": self.seconds,
            "samples": self.samples_offered(),
            "metrics": self._latest,
        }


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Around the use of what a driver has saved: raises a UsageError where that is not what a driver saves."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        cause = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        raise UsageError(
            f"{folder / 'driver.json'} is damaged ({cause}): restore {folder} from a copy, or move it away to go on "
            "from the checkpoint before it"
        ) from error


@contextmanager
def timed(row: dict[str, Any], phase: str) -> Iterator[None]:
    """Adds the seconds that the block takes to those of the phase in a row of metrics."""
    started = perf_counter()
    yield
    key = f"time/{phase}_s"
    row[key] = row.get(key, 0.0) + perf_counter() - started
