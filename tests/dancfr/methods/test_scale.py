"""Buffers in shards and two learners in a whole run: the samples and, but for rounding, the nets of a run inline."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.methods import find_preset
from dancfr.methods.settings import RunConfig
from dancfr.runs.config import apply_overrides
from dancfr.runs.run import Run
from tests.dancfr.methods.table_runs import run_preset

DREAM = (
    "minutes=none",
    "traversals=48",
    "chunk=16",
    "reservoir=4001",
    "circular=4001",
    "advantage_training.minibatches=3",
    "advantage_training.batch=65",
    "baseline_training.minibatches=2",
    "baseline_training.batch=65",
    "evaluation.every=0",
    "checkpoint_every=2",
)
DMC = (
    "minutes=none",
    "games=6",
    "chunk=2",
    "tables=2",
    "pool=2001",
    "network.width=16",
    "network.depth=2",
    "training.minibatches=3",
    "training.batch=65",
    "evaluation.every=2",
    "evaluation.games=4",
    "evaluation.opponents=random",
    "checkpoint_every=2",
)
PRESET = {"dream": "geister-quick", "dmc": "guandan-dmc-quick"}


def config_of(method: str, *overrides: str) -> Any:
    return apply_overrides(find_preset(PRESET[method]).config, [*(DREAM if method == "dream" else DMC), *overrides])


def run_training(path: Path, method: str, config: Any, *, inline: bool, resume: bool = False) -> dict[str, Any]:
    return run_preset(path, PRESET[method], config, inline=inline, resume=resume)


def nets(path: Path) -> dict[tuple[int, int], dict[str, np.ndarray]]:
    """Returns the stored nets by player and iteration."""
    with Run.open(path) as run:
        return {(f.player, f.iteration): run.load_strategy(f.player, f.iteration)[0] for f in run.list_strategies()}


@pytest.mark.parametrize("method", ["dream", "dmc"])
def test_two_learners_and_two_shards_train_the_nets_of_one_learner(method: str, tmp_path: Path) -> None:
    """On Ray with two learners of each kind, beside the same run inline with one; Deep Monte-Carlo, which has fewer
    actors to start, resumed halfway. Nets differed by 2.3e-5 of their largest entry: the first steps of Adam are as
    long for gradients that are hardly more than rounding. Those of a run with one shard differ altogether."""
    shards = "resources.buffer_shards=2"
    half, config = (config_of(method, shards, "resources.learners=2", f"iterations={n}") for n in (1, 2))
    if method == "dmc":
        run_training(tmp_path / "ray", method, half, inline=False)
    result = run_training(tmp_path / "ray", method, config, inline=False, resume=method == "dmc")
    inline = run_training(tmp_path / "inline", method, config_of(method, shards, "iterations=2"), inline=True)
    run_training(tmp_path / "one", method, config_of(method, "iterations=2"), inline=True)
    assert result["samples"] == inline["samples"] > 0
    found, expected, other = (nets(tmp_path / name) for name in ("ray", "inline", "one"))
    assert found.keys() == expected.keys()
    assert found
    for name, net in expected.items():
        assert distance(found[name], net) < 2e-4
    last = max(expected)
    assert distance(other[last], expected[last]) > 2e-2


def distance(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """Returns the largest difference of two nets, each array relative to its largest entry."""
    assert one.keys() == other.keys()
    return max(float(np.abs(one[name] - other[name]).max() / max(np.abs(other[name]).max(), 1e-30)) for name in other)


def test_learners_may_change_at_a_resume_and_shards_may_not(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", PRESET["dream"], "dream", config_of("dream")):
        pass
    with Run.open(tmp_path / "run", writing=True) as run:
        run.resume_as(PRESET["dream"], "dream", config_of("dream", "resources.learners=4"))
        with pytest.raises(UsageError, match=r"resources\.buffer_shards: 1 -> 2"):
            run.resume_as(PRESET["dream"], "dream", config_of("dream", "resources.buffer_shards=2"))


def test_a_shard_without_rows_is_refused() -> None:
    with pytest.raises(UsageError, match=r"circular .*resources\.buffer_shards=4, got 3"):
        config_of("dream", "circular=3", "resources.buffer_shards=4")
    assert isinstance(config_of("dmc", "resources.buffer_shards=4"), RunConfig)


def test_learners_that_train_together_are_refused_a_share_of_a_gpu() -> None:
    with pytest.raises(UsageError, match=r"learner_gpus .*learners=2, got 0\.5"):
        config_of("dream", "resources.learners=2", "resources.learner_gpus=0.5")
    assert config_of("dream", "resources.learner_gpus=0.5").resources.learner_gpus == 0.5
