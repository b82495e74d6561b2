"""The driver of Deep Monte-Carlo (DanZero, paper 004, Algorithms 1 and 2), see `dancfr.methods.listed_loop`."""

from functools import partial

from actors.dmc import DmcTask
from dancfr.methods.dmc import METHOD
from dancfr.methods.dmc.actors import DmcActors
from dancfr.methods.dmc.config import DmcConfig
from dancfr.methods.listed_loop import ListedLoop
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


class Dmc(ListedLoop):
    """A Deep Monte-Carlo training, in whose first iterations a teacher may play."""

    method = METHOD

    def __init__(self, run: Run, config: DmcConfig, tracker: Tracker, progress: Progress, placement: Placement) -> None:
        super().__init__(run, config, tracker, progress, DmcActors(config, placement, progress.event))
        self._taught = config.taught

    def task(self, t: int, chunk: int, games: int) -> DmcTask:
        task = super().task(t, chunk, games)
        return DmcTask(task.seed, task.games, task.tables, taught=t <= self._taught)


train = partial(run_to_end, Dmc)
"""Trains a run to its end, see `dancfr.methods.recovery.run_to_end`."""
