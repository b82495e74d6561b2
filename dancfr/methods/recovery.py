"""A run from its start to its end, whatever is lost on the way: the same for all methods."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from actors.remote import BlockLost, WorkerDied
from dancfr.errors import RunError
from dancfr.methods.loop import Loop
from dancfr.methods.method import Method
from dancfr.methods.options import TrainOptions
from dancfr.methods.run_actors import Placement
from dancfr.methods.settings import RunConfig
from dancfr.methods.stopping import OutOfTime, catching
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


def run_to_end(
    make: Callable[[Progress, Placement], Loop],
    method: Method,
    run: Run,
    config: RunConfig,
    tracker: Tracker,
    options: TrainOptions,
) -> dict[str, Any]:
    """Trains until `config.iterations`, the time limit, or a signal; resumes where `options` say so.

    Where a buffer, a learner or a machine with one of them is lost, all actors are made anew and the run goes back to
    its newest checkpoint: what follows it is done again, to the same result. Workers alone are replaced by their pool.

    Returns:
        ``iterations``, ``seconds`` of training, ``samples`` offered to the buffers, ``metrics``: the newest win rates
        by policy and opponent, and NashConv by policy.

    Raises:
        RunError: actors were lost `config.resources.recoveries` + 1 times without a checkpoint in between.
    """
    placement = Placement(options, config.resources)
    with Progress(config.iterations, options.progress, config.minutes, method.speed) as progress, catching() as stop:
        progress.phase("starting")
        recovery = Recovery(config.resources.recoveries, tracker, progress)
        try:
            while True:
                loop = None
                try:
                    with stop.limited():
                        loop = make(progress, placement)
                        if options.resume or recovery.count:
                            loop.restore()
                        run.confirm_resume()
                        recovery.restored(loop)
                        if options.resume and not recovery.count:
                            progress.resumed(loop.iteration, loop.seconds)
                            if loop.done():
                                progress.event("the run is complete; for more, give a larger iterations= or minutes=")
                        loop.stop = stop
                        if not loop.done():
                            loop.warm_up()
                        loop.learn()
                        return loop.finish()
                except OutOfTime:
                    return (
                        {"iterations": 0, "seconds": 0.0, "samples": 0, "metrics": {}}
                        if loop is None
                        else loop.abandon()
                    )
                except (WorkerDied, BlockLost) as error:
                    recovery.note(error, loop)
                    placement.stop_actors()
        finally:
            placement.close()


class Recovery:
    """How often actors were lost, and what that cost.

    Args:
        allowed: Losses in a row, without a checkpoint in between, that are survived.
        tracker: Takes a row of each.
        progress: Tells a person.

    Attributes:
        count: Losses since the last checkpoint.
    """

    def __init__(self, allowed: int, tracker: Tracker, progress: Progress) -> None:
        self._allowed, self._tracker, self._progress = allowed, tracker, progress
        self.count = 0
        self._last: tuple[str, int, float] | None = None  # cause, iteration, when

    def note(self, error: Exception, loop: Loop | None) -> None:
        """Counts a loss.

        Raises:
            RunError: it was one too many.
        """
        self.count = 1 if loop is not None and loop.saved_here else self.count + 1
        if self.count > self._allowed:
            times = "" if self.count == 1 else f", and so {self.count} times without a checkpoint in between"
            raise RunError(f"{error}{times}; look for the cause in Ray's logs, then go on with --resume") from error
        reached = 0 if loop is None else loop.iteration
        if self._last is None or loop is not None:
            self._last = str(error), reached, perf_counter()
        self._progress.event(f"{error}: making all actors anew, then going on from the newest checkpoint")

    def restored(self, loop: Loop) -> None:
        """Says and records what has to be done again."""
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
