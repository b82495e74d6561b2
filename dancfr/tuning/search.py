"""Searches settings: trials one after the other or in parallel, then the comparison with the preset's own settings."""

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dancfr.agents.by_name import make_agent
from dancfr.errors import RunError, UsageError, reason, require_packages, warn
from dancfr.methods import find_preset, method_of
from dancfr.methods.launch import check_options, note_other_game
from dancfr.methods.options import TrainOptions
from dancfr.methods.stopping import OutOfTime, Stop, catching
from dancfr.report.report import FIGURES, prepare
from dancfr.runs.config import apply_overrides
from dancfr.runs.folder import is_left
from dancfr.runs.lock import take_lock
from dancfr.trainings import Stopped, in_parallel
from dancfr.tuning.comparison import compare
from dancfr.tuning.metric import Metric
from dancfr.tuning.page import write_tuning
from dancfr.tuning.results import summary
from dancfr.tuning.space import FIXED, Space
from dancfr.tuning.study import PLAN, Plan, mended, open_study, unfinished
from dancfr.tuning.time_left import TimeLeft
from dancfr.tuning.trial import Task, TrialTrainer, run_trial
from dancfr.values import split_settings
from dancfr.watch.tracking import choose_mode

if TYPE_CHECKING:
    import optuna

PAGE = "tune.html"


@dataclass(frozen=True)
class SearchRequest:
    """Arguments of a search, as given to `dancfr tune`. None: the default, or with `resume` that of the start.

    Attributes:
        preset: Name of the preset.
        folder: Folder of the search.
        overrides: Settings of all trials that differ from the preset.
        space: The space file, see `dancfr.tuning.space`.
        trials: Number of trials.
        metric: Name of the metric, see `dancfr.tuning.metric`.
        minutes: No trial begins after so many minutes; None: no limit.
        seeds: Runs of a trial.
        seed: Seed of the search.
        keep: Percentage of the trials that an evaluation keeps.
        report_seeds: Runs of the best settings, and of the preset's own, in the comparison.
        parallel: Trials at the same time, each in one process of Ray.
        options: Where to train; `resume` continues the search in the folder.
    """

    preset: str
    folder: Path
    overrides: Sequence[str] = ()
    space: Path | None = None
    trials: int | None = None
    metric: str | None = None
    minutes: float | None = None
    seeds: int | None = None
    seed: int | None = None
    keep: float | None = None
    report_seeds: int | None = None
    parallel: int = 1
    options: TrainOptions = TrainOptions()  # noqa: RUF009 (frozen)


def tune(request: SearchRequest) -> dict[str, Any]:
    """Searches, or continues a search, and compares the best settings with the preset's own.

    Returns:
        The keys of `dancfr.tuning.results.summary`, and ``comparison`` (None unless the search has ended and found
        settings), ``files`` (the page and its figures), ``folder`` and ``stopped``.

    Raises:
        PackageMissing: Optuna is not installed.
        UsageError: the request is not valid; nothing was trained.
        RunError: a training failed; the search can be resumed.
    """
    require_packages("optuna", "torch", "jinja2", "matplotlib")  # the last two only draw the page, at the end
    if request.minutes is not None and not request.minutes > 0:
        raise UsageError(f"--minutes must be greater than 0, got {request.minutes:g}")
    plan = _resumed(request) if request.options.resume else _fresh(request)
    options = check_options(_options(request))
    choose_mode(None)  # of all trainings: each trial would fail by it, and none be left to resume
    folder = request.folder
    _make(folder, fresh=not request.options.resume)
    prepare(folder / PAGE)
    lock = take_lock(folder)
    try:
        mended(folder)
        if not request.options.resume:
            plan.write(folder)  # before the journal: a search that is killed here can be resumed
        study = open_study(folder, plan)
        if (begun := len(study.get_trials(deepcopy=False))) > plan.trials:
            raise UsageError(f"the search in {folder} has begun {begun} trials: --trials must be that many or more")
        plan.write(folder)
        note_other_game(find_preset(plan.preset).config, plan.config, plan.overrides)  # here, not for each run
        stopped = not _search(request, plan, study, options)
        comparison = None
        result = summary(plan, study)
        if not stopped and result["best"] is not None and plan.report_seeds:
            try:
                comparison = compare(folder, plan, result["best"], options, parallel=request.parallel > 1)
            except Stopped:
                stopped = True
        files = [] if result["best"] is None else write_tuning(folder / PAGE, plan, result, comparison)
    except OSError as error:
        raise RunError(f"cannot write {folder}: {reason(error)}; make room and continue with --resume") from None
    finally:
        lock.release()
    if stopped:
        finished = sum(trial["state"] != "running" for trial in result["trials"])
        warn(f"stopped after {finished} of {plan.trials} trials; continue with: {_again(request)}")
    elif result["best"] is None:
        causes = [trial["cause"] for trial in result["trials"] if trial["cause"]]
        raise RunError(f"no trial was completed{f': {causes[-1]}' if causes else ''}; see {folder}")
    return {**result, "comparison": comparison, "files": files, "folder": str(folder), "stopped": stopped}


