"""Takes runs that were trained before, anywhere, as the runs of an experiment (`dancfr reproduce --runs`)."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError, warn
from dancfr.methods import find_preset
from dancfr.methods.settings import RunConfig
from dancfr.papers.trainings import Scale, configuration
from dancfr.report.history import NOT_A_SETTING, History, Settings
from dancfr.runs.config import apply_overrides, describe_differences, differences
from dancfr.runs.folder import recorded_below
from dancfr.runs.run import Run


def given_runs(folders: Sequence[Path], scale: Scale, overrides: Sequence[str]) -> Settings:
    """Assigns each run to the setting of an experiment whose configuration it has, whatever its seed and length.

    Args:
        folders: Runs, or folders of runs; what does not fit in such a folder is left out, with a warning if it has a
            preset of the experiment or cannot be read.
        scale: The scale of the experiment.
        overrides: ``key=value`` settings in which all runs differ from those of the scale.

    Returns:
        The runs of each setting in the order of their seeds, without settings of which there is no run.

    Raises:
        UsageError: a folder has no run, a run that was named itself matches no setting, two runs of a setting have
            the same seed, or there is no run of any setting.
    """
    if not scale.settings:
        raise UsageError("this experiment trains nothing: leave out --runs")
    wanted = {
        setting.name: (setting.preset, apply_overrides(find_preset(setting.preset).config, changes))
        for setting in scale.settings
        for changes in [configuration(setting, scale, overrides)]
    }
    presets = list(dict.fromkeys(preset for preset, _ in wanted.values()))
    found: dict[str, list[History]] = {name: [] for name in wanted}
    unfit: list[str] = []
    for path, named in _runs_in(folders):
        try:
            run = Run.open(path)
            run.require_game()
            problems = {name: _differences(run, *each) for name, each in wanted.items()}
        except UsageError as error:  # a damaged config.json, or one of another version
            if named:
                raise
            unfit.append(str(error))
            continue
        fitting = [name for name, problem in problems.items() if not problem]
        if not fitting:
            why = f"matches none of this experiment's settings: {_closest(run, wanted, problems)}"
        elif not (history := History.read(path)).train:
            why = "has no complete iteration yet"
        else:
            found[fitting[0]].append(history)
            if damaged := run.metrics.unreadable():
                warn(f"warning: {run.metrics.path}: {damaged} lines cannot be read, and are left out")
            continue
        if named:
            raise UsageError(f"{path} {why}")
        if fitting or run.preset in presets:
            unfit.append(f"{path} {why}")
    if not any(found.values()) and unfit:
        raise UsageError(f"no run of this experiment in {', '.join(map(str, folders))}: {unfit[0]}")
    if not any(found.values()):
        raise UsageError(
            f"no run of this experiment in {', '.join(map(str, folders))}: its presets are "
            f"{', '.join(presets)} (another --scale has other settings)"
        )
    for each in unfit:
        warn(f"warning: left out: {each}")
    return {name: _by_seed(name, runs) for name, runs in found.items() if runs}


def unfinished(settings: Settings, scale: Scale, overrides: Sequence[str]) -> list[str]:
    """Returns a sentence for each run that is shorter than the experiment's, and for each setting without a run."""
    said = []
    for setting in scale.settings:
        if setting.name not in settings:
            said.append(none_of(setting.name))
            continue
        config = apply_overrides(find_preset(setting.preset).config, configuration(setting, scale, overrides))
        for run in settings[setting.name]:
            in_time = config.minutes is not None and run.seconds >= 60 * config.minutes
            if run.iterations < config.iterations and not in_time:
                said.append(f"{run.name} is unfinished: {run.iterations:,} of {config.iterations:,} iterations.")
    return said


def none_of(setting: str) -> str:
    """Returns the sentence for a setting without a run."""
    return f"{setting}: none of the runs has this setting."


def _runs_in(folders: Sequence[Path]) -> list[tuple[Path, bool]]:
    """Returns the runs, each once, and whether it was named itself."""
    runs: dict[Path, tuple[Path, bool]] = {}
    for folder in folders:
        if (folder / "config.json").exists():
            runs[folder.resolve()] = (folder, True)
            continue
        inner = recorded_below(folder)
        if not inner:
            raise UsageError(f"--runs: {folder} is neither a run nor a folder of runs")
        for path in inner:
            runs.setdefault(path.resolve(), (path, False))
    return list(runs.values())


def _differences(run: Run, preset: str, config: RunConfig) -> list[str]:
    """Describes the differences of a run from a setting, or returns an empty list."""
    if run.preset != preset:
        return [f"it is a run of {run.preset}"]
    free, other = NOT_A_SETTING | config.resumable, run.config_as(type(config))
    lines = zip(differences(config, other), describe_differences(config, other), strict=True)
    return [line for key, line in lines if key not in free and key.partition(".")[0] not in free]


def _closest(run: Run, wanted: dict[str, tuple[str, Any]], problems: dict[str, list[str]]) -> str:
    same = [name for name, (preset, _) in wanted.items() if preset == run.preset]
    if not same:
        return f"it is a run of {run.preset}, not of {' or '.join(dict.fromkeys(p for p, _ in wanted.values()))}"
    name = min(same, key=lambda each: len(problems[each]))
    more = len(problems[name]) - 1
    return f"unlike {name}, it has {problems[name][0]}" + (f" (and {more} more differences)" if more else "")


def _by_seed(name: str, runs: Sequence[History]) -> list[History]:
    ordered = sorted(runs, key=lambda run: int(run.config["seed"]))
    for one, other in pairwise(ordered):
        if one.config["seed"] == other.config["seed"]:
            raise UsageError(
                f"{one.path} and {other.path} are runs of {name} with the same seed {one.config['seed']}: "
                "leave out one of them"
            )
    return ordered
