"""Tests of the figures of paper 002 on short runs: all cells, endings of games, and the paper's numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.papers.paper002 import EXPERIMENTS, OPPONENTS, OUTCOMES, PUBLISHED, VARIANTS
from dancfr.papers.reproduce import reproduce
from dancfr.report.stacks import draw_areas, draw_shares, shares_of, stack_of

SHORT = ("iterations=4", "evaluation.every=2", "evaluation.games=20", "checkpoint_every=4")


def test_every_variant_is_trained_by_one_experiment() -> None:
    trained = {setting.name for e in EXPERIMENTS.values() for setting in e.scales["paper"].settings}
    assert trained == set(VARIANTS)
    assert [len(EXPERIMENTS[f"mini-geister-fig{n}"].scales["paper"].seeds) for n in (6, 7, 8)] == [4, 3, 3]


def test_figures_6_to_12_have_a_row_for_each_opponent(tmp_path: Path) -> None:
    found = reproduce("mini-geister-fig6", "quick", tmp_path, seeds=(1, 2), overrides=SHORT, inline=True)
    cells = {row["cell"]: row for row in found["rows"]}
    assert list(cells) == [f"{v}/{o}" for v in ("full", "exact-belief") for o in OPPONENTS]
    assert cells["full/random"]["paper"] == PUBLISHED["full/random"][0] == 75
    assert cells["full/rush"]["paper"] is None
    assert "tables.states=256" in cells["full/heuristic"]["note"], "fitted, and says so"
    assert "not in the paper" in cells["exact-belief/heuristic"]["note"]
    assert all(0 < row["ours"] < 100 and row["sd"] is not None for row in cells.values())
    names = {Path(file).name for file in found["files"]}
    assert names == {"mini-geister-fig6.html", "fig6-full.png", "fig6-exact-belief.png"}
    page = (tmp_path / "mini-geister-fig6.html").read_text()
    assert "loss by taking red" in page


def test_figures_9_to_12_play_one_game_for_each_player_in_an_iteration_and_say_so(tmp_path: Path) -> None:
    short = ("iterations=2", "evaluation.every=2", "evaluation.games=20", "checkpoint_every=2")
    found = reproduce("mini-geister-fig9-12", "quick", tmp_path, seeds=(1,), overrides=short, inline=True)
    assert len(found["rows"]) == 4 * len(OPPONENTS)
    assert all("read as one game for each player" in row["note"] for row in found["rows"])
    for method in ("dream", "outcome-sampling"):
        (config,) = tmp_path.glob(f"**/mini-geister-{method}-seed1/config.json")
        tables = json.loads(config.read_text())["config"]["tables"]
        assert (tables["method"], tables["states"], tables["passes"]) == (method, 1, 1)


def test_figure_13_takes_the_worst_with_and_the_best_without(tmp_path: Path) -> None:
    found = reproduce("mini-geister-fig13", "quick", tmp_path, seeds=(1, 2), overrides=SHORT, inline=True)
    (row,) = found["rows"]
    assert row["cell"] == "full/no-belief"
    assert "the worst of 2" in row["note"]
    assert "the best of 2" in row["note"]
    assert "over 10,000 games" in row["note"]
    with pytest.raises(UsageError, match=r"tables\.belief defines this experiment"):
        reproduce("mini-geister-fig13", "quick", tmp_path, overrides=("tables.belief=none",), inline=True)


def test_figure_5_trains_nothing(tmp_path: Path) -> None:
    found = reproduce("mini-geister-fig5", "quick", tmp_path, inline=True)
    cells = {row["cell"]: row for row in found["rows"]}
    assert set(cells) == {"heuristic/random", "rush/random", "rush/heuristic"}
    assert cells["heuristic/random"]["paper"] == 70
    assert abs(cells["heuristic/random"]["ours"] - 70) < 3
    assert "weights of heuristic" in cells["heuristic/random"]["note"], "fitted, and says so"
    assert "fitted" not in cells["rush/random"]["note"]
    assert found["runs"] == []
    with pytest.raises(UsageError, match="trains nothing"):
        reproduce("mini-geister-fig5", "quick", tmp_path, overrides=("iterations=2",), inline=True)


def test_shares_add_up_and_are_drawn() -> None:
    counts = {"win by escape": 3, "draw by ply limit": 1}
    shares = shares_of(OUTCOMES, counts)
    assert shares.tolist() == [0.75, 0, 0, 0.25, 0, 0, 0]
    with pytest.raises(ValueError, match="win by magic"):
        shares_of(OUTCOMES, {"win by magic": 1})
    with pytest.raises(ValueError, match="no games"):
        shares_of(OUTCOMES, {})
    bars = draw_shares(
        OUTCOMES, "name", "Title", "", {"one": shares, "other": shares_of(OUTCOMES, {"loss by escape": 2})}
    )
    assert bars.png[:4] == b"\x89PNG"
    assert bars.rows[0] == ("one", "75.0", "0.0", "0.0", "25.0", "0.0", "0.0", "0.0")
    assert "one: win by escape 75 %, draw 25 %" in bars.alt
    assert len(bars.columns) == 1 + len(OUTCOMES)


def test_areas_are_means_over_the_evaluations_that_all_runs_have(tmp_path: Path) -> None:
    from dancfr.report.history import History

    def run(*evaluations: tuple[int, int]) -> History:
        rows = tuple(
            {"iteration": t, "opponent": "random", "policy": "average", "categories": {"win by escape": wins,
             "loss by escape": 4 - wins}}
            for t, wins in evaluations
        )  # fmt: skip
        return History("run", tmp_path, {}, (), rows)

    stack = stack_of(OUTCOMES, "title", [run((1, 4), (2, 2)), run((2, 4), (3, 1))], "random")
    assert stack is not None
    assert (stack.x.tolist(), stack.runs) == ([2.0], 2)
    np.testing.assert_allclose(stack.shares[:, 0], [0.75, 0, 0, 0, 0, 0, 0.25])
    assert stack_of(OUTCOMES, "title", [run((1, 4)), run((2, 4))], "random") is None
    assert stack_of(OUTCOMES, "title", [run((1, 4))], "rush") is None
    assert draw_areas(OUTCOMES, "name", "Title", "", [stack]).rows[0][1] == "75.0"


def test_quick_scales_name_what_they_have_less_of() -> None:
    for name in ("mini-geister-fig6", "mini-geister-fig9-12", "mini-geister-fig13"):
        paper, quick = (EXPERIMENTS[name].scales[scale] for scale in ("paper", "quick"))
        assert len(quick.seeds) < len(paper.seeds)
        assert quick.note == "quick scale: fewer seeds, games and evaluations"