def _fresh(request: SearchRequest) -> Plan:
    """Returns the plan of a new search, checked."""
    if request.space is None or request.trials is None:
        raise UsageError("a search needs --space FILE and --trials N")
    preset = find_preset(request.preset)
    keys = split_settings(request.overrides)
    if "seed" in keys:
        raise UsageError(f"seed: {FIXED['seed']}")
    config = apply_overrides(preset.config, request.overrides)
    config.check()
    space = Space.read(request.space, type(preset.config))
    if (twice := next((key for key in keys if key in space.dimensions), None)) is not None:
        raise UsageError(f"{twice} is in {request.space} and given as a setting: leave out one of them")
    metric = Metric.named(request.metric, method_of(preset), config)
    space.check(config)
    values = {
        "preset": preset.name,
        "overrides": tuple(request.overrides),
        "space": space.as_json(),
        "metric": metric.name,
        "trials": request.trials,
        **_given(request),
    }
    return _validated(values)


def _resumed(request: SearchRequest) -> Plan:
    """Returns the plan of the search in the folder, with another number of trials or report seeds if they are given.

    Raises:
        UsageError: there is no search, or it was started with other arguments.
    """
    plan = Plan.read(request.folder)
    given = _given(request)
    given["preset"] = find_preset(request.preset).name
    if request.overrides:
        given["overrides"] = tuple(request.overrides)
    if request.metric is not None:
        given["metric"] = request.metric
    if request.space is not None:
        given["space"] = Space.read(request.space, type(find_preset(request.preset).config)).as_json()
    free = {key: given.pop(key) for key in ("trials", "report_seeds") if key in given}
    if request.trials is not None:
        free["trials"] = request.trials
    for key, value in given.items():
        if getattr(plan, key) != value:
            old, new = (" ".join(each) if key == "overrides" else each for each in (getattr(plan, key), value))
            shown = "" if key == "space" else f": {old}, not {new}"
            named = {"overrides": "other settings", "seeds": "another number of seeds"}.get(key, f"another {key}")
            raise UsageError(
                f"the search in {request.folder} has {named}{shown}; leave that out, or choose another folder"
            )
    return _validated(plan.model_dump() | free)


def _given(request: SearchRequest) -> dict[str, Any]:
    """Returns the numbers of a request that are not left to their defaults."""
    numbers = {key: getattr(request, key) for key in ("seeds", "seed", "keep", "report_seeds")}
    return {key: value for key, value in numbers.items() if value is not None}


def _validated(values: dict[str, Any]) -> Plan:
    try:
        return Plan.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        option = str(problem["loc"][0]).replace("_", "-")
        message = problem["msg"][:1].lower() + problem["msg"][1:]
        raise UsageError(f"--{option}: {message}, got {problem['input']}") from None


