"""Helpers that train short runs of all methods and read their files."""

import json
import shutil
from pathlib import Path
from typing import Any

from dancfr.agents.by_name import make_agent
from dancfr.methods import find_preset, method_named, method_of
from dancfr.methods.options import TrainOptions
from dancfr.runs.config import Config, apply_overrides
from dancfr.runs.run import Run
from dancfr.watch.tracking import Tracker
from learners.storage import load_state, save_state


def train(run: Run, method: str, config: Config, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a run with a method given by name."""
    return method_named(method).train(run, config, tracker, options)


def configured(preset: str, *overrides: str) -> Any:
    config = apply_overrides(find_preset(preset).config, overrides)
    config.check()
    return config


def run_preset(
    path: Path, preset: str, config: Config, *, inline: bool = True, resume: bool = False, device: str = "cpu"
) -> dict[str, Any]:
    """Trains a preset with a configuration of its method."""
    workers = None if inline else 2
    options = TrainOptions(
        workers=workers, device=device, inline=inline, resume=resume, progress=False, make_agent=make_agent
    )
    method = method_of(find_preset(preset)).name
    if resume:
        run = Run.open(path, writing=True)
        run.resume_as(run.preset, method, config)
    else:
        run = Run.create(path, preset, method, config)
    with run, Tracker(run, mode="off") as tracker:
        return train(run, method, config, tracker, options)


def with_strategy(run: Path, folder: Path, arrays: dict[str, Any], **about: Any) -> Path:
    """Returns a copy of a run whose newest strategy has other arrays and metadata.

    Args:
        run, folder: The run, and where to copy it.
        arrays: By name an array, a function of the present one, or None, which removes it.
        about: Metadata.
    """
    copy = Path(shutil.copytree(run, folder / "run"))
    file = max((copy / "strategies").iterdir())
    found, meta = load_state(file)
    changed = {name: array(found[name]) if callable(array) else array for name, array in arrays.items()}
    save_state(file, {name: array for name, array in (found | changed).items() if array is not None}, meta | about)
    return copy


def stored(path: Path) -> dict[str, bytes]:
    """Returns the strategies of a run by file name."""
    return {file.name: file.read_bytes() for file in sorted((path / "strategies").iterdir())}


def rows(path: Path, kind: str = "") -> list[dict[str, Any]]:
    """Returns the record of a run, or its rows of a kind, without times and counts of workers."""
    clock = ("time/", "elapsed", "second", "waited", "busy", "workers/", "queue/")
    every = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    return [
        {key: value for key, value in row.items() if not any(word in key for word in clock)}
        for row in every
        if row["kind"] == (kind or row["kind"])
    ]
