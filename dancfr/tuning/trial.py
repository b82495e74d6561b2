"""A trial of a search: the trainings with suggested settings, judged by their own evaluations while they run."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dancfr.agents.by_name import make_agent
from dancfr.errors import DancfrError, PackageMissing, RunError, UsageError
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from dancfr.report.history import History
from dancfr.runs.lock import InUse
from dancfr.runs.run import Run
from dancfr.trainings import Stopped
from dancfr.tuning.metric import Metric
from dancfr.tuning.space import overrides
from dancfr.tuning.study import Plan, ask, open_study, state_of

if TYPE_CHECKING:
    import optuna

Say = Callable[[str], None]
CAUSE = "cause"
"""Attribute of a failed trial: its error."""


class Pruned(Exception):
    """The evaluations of a trial so far are worse than those of other trials."""


@dataclass(frozen=True)
class Task:
    """A trial that is to be trained.

    Attributes:
        index: Its index in the search, from 0, which is part of the seed of its settings.
        number: The number of a trial that was interrupted; None: a new trial.
        until: Time in seconds since the epoch after which no new trial begins; None: no limit.
    """

    index: int
    number: int | None = None
    until: float | None = None


def run_trial(folder: Path, task: Task, options: TrainOptions, say: Say) -> dict[str, Any] | None:
    """Trains the runs of a trial and tells the study its value.

    A training that diverges or refuses its settings makes a failed trial, and the search continues.

    Args:
        folder: Folder of the search.
        task: The trial.
        options: Where and how to train.
        say: Prints a line about the trial.

    Returns:
        ``number``, ``state`` and ``value`` of the trial, and the ``seconds`` that it took now; None if its time is over
        before it began.

    Raises:
        Stopped: a signal arrived; the trial can be resumed.
        RunError, UsageError: a training failed for a reason that lies outside of its settings.
    """
    from optuna import Trial
    from optuna.trial import TrialState

    if task.number is None and task.until is not None and time.time() >= task.until:
        return None
    began = time.monotonic()
    plan = Plan.read(folder)
    study, space = open_study(folder, plan), plan.space_of_settings(str(folder))
    number = task.number
    trial = ask(study, plan, space, task.index) if number is None else Trial(study, study.trials[number]._trial_id)
    if set(space.dimensions) - set(trial.params):  # killed while they were suggested
        study.tell(trial.number, state=TrialState.FAIL)
        return _outcome(study, trial.number, began)
    settings = space.settings(trial.params)
    say(f"trial {trial.number} (of {plan.trials}): {' '.join(overrides(settings))}")
    try:
        values = [_train(folder, plan, trial, settings, seed, options) for seed in plan.run_seeds]
    except Pruned:
        study.tell(trial.number, state=TrialState.PRUNED)
    except (UsageError, RunError) as error:
        if not _is_its_own(error):
            raise
        trial.set_user_attr(CAUSE, str(error))
        study.tell(trial.number, state=TrialState.FAIL)
    else:
        study.tell(trial.number, sum(values) / len(values))
    return _outcome(study, trial.number, began)


def _outcome(study: "optuna.Study", number: int, began: float) -> dict[str, Any]:
    found = study.get_trials(deepcopy=False)[number]
    seconds = time.monotonic() - began
    return {"number": number, "state": state_of(found), "value": found.value, "seconds": seconds}


def _is_its_own(error: DancfrError) -> bool:
    """Whether an error is the fault of the settings of a trial: other trials may succeed."""
    from actors.explained import Explained
    from actors.runtime import ResourcesMissing
    from learners.devices import DeviceMissing
    from learners.training import TrainingDiverged

    chain = list(_chain(error))
    if any(isinstance(each, (Explained, TrainingDiverged, MemoryError)) for each in chain):
        return True
    outside = (PackageMissing, InUse, ResourcesMissing, DeviceMissing, OSError)  # the last as of a full disk
    return isinstance(error, UsageError) and not any(isinstance(each, outside) for each in chain)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yields an error, its cause, the cause of that, and so on."""
    while error is not None:
        yield error
        error = error.__cause__


def _train(
    folder: Path, plan: Plan, trial: "optuna.Trial", settings: Mapping[str, Any], seed: int, options: TrainOptions
) -> float:
    """Trains the run of a seed, unless that is done, and returns its value.

    Only the run of the first seed is judged while it trains: it has the seed of the first runs of all other trials.
    """
    metric, done = plan.metric_of_runs(), f"seed{seed}"
    if done in trial.user_attrs:
        return float(trial.user_attrs[done])
    path = folder / "trials" / str(trial.number) / done
    resume = (path / "config.json").exists()
    watch = Judge(trial, metric, plan.config.iterations) if seed == plan.run_seeds[0] else None
    if resume and watch is not None:
        for row in Run.open(path).read_metrics():
            watch(row)
    changes = (*plan.overrides, *overrides(settings), f"seed={seed}")
    own = replace(options, resume=resume, on_row=watch)
    result = train(TrainRequest(plan.preset, changes, path, None, own))
    if result["stopped"]:
        raise Stopped(f"stopped in {path}")
    value = last_value(path, metric)
    trial.set_user_attr(done, value)
    return value


def last_value(path: Path, metric: Metric) -> float:
    """Returns the value of a run at its end.

    Raises:
        RunError: its record has none.
    """
    values = metric.values(History.read(path))
    if not values:
        raise RunError(f"{path} has no evaluation of {metric.name} in its record")
    return values[-1][1]


class Judge:
    """Reports the evaluations of a run to the study, and ends the run if the study finds them too bad.

    Args:
        trial: The trial.
        metric: The metric.
        iterations: Iterations of the run; its last evaluation ends nothing.
    """

    def __init__(self, trial: "optuna.Trial", metric: Metric, iterations: int) -> None:
        self._trial, self._metric, self._iterations = trial, metric, iterations
        self._known = set(trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values)
        self._policy: str | None = None

    def __call__(self, row: Mapping[str, Any]) -> None:
        """Reads a row of the record.

        Raises:
            Pruned: the trial is worse than others after the same number of iterations.
        """
        value = self._metric.of(row)
        if value is None:
            return
        self._policy = self._policy or str(row["policy"])  # the average policy comes first
        step = int(row["iteration"])
        if row["policy"] != self._policy or row.get("final") or step >= self._iterations:
            return
        if step not in self._known:  # a run that was resumed evaluates again
            self._known.add(step)
            self._trial.report(value, step)
        if self._trial.should_prune():
            raise Pruned


class TrialTrainer:
    """Trains trials, their nets on a device; an actor of the worker pool."""

    def __init__(self, device: str) -> None:
        self._device = device

    def train(self, folder: str, index: int, number: int | None, until: float | None) -> tuple[Any, None]:
        """Trains a trial to its end; returns the result of `run_trial`."""
        options = TrainOptions(device=self._device, inline=True, progress=False, notes=False, make_agent=make_agent)
        return run_trial(Path(folder), Task(index, number, until), options, lambda _: None), None
