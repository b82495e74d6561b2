"""Tests of the benchmark of exact games: rows from runs, and a short training to its end."""

from pathlib import Path

import pytest

from dancfr.methods import find_preset
from dancfr.papers.reproduce import reproduce
from dancfr.papers.rudolph2025 import GAMES, METHODS, STEPS, compare, method_of_preset
from dancfr.report.history import History
from tests.dancfr.records import train_row


def history(name: str, average: float, last: float | None) -> History:
    """A run of 9 million decisions with NashConv of its policies at the end."""
    train = (train_row(10, 0) | {"samples/decisions": 9e6},)
    known = {"average": average} | ({} if last is None else {"last": last})
    exact = tuple({"kind": "exploitability", "iteration": 10, "policy": p, "nash_conv": v} for p, v in known.items())
    return History(name, Path(name), {"preset": name, "config": {}}, train, (), exact)


def test_rows_are_half_of_nash_conv_at_the_end() -> None:
    runs = [history("a", 0.4, 0.6), history("b", 0.2, 0.8)]
    rows = {row["cell"]: row for row in compare({"policy gradient": runs}, GAMES["dark_hex3"]["quick"]).rows}
    assert rows["policy gradient, average policy"]["ours"] == pytest.approx(0.15)
    assert rows["policy gradient, last iterate"]["ours"] == pytest.approx(0.35)
    assert rows["policy gradient, last iterate"]["sd"] == pytest.approx(0.005**0.5)
    assert "9.0 million" in rows["policy gradient, last iterate"]["note"]


def test_runs_without_an_evaluation_are_named() -> None:
    found = compare({"policy gradient": [history("a", 0.4, None)]}, GAMES["dark_hex3"]["quick"])
    assert [row["cell"] for row in found.rows] == ["policy gradient, average policy"]
    assert found.left_out == ["policy gradient, last iterate: a run has no exact evaluation yet"]


@pytest.mark.parametrize("game", GAMES)
def test_presets_play_their_game_for_ten_million_steps(game: str) -> None:
    for name, preset_of in METHODS.items():
        config = find_preset(preset_of(game)).config
        assert (config.game, config.samples, method_of_preset(preset_of(game))) == (game, STEPS, name)
        config.check()


@pytest.mark.slow
@pytest.mark.timeout(600)  # two walks over 20 billion histories
def test_a_short_training_is_evaluated_exactly(tmp_path: Path) -> None:
    tiny = ("iterations=2", "games=8", "chunk=8", "network.width=8", "evaluation.games=2")
    found = reproduce("iig-benchmark", "quick", tmp_path, inline=True, overrides=tiny, game="phantom_ttt")
    assert [row["cell"] for row in found["rows"]] == [
        "policy gradient, average policy",
        "policy gradient, last iterate",
    ]
    assert all(0.3 < row["ours"] < 1 for row in found["rows"])
