"""DREAM's successors as settings of its driver: DCFR+ and PDCFR+ with nets, ESCHER, and nets of the average policy."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from dancfr.errors import UsageError
from dancfr.methods.dream.config import DreamConfig
from tests.dancfr.methods.table_runs import configured, rows, run_preset, stored

PRESET = "leduc-dream"
SMALL = (
    "game=kuhn",
    "traversals=32",
    "chunk=16",
    "minutes=none",
    "network.width=16",
    "network.depth=1",
    *(f"{part}_training.{each}" for part in ("advantage", "baseline") for each in ("batch=32", "minibatches=3")),
    "evaluation.every=2",
    "evaluation.games=4",
    "checkpoint_every=2",
)
ESCHER = ("sampling.estimator=history", "sampling.epsilon=1", "baseline_games=24", "circular=300")
POLICY_NET = ("policy_net=true", "policy_training.batch=32", "policy_training.minibatches=3", "average=net")
VARIANTS = {
    "dcfr+": ("bootstrap=dcfr+", "discount_power=1.5"),
    "pdcfr+": ("bootstrap=pdcfr+", "discount_power=2.3", "merge=false"),
    "pdcfr+ without baselines": ("bootstrap=pdcfr+", "baseline=false", "updates=simultaneous"),
    "escher": ESCHER,
    "escher, pdcfr+, net": (*ESCHER, "bootstrap=pdcfr+", *POLICY_NET, "evaluation.average=net"),
}


def small(variant: str, *more: str) -> DreamConfig:
    config = configured(PRESET, *SMALL, *VARIANTS[variant], *more)
    assert isinstance(config, DreamConfig)
    return config


def run_training(path: Path, config: DreamConfig, **how: Any) -> dict[str, Any]:
    return run_preset(path, PRESET, config, **how)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_resumed_run_has_the_bytes_of_an_uninterrupted_one(variant: str, tmp_path: Path) -> None:
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    run_training(whole, small(variant, "iterations=4"))
    run_training(halves, small(variant, "iterations=3"))
    run_training(halves, small(variant, "iterations=4"), resume=True)
    assert_same_nets(halves, whole)
    found, expected = (sorted(map(str, rows(path, "train"))) for path in (halves, whole))
    assert found == expected


@pytest.mark.parametrize("variant", ["pdcfr+", "escher, pdcfr+, net"])
def test_ray_gives_the_bytes_of_one_process(variant: str, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run_training(whole, small(variant, "iterations=3"))
    run_training(parts, small(variant, "iterations=3"), inline=False)
    assert_same_nets(parts, whole)


def assert_same_nets(found: Path, expected: Path) -> None:
    """Compares the nets of all iterations, and that there are no others, such as the average nets of an earlier end."""
    wanted = stored(expected)
    assert len(wanted) >= 6
    assert stored(found) == wanted


def test_the_nets_depend_on_every_setting(tmp_path: Path) -> None:
    changes = {
        "plain": (),
        "dcfr+": VARIANTS["dcfr+"],
        "pdcfr+": ("bootstrap=pdcfr+", "discount_power=1.5"),
        "slower": ("bootstrap=dcfr+", "discount_power=0"),
        "early baseline": ("baseline_games=24",),
        "escher": ESCHER,
    }
    nets = {}
    for name, settings in changes.items():
        run_training(tmp_path / name, configured(PRESET, *SMALL, *settings, "iterations=3"))
        nets[name] = stored(tmp_path / name)["p1-000003.safetensors"]
    assert len(set(nets.values())) == len(changes)


def test_bootstrapped_fits_see_the_samples_of_one_iteration(tmp_path: Path) -> None:
    """The fill of the reservoir, by iteration; samples of former iterations would add up."""
    filled = {}
    for name in ("none", "dcfr+"):
        config = configured(PRESET, *SMALL, f"bootstrap={name}", "reservoir=1000", "iterations=5")
        run_training(tmp_path / name, config)
        filled[name] = [row["buffer/advantage_fill"] * 1000 for row in rows(tmp_path / name, "train")]
    assert filled["none"] == sorted(filled["none"])
    assert filled["none"][-1] >= 5 * 32
    assert all(32 <= fill <= 2 * 32 for fill in filled["dcfr+"])  # one or two decisions of the player a game


def test_games_for_the_baseline_alone_are_counted(tmp_path: Path) -> None:
    for name, settings in {"plain": (), "more": ("baseline_games=32",)}.items():
        run_training(tmp_path / name, configured(PRESET, *SMALL, *settings, "iterations=1"))
    plain, more = (rows(tmp_path / name, "train")[-1] for name in ("plain", "more"))
    assert more["samples/decisions"] > 1.8 * plain["samples/decisions"]
    assert more["samples/transitions"] == more["samples/decisions"]
    assert more["samples/advantage"] < 1.2 * plain["samples/advantage"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("sampling.estimator=history",), r"sampling.estimator=history requires baseline=true and baseline_games"),
        (("baseline=false", "baseline_games=10"), r"baseline_games must be 0 with baseline=false"),
        (("policy_net=true", "sampling.opponent_epsilon=0.1"), r"policy_net=true requires sampling.opponent_epsilon=0"),
        (("policy_net=true", "evaluation.every=0"), "evaluation.every must be at least 1 with policy_net=true"),
        (("policy_net=true", "history=0.25"), "policy_net=true requires history=0 and uniform=0"),
        (("policy_net=true", "uniform=0.25"), "policy_net=true requires history=0 and uniform=0"),
        (("bootstrap=dcfr",), r"dcfr\+"),
        (("merge=true", "huber_delta=1"), r"huber_delta requires merge=false"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: tuple[str, ...], message: str) -> None:
    with pytest.raises((UsageError, ValidationError), match=message):
        configured(PRESET, *SMALL, *settings)


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "bound"), [("dcfr+", 0.2), ("pdcfr+", 0.2), ("escher", 0.5)])
def test_ten_iterations_on_kuhn_come_near_an_equilibrium(variant: str, bound: float, tmp_path: Path) -> None:
    """NashConv of uniform play is 0.917. With three seeds it was at most 0.09, 0.07 and 0.25."""
    settings = ["game=kuhn", "traversals=900", "chunk=900", "iterations=10", "minutes=none", *VARIANTS[variant]]
    settings += ["advantage_training.minibatches=150", "baseline_training.minibatches=80", "circular=7200"]
    settings += ["evaluation.every=10", "evaluation.games=2", "evaluation.exploitability=true"]
    if variant == "escher":
        settings += ["traversals=450", "baseline_games=450", "baseline_training.minibatches=200"]
    else:
        settings += ["advantage_training.warm_start=true", "advantage_training.learning_rate=3e-3", "average_power=2"]
    run_training(tmp_path / "kuhn", configured(PRESET, *settings))
    found = {row["policy"]: row["nash_conv"] for row in rows(tmp_path / "kuhn", "exploitability")}
    assert found["average"] < bound
