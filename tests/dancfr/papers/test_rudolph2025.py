"""Tests of the benchmark of exact games: rows from runs, and a short training to its end."""

from dataclasses import replace
from pathlib import Path

import pytest

from dancfr.methods import find_preset
from dancfr.methods.dream.benchmark import preset_name
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.launch import check_options
from dancfr.methods.options import TrainOptions
from dancfr.papers.reproduce import reproduce
from dancfr.papers.rudolph2025 import (
    DREAM_METHODS,
    GAMES,
    GRADIENT,
    STEPS,
    compare,
    head_to_head,
    method_of_preset,
    presets,
)
from dancfr.papers.trainings import train_settings
from dancfr.report.history import History
from tests.dancfr.records import train_row

DECISIONS = {
    "phantom_ttt": 7.95,
    "phantom_ttt_abrupt": 6.91,
    "dark_hex3": 8.21,
    "dark_hex3_abrupt": 6.51,
    "liars_dice_2d5f": 3.59,
}
"""Decisions in a game, the mean over a run of SD-CFR with seed 1."""


def history(name: str, average: float, last: float | None) -> History:
    """A run of 9 million decisions with NashConv of its policies at the end."""
    train = (train_row(10, 0) | {"samples/decisions": 9e6},)
    known = {"average": average} | ({} if last is None else {"last": last})
    exact = tuple({"kind": "exploitability", "iteration": 10, "policy": p, "nash_conv": v} for p, v in known.items())
    return History(name, Path(name), {"preset": name, "config": {}}, train, (), exact)


def test_rows_are_half_of_nash_conv_at_the_end() -> None:
    runs = [history("a", 0.4, 0.6), history("b", 0.2, 0.8)]
    rows = {row["cell"]: row for row in compare({GRADIENT: runs}, GAMES["dark_hex3"]["quick"]).rows}
    assert rows["policy gradient, average policy"]["ours"] == pytest.approx(0.15)
    assert rows["policy gradient, last iterate"]["ours"] == pytest.approx(0.35)
    assert rows["policy gradient, last iterate"]["sd"] == pytest.approx(0.005**0.5)
    assert "9.0 million" in rows["policy gradient, last iterate"]["note"]


def test_runs_without_an_evaluation_are_named() -> None:
    found = compare({GRADIENT: [history("a", 0.4, None)]}, GAMES["dark_hex3"]["quick"])
    assert [row["cell"] for row in found.rows] == ["policy gradient, average policy"]
    assert found.left_out == ["policy gradient, last iterate: a run has no exact evaluation yet"]


@pytest.mark.parametrize("game", GAMES)
def test_presets_play_their_game_for_ten_million_steps(game: str) -> None:
    config = find_preset(presets(game)[GRADIENT]).config
    assert (config.game, config.samples) == (game, STEPS)
    assert all(method_of_preset(preset) == method for method, preset in presets(game).items())
    config.check()


@pytest.mark.parametrize("method", DREAM_METHODS.values())
@pytest.mark.parametrize("game", GAMES)
def test_presets_of_dream_do_too(game: str, method: str) -> None:
    config = find_preset(preset_name(game, method)).config_as(DreamConfig)
    assert config.game == game
    games = config.traversals + config.baseline_games
    assert config.iterations * 2 * games * DECISIONS[game] == pytest.approx(STEPS, rel=0.05)
    assert config.evaluation.every == config.iterations
    config.check()


@pytest.mark.slow
@pytest.mark.parametrize("name", [GRADIENT, "VR-DeepPDCFR+"])
def test_a_short_training_is_evaluated_exactly(name: str, tmp_path: Path) -> None:
    """A second of one method, on the classical game; the others have no runs."""
    short = ("minutes=0.02", "network.width=8", "evaluation.games=2")
    scale = GAMES["dark_hex3"]["paper"]
    alone = replace(scale, settings=tuple(each for each in scale.settings if each.name == name))
    train_settings(tmp_path / "runs", alone, (1,), short, check_options(TrainOptions(device="cpu", inline=True)))
    runs = [str(tmp_path / "runs")]
    found = reproduce("iig-benchmark", "paper", tmp_path, runs=runs, overrides=short, game="dark_hex3")
    assert [row["cell"] for row in found["rows"]] == [f"{name}, average policy", f"{name}, last iterate"]
    assert all(0.3 < row["ours"] <= 1 for row in found["rows"])


@pytest.mark.slow
def test_average_policies_of_all_methods_meet(tmp_path: Path) -> None:
    scale = GAMES["dark_hex3"]["paper"]
    two = replace(scale, settings=tuple(each for each in scale.settings if each.name in (GRADIENT, "DREAM")))
    short = ("iterations=1", "samples=none", "network.width=8", "evaluation.games=2", "evaluation.exploitability=false")
    runs = train_settings(tmp_path, two, (1, 2), short, check_options(TrainOptions(device="cpu", inline=True)))
    found = head_to_head("dark_hex3", runs, 40)
    assert found.columns == ("", GRADIENT, "DREAM")
    (_, _, won), (_, lost, _) = found.rows
    assert float(won) + float(lost) == pytest.approx(100, abs=0.11), "no game of dark hex is a draw"
    assert 0 < float(won) < 100
    assert "means over 2 runs" in found.caption
