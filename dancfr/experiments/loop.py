"""What the drivers share around their iterations: evaluations that run beside the training, checkpoints, the end."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from actors.remote import Ref
from dancfr import checkpoints
from dancfr.errors import RunError, UsageError
from dancfr.experiments.crew import Crew
from dancfr.experiments.settings import RunConfig
from dancfr.options import TrainOptions
from dancfr.progress import NASH_CONV, Progress
from dancfr.registry import make_game
from dancfr.runs import Run
from dancfr.signals import Stop, catching
from dancfr.tracking import Tracker

SAVE_FAILURES = 3
"""After so many failed checkpoints in a row a run ends: going on would only lose more."""


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

    def __init__(self, run: Run, config: RunConfig, tracker: Tracker, progress: Progress, crew: Crew) -> None:
        self.run, self.tracker, self.progress = run, tracker, progress
        self._settings, self._crew = config, crew
        self.iteration = 0
        self.seconds = 0.0
        self._evaluations: list[tuple[int, float, Ref]] = []
        self._evaluated = 0
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

    @abstractmethod
    def iterate(self) -> None:
        """One iteration. A signal waits for its end: half of one cannot be resumed."""

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
        """Waits for what is under way in the actors, so that a checkpoint is of one iteration."""

    @abstractmethod
    def state(self, folder: Path) -> dict[str, Any]:
        """What the method keeps itself, for JSON; what does not fit that it writes into the checkpoint's folder.
        Iterations and seconds are kept here."""

    @abstractmethod
    def samples_offered(self) -> int:
        """Samples that the buffers were offered."""

    def close(self) -> None:
        """Ends all actors."""
        self._crew.close()

    def done(self) -> bool:
        """Whether the configured iterations, or minutes of training, are over."""
        minutes = self._settings.minutes
        over = minutes is not None and self.seconds >= 60 * minutes and self.ready()  # never without a policy
        return over or self.iteration >= self._settings.iterations

    def end_iteration(self, t: int, started: float, row: dict[str, Any]) -> None:
        """What follows each iteration: counters, evaluation and checkpoint where they are due, metrics, progress."""
        self.iteration = t
        self.seconds += perf_counter() - started
        row["elapsed_s"] = self.seconds
        every = self._settings.evaluation.every
        if every and t % every == 0:
            self.evaluate(t)
        self._collect_evaluations(wait=False)
        if t % self._settings.checkpoint_every == 0:
            with timed(row, "checkpoint"):
                self.save()
        self.tracker.log(row)
        self.progress.advance(t, self.seconds, row, self._latest)

    def evaluate(self, t: int) -> None:
        """Starts the evaluation of the policies as they are now."""
        if self._crew.evaluation and self.ready():
            seed = (self._settings.seed, t, 2**31 + 2)
            ref = self._crew.evaluation.call("evaluate", t, self._settings.evaluation.games, seed)
            self._evaluations.append((t, self.seconds, ref))
            self._evaluated = t

    def _collect_evaluations(self, wait: bool) -> None:
        """Logs the evaluations that are done, in their order."""
        while self._evaluations:
            _, seconds, ref = self._evaluations[0]
            if not wait and not self._crew.runtime.wait([ref], timeout=0):
                return
            self._evaluations.pop(0)
            for row in self._crew.runtime.get(ref):
                if row["kind"] == "exploitability":
                    self._latest[f"{row['policy']}/{NASH_CONV}"] = row["nash_conv"]
                else:
                    self._latest[f"{row['policy']}/{row['opponent']}"] = row["win_rate"]
                self.tracker.log(row | {"elapsed_s": seconds})

    def save(self) -> None:
        """Writes a checkpoint. A failure is reported and survived twice in a row.

        Raises:
            RunError: the third failure in a row.
        """
        self.progress.phase("checkpoint")
        self.settle()
        self._collect_evaluations(wait=True)
        try:
            with checkpoints.writing(self.run, self.iteration) as folder:
                self._crew.save(folder)
                state = {"iteration": self.iteration, "seconds": self.seconds, **self.state(folder)}
                (folder / "driver.json").write_text(json.dumps(state))
        except checkpoints.CheckpointFailed as failure:
            self._save_failures += 1
            if self._save_failures >= SAVE_FAILURES:
                raise RunError(f"{SAVE_FAILURES} checkpoints in a row could not be written: {failure}") from failure
            self.progress.event(str(failure))
        else:
            self._save_failures = 0
            self.tracker.checkpoint(self.iteration)

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
            state = json.loads((checkpoint.folder / "driver.json").read_text())
            self.iteration, self.seconds = state["iteration"], state["seconds"]
        self.run.truncate_metrics(self.iteration)
        self._evaluated = max((row["iteration"] for row in self.run.read_metrics("evaluation")), default=0)
        self.run.discard_strategies_after(self.iteration)
        return None if state is None or checkpoint is None else (state, checkpoint.folder)

    def finish(self, stop: Stop) -> dict[str, Any]:
        """Final evaluation, unless the run was stopped and will go on, final checkpoint, and result."""
        if self._evaluated < self.iteration and not stop.requested:
            self.settle()
            self.evaluate(self.iteration)
        self.settle()
        self._collect_evaluations(wait=True)
        newest = checkpoints.listed(self.run)
        if self.iteration and (not newest or newest[-1].iteration != self.iteration):
            self.save()
        return {
            "iterations": self.iteration,
            "seconds": self.seconds,
            "samples": self.samples_offered(),
            "metrics": self._latest,
        }


def run_to_end(make: Callable[[Progress], Loop], config: RunConfig, options: TrainOptions) -> dict[str, Any]:
    """Trains until `config.iterations`, the time limit, or a signal; resumes where `options` say so.

    Returns:
        ``iterations``, ``seconds`` of training, ``samples`` offered to the buffers, ``metrics``: the last win rates by
        policy and opponent, and NashConv by policy.
    """
    with Progress(config.iterations, options.progress, config.minutes) as progress, catching() as stop:
        progress.phase("starting")
        loop = make(progress)
        try:
            if options.resume:
                loop.restore()
                progress.resumed(loop.iteration, loop.seconds)
                if loop.done():
                    progress.event("all of it is done; for more, give a larger iterations= or minutes=")
            while not loop.done() and not stop.requested:
                loop.enter_stage()
                loop.iterate()
            return loop.finish(stop)
        finally:
            loop.close()


@contextmanager
def timed(row: dict[str, Any], phase: str) -> Iterator[None]:
    """Adds the seconds that the block takes to those of the phase in a row of metrics."""
    started = perf_counter()
    yield
    key = f"time/{phase}_s"
    row[key] = row.get(key, 0.0) + perf_counter() - started
