"""The driver of policies over candidates, see `dancfr.methods.listed_loop`."""

from functools import partial

from dancfr.methods.candidate_policy import METHOD
from dancfr.methods.candidate_policy.actors import CandidatePolicyActors
from dancfr.methods.candidate_policy.config import CandidatePolicyConfig
from dancfr.methods.listed_loop import ListedLoop
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


class CandidatePolicy(ListedLoop):
    """A training of a policy over candidates."""

    method = METHOD

    def __init__(
        self, run: Run, config: CandidatePolicyConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        actors = CandidatePolicyActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, actors)


train = partial(run_to_end, CandidatePolicy)
"""Trains a run to its end, see `dancfr.methods.recovery.run_to_end`."""