def _options(request: SearchRequest) -> TrainOptions:
    """Returns the options of trainings; trials in parallel are the workers of Ray."""
    options = replace(request.options, resume=False, notes=False, make_agent=make_agent)
    if request.parallel < 1:
        raise UsageError(f"--parallel must be at least 1, got {request.parallel}")
    if request.parallel == 1:
        return options
    if options.inline:
        raise UsageError("--parallel needs Ray: leave out --inline")
    if options.workers is not None:
        raise UsageError("--parallel trains each trial in one process: leave out --workers")
    return replace(options, workers=request.parallel)


def _make(folder: Path, fresh: bool) -> None:
    """Makes the folder of a search.

    Raises:
        UsageError: it cannot be made, or holds something already.
    """
    try:
        if fresh and (folder / PLAN).exists():
            raise UsageError(f"{folder} already holds a search: continue it with --resume, or choose another folder")
        os.makedirs(folder, exist_ok=True)
        if fresh and any(not is_left(entry, (FIGURES,)) for entry in folder.iterdir()):
            raise UsageError(f"{folder} is not empty: choose another folder")
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {reason(error)}") from None


def _search(request: SearchRequest, plan: Plan, study: "optuna.Study", options: TrainOptions) -> bool:
    """Trains the trials that are left; returns False if a signal has stopped it."""
    until = None if request.minutes is None else time.time() + 60 * request.minutes
    waiting = max(plan.trials - len(study.trials), 0) + len(unfinished(study))
    left = TimeLeft(plan, waiting, request.parallel, until)
    with catching("stopping before the next trial") as stop:
        tasks = _tasks(until, plan, study, stop)
        if request.parallel > 1:
            return _search_in_parallel(request, plan, study, options, tasks, stop, left)
        for task in tasks:
            try:
                _note(plan, run_trial(request.folder, task, options, warn), left)
            except Stopped:
                return False
            stop.then = "stopping before the next trial"
        return not stop.requested


def _search_in_parallel(
    request: SearchRequest,
    plan: Plan,
    study: "optuna.Study",
    options: TrainOptions,
    tasks: Iterator[Task],
    stop: Stop,
    left: TimeLeft,
) -> bool:
    """See `_search`. After a signal, trials that do not end within the notice are left to be resumed."""
    if not left.trials:
        return True
    folder, most = str(request.folder.resolve()), min(request.parallel, left.trials)
    stop.then = "stopping after the trials under way, if they end soon"
    calls = ((folder, task.index, task.number, task.until) for task in tasks)
    try:
        with stop.limited():
            for outcome in in_parallel(TrialTrainer, TrialTrainer.train, calls, most, options):
                _note(plan, outcome, left)
    except OutOfTime:
        return False
    return not (stop.requested and (unfinished(study) or len(study.trials) < plan.trials))


def _tasks(until: float | None, plan: Plan, study: "optuna.Study", stop: Stop) -> Iterator[Task]:
    """Yields the trials that are left, interrupted ones first, until the time is over or a signal arrives."""
    for number in unfinished(study):
        if stop.requested:
            return
        yield Task(number, number, until)
    for index in range(len(study.trials), plan.trials):
        if stop.requested or (until is not None and time.time() >= until):
            return
        yield Task(index, None, until)


def _note(plan: Plan, outcome: dict[str, Any] | None, left: TimeLeft) -> None:
    """Prints the end of a trial, and how much is left."""
    if outcome is None:
        return
    value = "" if outcome["value"] is None else f", {plan.metric} {Metric(plan.metric).format(outcome['value'])}"
    more = left.after(outcome)
    warn(f"trial {outcome['number']} is {outcome['state']}{value}{f'; {more}' if more else ''}")


def _again(request: SearchRequest) -> str:
    """Returns the command that continues a search."""
    options = request.options
    given = {
        "--inline": options.inline,
        f"--device {options.device}": options.device != "auto",
        f"--address {options.address}": options.address,
        f"--workers {options.workers}": options.workers,
        f"--parallel {request.parallel}": request.parallel > 1,
        f"--minutes {request.minutes or 0:g}": request.minutes is not None,
    }
    more = "".join(f" {words}" for words, chosen in given.items() if chosen)
    return f"dancfr tune {request.preset} --folder {shlex.quote(str(request.folder))} --resume{more}"
