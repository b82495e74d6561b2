"""The results of a search: its trials, the best one, and how much each setting matters."""

import shlex
from typing import TYPE_CHECKING, Any

from dancfr.tuning.space import overrides
from dancfr.tuning.study import Plan, quiet, state_of
from dancfr.tuning.trial import CAUSE

if TYPE_CHECKING:
    import optuna

FEWEST = 4
"""Complete trials that the importance of settings needs."""


def summary(plan: Plan, study: "optuna.Study") -> dict[str, Any]:
    """Returns the results of a search so far.

    Returns:
        ``preset``, ``metric``, ``direction``, ``seeds`` (those of each trial), ``seed``; ``trials``, each with
        ``number``, ``state``, ``value``, ``settings``, ``seconds`` and ``cause``, the error of a failed one; ``best``,
        a trial with ``overrides`` and ``command``, or None; and ``importance`` by setting, which is empty for few
        trials.
    """
    space = plan.space_of_settings("tune.json")
    trials = []
    for trial in study.get_trials(deepcopy=False):
        whole = set(space.dimensions) <= set(trial.params)
        trials.append(
            {
                "number": trial.number,
                "state": state_of(trial),
                "value": trial.value,
                "settings": space.settings(trial.params) if whole else {},
                "seconds": None if trial.duration is None else trial.duration.total_seconds(),
                "cause": trial.user_attrs.get(CAUSE),
            }
        )
    return {
        "preset": plan.preset,
        "metric": plan.metric,
        "direction": "maximised" if plan.metric_of_runs().maximised else "minimised",
        "seeds": list(plan.run_seeds),
        "seed": plan.seed,
        "trials": trials,
        "best": _best(plan, trials),
        "importance": importance(study),
    }


def _best(plan: Plan, trials: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Returns the best complete trial; of equal ones the first."""
    complete = [trial for trial in trials if trial["state"] == "complete"]
    if not complete:
        return None
    sign = -1 if plan.metric_of_runs().maximised else 1
    best = min(complete, key=lambda trial: sign * trial["value"])
    changes = overrides(best["settings"])
    command = shlex.join(["dancfr", "train", plan.preset, *plan.overrides, *changes])
    return {**best, "overrides": list(changes), "command": command}


def importance(study: "optuna.Study") -> dict[str, float]:
    """Returns the share of each setting in the differences between complete trials.

    It is PED-ANOVA's (Watanabe, Bansal and Hutter 2023).
    """
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
    from optuna.trial import TrialState

    values = [trial.value for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))]
    if len(values) < FEWEST or len(set(values)) < 2:
        return {}
    with quiet():
        found = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    return {key: float(share) for key, share in found.items()}
