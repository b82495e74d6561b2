"""Runs a training to its end, and recovers from the loss of actors; the same for all methods."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any

from actors.remote import BlockLost, WorkerDied
from dancfr.errors import RunError
from dancfr.methods.loop import NOTHING, Loop
from dancfr.methods.method import Method
from dancfr.methods.options import TrainOptions
from dancfr.methods.run_actors import Placement
from dancfr.methods.settings import RunConfig
from dancfr.methods.stopping import OutOfTime, catching
from dancfr.runs.run import Run
from dancfr.runs.step import write_step
from dancfr.values import is_number
from dancfr.watch.progress import Budget, Progress
from dancfr.watch.tracking import Tracker


def run_to_end(loop_class: Any, run: Run, config: RunConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains until all iterations are done, a limit is reached or a signal arrives; resumes if `options` ask for it.

    If a buffer, a learner or a machine that holds one of them is lost, all actors are started again and the run returns
    to its newest checkpoint. Repeating the iterations after it gives the same result. The loss of workers alone is
    handled by their pool.

    Args:
        loop_class: A subclass of `Loop`, whose constructor takes run, configuration, tracker, progress and placement.
        run: The run, locked by this process.
        config: Configuration of the run.
        tracker: Records the rows.
        options: Where and how to train.

    Returns:
        ``iterations``, ``seconds`` of training, ``samples`` offered to the buffers, and ``metrics``: the newest win
        rates by policy and opponent, and NashConv by policy.

    Raises:
        RunError: actors were lost more than `config.resources.recoveries` times without a checkpoint in between.
    """
    placement = Placement(options, config.resources)
    make: Callable[..., Loop] = loop_class
    method: Method = loop_class.method
    budget = Budget.of(method.budgets, config.model_dump())
    with (
        Progress(
            config.iterations, options.progress, config.minutes, method.speed, budget, partial(write_step, run.path)
        ) as progress,
        catching() as stop,
    ):
        progress.step(placement.arrival, "")  # the runtime says so itself
        recovery = Recovery(config.resources.recoveries, tracker, progress)
        try:
            while True:
                loop = None
                try:
                    with stop.limited():
                        placement.runtime  # noqa: B018 (starts Ray)
                        if not recovery.count:
                            progress.step("starting workers and learners")
                        loop = make(run, config, tracker, progress, placement)
                        if options.resume or recovery.count:
                            loop.restore()
                            loop.read_evaluations()
                            loop.saved = loop.result()
                        run.confirm_resume()
                        recovery.restored(loop)
                        if options.resume and not recovery.count:
                            progress.resumed(loop.iteration, loop.seconds)
                            if loop.done():
                                progress.event("the run is complete; for more, raise iterations=, minutes= or samples=")
                        loop.stop = stop
                        stop.expect(longest_iteration(run))
                        if not loop.done() and not stop.requested:
                            loop.warm_up()
                            minutes = "" if config.minutes is None else f" (minutes {config.minutes_are})"
                            begins = f"training for {method.describe_limits(config)}{minutes}"
                            progress.step(f"iteration {loop.iteration + 1}", "" if recovery.count else begins)
                        stop.then = "stopping after this iteration"
                        loop.learn()
                        stop.then = "stopping after the last evaluation"
                        return loop.finish()
                except OutOfTime:
                    return NOTHING if loop is None else loop.abandon(options.kept)
                except (WorkerDied, BlockLost) as error:
                    stop.then = "stopping before the next iteration"
                    recovery.note(error, loop)
                    placement.stop_actors()
        finally:
            placement.close()


def longest_iteration(run: Run) -> float:
    """Returns the seconds of training of the longest iteration in the record of a run that is resumed."""
    ends = [row["elapsed_s"] for row in run.read_metrics("train") if is_number(row.get("elapsed_s"))]
    return max((end - start for start, end in pairwise([0.0, *ends])), default=0.0)


class Recovery:
    """Counts the losses of actors, and reports the cost of each.

    Args:
        allowed: Maximum number of consecutive losses without a checkpoint in between.
        tracker: Records a row for each recovery.
        progress: Shows each loss and recovery to the user.

    Attributes:
        count: Losses since the last checkpoint.
    """

    def __init__(self, allowed: int, tracker: Tracker, progress: Progress) -> None:
        self._allowed, self._tracker, self._progress = allowed, tracker, progress
        self.count = 0
        self._last: tuple[str, int, float] | None = None  # cause, iteration and time of the loss

    def note(self, error: Exception, loop: Loop | None) -> None:
        """Counts a loss.

        Raises:
            RunError: there were more losses than allowed.
        """
        self.count = 1 if loop is not None and loop.saved_here else self.count + 1
        if self.count > self._allowed:
            times = "" if self.count == 1 else f" ({self.count} losses without a checkpoint in between)"
            raise RunError(f"{error}{times}; look for the cause in Ray's logs, then continue with --resume") from error
        reached = 0 if loop is None else loop.iteration
        if self._last is None or loop is not None:
            self._last = str(error), reached, perf_counter()
        self._progress.event(f"{error}: starting all actors again and returning to the newest checkpoint")
        self._progress.step(f"recovering: {error}", "")

    def restored(self, loop: Loop) -> None:
        """Reports and records a recovery, once the run has returned to its newest checkpoint."""
        if self._last is None:
            return
        cause, reached, when = self._last
        self._last = None
        again, seconds = max(reached - loop.iteration, 0), perf_counter() - when
        self._progress.event(
            f"recovered in {seconds:.1f} s, at iteration {loop.iteration}: {again} iterations are done again"
        )
        row = {"kind": "event", "iteration": loop.iteration, "event": "recovered", "cause": cause}
        self._tracker.log(row | {"lost_iterations": again, "seconds": seconds})
