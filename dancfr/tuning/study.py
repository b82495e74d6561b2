"""The study of a search: its plan in `tune.json`, and its trials in a journal of Optuna, both of which are JSON.

FOLDER/tune.json        what is searched, and how
       study.jsonl      the trials, one operation a line
       trials/3/seed101 the runs of trial 3, one for each seed of the search
       report/          the runs of the comparison at the end
       tune.html        the page
       run.lock         locked by the process that searches
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from dancfr.errors import UsageError, naming_extras, reason
from dancfr.methods import find_preset, method_of
from dancfr.methods.settings import RunConfig
from dancfr.runs.config import Config, apply_overrides
from dancfr.runs.folder import write_json
from dancfr.tuning.metric import Metric
from dancfr.tuning.space import Space

if TYPE_CHECKING:
    import optuna

PLAN, JOURNAL = "tune.json", "study.jsonl"
FIRST_SEED = 101
"""First of the seeds of a search; those of the comparison begin with 1."""
NAME = "tune"
STARTUP = 10
"""Trials that are drawn at random before the sampler learns from them."""
UNPRUNED = 4
"""Trials that have to be complete before any is pruned."""


class Plan(Config):
    """The contents of `tune.json`.

    Attributes:
        preset: Name of the preset.
        overrides: Settings of all trials that differ from the preset.
        space: Range or choices of each setting that is searched.
        metric: Name of the metric.
        seeds: Number of runs per trial, with the seeds 101, 102, ...
        seed: Seed of the search.
        keep: Percentage of the trials that an evaluation keeps, see `pruner`.
        trials: Number of trials.
        report_seeds: Number of runs of the comparison, with the seeds 1, 2, ...
    """

    preset: str
    overrides: tuple[str, ...] = ()
    space: dict[str, Any]
    metric: str
    seeds: int = Field(1, ge=1, le=1000)
    seed: int = Field(0, ge=0, lt=2**32)
    keep: float = Field(50.0, gt=0, le=100)
    trials: int = Field(ge=1, le=100_000)
    report_seeds: int = Field(3, ge=0, le=100)

    @classmethod
    def read(cls, folder: Path) -> "Plan":
        """Reads the plan of a search.

        Raises:
            UsageError: the folder holds none, or it is damaged.
        """
        import json

        try:
            content = json.loads((folder / PLAN).read_bytes())
        except FileNotFoundError:
            raise UsageError(f"{folder} holds no search: leave out --resume to start one") from None
        except OSError as error:
            raise UsageError(f"cannot read {folder / PLAN}: {reason(error)}") from None
        except ValueError:
            raise UsageError(f"{folder / PLAN} is damaged: it is not JSON") from None
        return cls.from_json(content, str(folder / PLAN))

    def write(self, folder: Path) -> None:
        """Writes the plan of a search."""
        write_json(folder / PLAN, self.model_dump(mode="json"))

    @property
    def config(self) -> RunConfig:
        """The configuration that the settings of trials are applied to."""
        return apply_overrides(find_preset(self.preset).config, self.overrides)

    @property
    def run_seeds(self) -> range:
        """The seeds of the runs of a trial."""
        return range(FIRST_SEED, FIRST_SEED + self.seeds)

    def metric_of_runs(self) -> Metric:
        """Returns the metric."""
        return Metric.named(self.metric, method_of(find_preset(self.preset)), self.config)

    def space_of_settings(self, source: str) -> Space:
        """Returns the space; `source` names it in errors."""
        return Space.of(self.space, source, type(find_preset(self.preset).config))


def mended(folder: Path) -> None:
    """Removes the remains of a killed process from the journal: the lock, and an incomplete last line.

    The folder must be locked by this process, since otherwise both may belong to another one.
    """
    path = folder / JOURNAL
    path.with_name(f"{JOURNAL}.lock").unlink(missing_ok=True)
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with path.open("r+b") as file:
            file.truncate(len(whole))


def open_study(folder: Path, plan: Plan) -> "optuna.Study":
    """Opens the study of a folder, and makes it at its first use.

    Raises:
        PackageMissing: Optuna is not installed.
        UsageError: the journal is damaged or cannot be written.
    """
    with naming_extras():
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
        from optuna.study import StudyDirection

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    direction = StudyDirection.MAXIMIZE if plan.metric_of_runs().maximised else StudyDirection.MINIMIZE
    path = folder / JOURNAL
    try:
        storage = JournalStorage(JournalFileBackend(str(path)))
        return optuna.create_study(
            storage=storage, study_name=NAME, direction=direction, load_if_exists=True, pruner=pruner(plan.keep)
        )
    except OSError as error:
        raise UsageError(f"cannot write {path}: {reason(error)}") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError) as error:
        raise UsageError(f"{path} is damaged ({error}): restore it from a copy, or choose another folder") from None


def pruner(keep: float) -> "optuna.pruners.BasePruner":
    """Returns the pruner that keeps a percentage of the trials at each evaluation: 50 is median pruning, 100 none."""
    from optuna.pruners import NopPruner, PercentilePruner

    return NopPruner() if keep == 100 else PercentilePruner(keep, n_startup_trials=UNPRUNED)


def ask(study: "optuna.Study", plan: Plan, space: Space, index: int) -> "optuna.Trial":
    """Starts a trial.

    Each trial has a sampler with a seed of its own, drawn from that of the search and its index. So a search that is
    resumed has the suggestions of one that was not interrupted.
    """
    with quiet():
        study.sampler = sampler(plan.seed, index)
        return study.ask(space.distributions())


def sampler(seed: int, index: int) -> "optuna.samplers.BaseSampler":
    """Returns the sampler of a trial."""
    from optuna.samplers import TPESampler

    with quiet():
        own = int(np.random.SeedSequence((seed, index)).generate_state(1)[0])
        return TPESampler(seed=own, n_startup_trials=STARTUP, constant_liar=True)


def state_of(trial: "optuna.trial.FrozenTrial") -> str:
    """Returns the state of a trial: ``complete``, ``pruned``, ``failed`` or ``running``."""
    return {"FAIL": "failed"}.get(trial.state.name, trial.state.name.lower())


def unfinished(study: "optuna.Study") -> list[int]:
    """Returns the numbers of the trials that were interrupted."""
    from optuna.trial import TrialState

    return [trial.number for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))]


@contextmanager
def quiet() -> Iterator[None]:
    """Silences notes on parts of Optuna that are marked as experimental in some of its versions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
