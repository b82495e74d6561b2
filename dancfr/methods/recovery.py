"""A run from its start to its end, whatever is lost on the way: the same for all methods."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from actors.remote import BlockLost, WorkerDied
from dancfr.errors import RunError
from dancfr.methods.crew import Place
from dancfr.methods.loop import Loop
from dancfr.methods.options import TrainOptions
from dancfr.methods.settings import RunConfig
from dancfr.methods.signals import catching
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


def run_to_end(
    make: Callable[[Progress, Place], Loop], run: Run, config: RunConfig, tracker: Tracker, options: TrainOptions
) -> dict[str, Any]:
    """Trains until `config.iterations`, the time limit, or a signal; resumes where `options` say so.

    Where a buffer, a learner or a machine with one of them is lost, all actors are made anew and the run goes back to
    its newest checkpoint: what follows it is done again, to the same result. Workers alone are replaced by their pool.

    Returns:
        ``iterations``, ``seconds`` of training, ``samples`` offered to the buffers, ``metrics``: the last win rates by
        policy and opponent, and NashConv by policy.

    Raises:
        RunError: actors were lost `config.resources.recoveries` + 1 times without a checkpoint in between.
    """
    place = Place(options, config.resources)
    with Progress(config.iterations, options.progress, config.minutes) as progress, catching() as stop:
        progress.phase("starting")
        losses = Losses(config.resources.recoveries, tracker, progress)
        try:
            while True:
                loop = None
                try:
                    loop = make(progress, place)
                    if options.resume or losses.since:
                        loop.restore()
                    run.confirm_resume()
                    losses.restored(loop)
                    if options.resume and not losses.since:
                        progress.resumed(loop.iteration, loop.seconds)
                        if loop.done():
                            progress.event("all of it is done; for more, give a larger iterations= or minutes=")
                    loop.train(stop)
                    return loop.finish()
                except (WorkerDied, BlockLost) as error:
                    losses.note(error, loop)
                    place.clear()
        finally:
            place.close()


class Losses:
    """How often actors were lost, and what that cost.

    Args:
        allowed: So many in a row without a checkpoint in between are survived.
        tracker: Takes a row of each.
        progress: Says it.

    Attributes:
        since: Losses since the last checkpoint.
    """

    def __init__(self, allowed: int, tracker: Tracker, progress: Progress) -> None:
        self._allowed, self._tracker, self._progress = allowed, tracker, progress
        self.since = 0
        self._last: tuple[str, int, float] | None = None  # cause, iteration, when

    def note(self, error: Exception, loop: Loop | None) -> None:
        """Actors are lost.

        Raises:
            RunError: once too often.
        """
        self.since = 1 if loop is not None and loop.saved else self.since + 1
        if self.since > self._allowed:
            times = "" if self.since == 1 else f", and so {self.since} times without a checkpoint in between"
            raise RunError(f"{error}{times}; look for the cause in Ray's logs, then go on with --resume") from error
        reached = 0 if loop is None else loop.iteration
        if self._last is None or loop is not None:
            self._last = str(error), reached, perf_counter()
        self._progress.event(f"{error}: making all actors anew, then going on from the newest checkpoint")

    def restored(self, loop: Loop) -> None:
        """The run goes on; says and records what has to be done again."""
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
