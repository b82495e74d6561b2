"""Tests of the comparison of methods by NashConv: rows at equal samples and times, figures, and short trainings."""

from pathlib import Path

import numpy as np
import pytest

from dancfr.games.trees import make_tree
from dancfr.methods import find_preset
from dancfr.papers.reproduce import reproduce
from dancfr.papers.sokota2022 import DREAM, GAMES, GRADIENT, MMD, SDCFR, Exact, _scales, compare, solve, value_at
from dancfr.report.history import History
from dancfr.runs.config import apply_overrides
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.mirror_descent import MirrorDescentSolver
from learners.cfr.sequence_form import sequence_form
from tests.dancfr.records import train_row

TINY = ("minutes=0.02", "evaluation.games=2")


def history(name: str, curve: dict[int, float], decisions: int, seconds: float) -> History:
    """A run with these decisions and seconds per iteration, and NashConv by iteration."""
    train = tuple(
        train_row(t, 0) | {"samples/decisions": decisions * t, "elapsed_s": seconds * t}
        for t in range(1, max(curve) + 1)
    )
    exact = tuple(
        {"kind": "exploitability", "iteration": t, "policy": "average", "nash_conv": v} for t, v in curve.items()
    )
    return History(name, Path(name), {"preset": name, "config": {}}, train, (), exact)


def test_methods_are_compared_at_equal_samples_and_times() -> None:
    slow = [history("a", {10: 0.9, 100: 0.5}, 10_000, 0.5), history("b", {10: 0.7, 100: 0.3}, 10_000, 0.5)]
    fast = [history("c", {10: 0.8, 50: 0.2, 100: 0.25}, 100_000, 0.01)]
    found = compare({GRADIENT: slow, DREAM: fast}, _scales("kuhn")["quick"])
    rows = {row["cell"]: row for row in found.rows}
    assert rows["policy gradient, 100,000 decisions"]["ours"] == pytest.approx(0.8)
    assert rows["policy gradient, 100,000 decisions"]["sd"] == pytest.approx(0.02**0.5)
    assert rows["policy gradient, 1,000,000 decisions"]["ours"] == pytest.approx(0.4)
    assert rows["policy gradient, 15 s"]["ours"] == pytest.approx(0.8)
    assert rows["policy gradient, 60 s"]["ours"] == pytest.approx(0.4)
    assert rows["policy gradient, at the end"]["ours"] == pytest.approx(0.4)
    assert rows["DREAM, lowest of the run"]["ours"] == 0.2
    assert rows["DREAM, 10,000,000 decisions"]["ours"] == 0.25
    assert "DREAM, 15 s" not in rows  # it ended after one second
    assert "policy gradient, 300 s" not in rows
    assert rows["tabular MMD, at the end"]["ours"] < 0.01
    assert [figure.name for figure in found.figures] == ["nash-conv-decisions", "nash-conv-seconds"]
    for figure in found.figures:
        assert [row[1] for row in figure.rows] == ["policy gradient (2 runs)", "DREAM", MMD] or [
            row[1] for row in figure.rows
        ] == ["policy gradient", "DREAM", MMD]


def test_a_value_is_the_newest_one_not_beyond_a_position() -> None:
    curve = np.array([10.0, 20.0, 40.0]), np.array([3.0, 2.0, 1.0])
    assert value_at(curve, 5) is None
    assert value_at(curve, 10) == 3
    assert value_at(curve, 39) == 2
    assert value_at(curve, 80) == 1
    assert value_at(curve, 81) is None
    assert value_at((np.empty(0), np.empty(0)), 1) is None


def test_the_tabular_curve_is_that_of_the_solver() -> None:
    found = solve(Exact("goofspiel", {"cards": 3}), 0.2)
    tree = make_tree("goofspiel", {"cards": 3})
    solver = MirrorDescentSolver(sequence_form(tree))
    solver.run(10)
    decisions = 10 * int((tree.infoset >= 0).sum())
    at = found.decisions[0].tolist().index(decisions)
    assert found.decisions[1][at] == evaluate_policy(solver.form, solver.current_policy()).nash_conv
    assert (np.diff(found.seconds[0]) > 0).all()


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_every_training_is_of_the_game_and_evaluated_exactly(name: str, scale: str) -> None:
    chosen = _scales(name)[scale]
    assert [setting.name for setting in chosen.settings] == [GRADIENT, DREAM, SDCFR]
    for setting in chosen.settings:
        config = apply_overrides(find_preset(setting.preset).config, (*setting.overrides, *chosen.overrides))
        config.check()
        assert config.game == GAMES[name].game
        assert config.game_options == dict(GAMES[name].options)
        assert config.evaluation.exploitability


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_every_game_has_a_tree_that_fits(name: str) -> None:
    assert make_tree(GAMES[name].game, dict(GAMES[name].options)).num_nodes < 1_000_000


@pytest.mark.slow
def test_one_command_trains_and_compares(tmp_path: Path) -> None:
    found = reproduce("nash-conv", "quick", tmp_path, inline=True, overrides=TINY, game="kuhn")
    files = {Path(file).name for file in found["files"]}
    assert {"nash-conv.html", "nash-conv-decisions.png", "nash-conv-seconds.png"} <= files
    ends = {row["cell"]: row["ours"] for row in found["rows"] if row["cell"].endswith("at the end")}
    assert list(ends) == [f"{name}, at the end" for name in (GRADIENT, DREAM, SDCFR, MMD)]
    assert all(0 < value < 2 for value in ends.values())
