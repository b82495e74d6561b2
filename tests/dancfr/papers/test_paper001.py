"""Tests of the tables and figures of paper 001 on small runs: all cells, with the paper's numbers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dancfr.errors import UsageError
from dancfr.methods.options import TrainOptions
from dancfr.papers.paper001 import (
    EXPERIMENTS,
    compare_costs,
    compare_curriculum,
    compare_exploitability,
    compare_generalisation,
)
from dancfr.papers.paper001_settings import AGENTS, EXACT, FIG1, FIG2, INFOSETS, PLAYED, SECONDS, TABLES
from dancfr.papers.reproduce import reproduce
from dancfr.papers.trainings import Scale, train_settings

INLINE = TrainOptions(inline=True, progress=False)


def trained(out: Path, scale: Scale, *overrides: str, wanted: str = "") -> tuple[Any, Scale]:
    """Returns the settings of an experiment whose name contains a text, with one seed."""
    part = replace(scale, settings=tuple(s for s in scale.settings if wanted in s.name), games=40)
    return train_settings(out, part, (1,), overrides, INLINE), part


def test_the_tables_hold_what_the_paper_prints() -> None:
    """Checks some cells and the shape of the tables."""
    assert (SECONDS[False]["General"][2], SECONDS[True]["Memoryless"][1]) == (20315, 1238)
    assert (INFOSETS[False]["HP-Aware"][0], INFOSETS[True]["General"][2]) == (1331, 659312)
    for table in (SECONDS, INFOSETS):
        assert [len(row) for part in table.values() for row in part.values()] == [3] * 8
        assert all(list(part) == list(AGENTS) for part in table.values())


@pytest.mark.parametrize("abstraction", [False, True])
def test_costs_are_those_of_the_runs_and_of_the_enumeration(tmp_path: Path, abstraction: bool) -> None:
    scale = EXPERIMENTS[f"cheat-table{1 + abstraction}"].scales["quick"]
    assert len(scale.settings) == 12
    settings, part = trained(tmp_path, scale, "iterations=5", wanted="-3")
    found = {row["cell"]: row for row in compare_costs(abstraction, settings, part).rows}
    assert len(found) == 8
    mark = "†" if abstraction else ""
    for name in AGENTS:
        seconds = found[f"{name}{mark} Cheat-3, seconds"]
        assert seconds["paper"] == SECONDS[abstraction][name][0]
        assert 0 < seconds["ours"] < 1
        assert found[f"{name}{mark} Cheat-3, infosets"]["paper"] == INFOSETS[abstraction][name][0]
    exact = [found[f"{name}{mark} Cheat-3, infosets"]["ours"] for name in AGENTS]
    assert exact == ([100, 606, 1534, 3294] if abstraction else [292, 1330, 12802, 12910])
    assert ("another abstraction" in found[f"General{mark} Cheat-3, infosets"]["note"]) is abstraction


def test_figure_1_is_the_same_side_by_side_on_ray_and_one_by_one(tmp_path: Path) -> None:
    overrides = ("iterations=6", "evaluation.every=3", "evaluation.games=20", "checkpoint_every=6")
    found = [
        reproduce("cheat-fig1", "quick", tmp_path / name, seeds=(1, 2), overrides=overrides, **how)
        for name, how in (("ray", {"workers": 2}), ("inline", {"inline": True}))
    ]
    rows = [{row["cell"]: (row["paper"], row["ours"], row["sd"]) for row in each["rows"]} for each in found]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 8 * 4 + 2
    assert rows[0]["Memoryless-3 average vs random"][0] == 90.0
    assert 78 < rows[0]["heuristic vs random"][1] < 82
    assert 84 < rows[0]["heuristic-tracking vs random"][1] < 87
    notes = {row["cell"]: row["note"] for row in found[0]["rows"]}
    assert "remembers no cards" in notes["heuristic vs random"], "what agrees with the paper is not the paper's bot"
    names = {Path(file).name for file in found[0]["files"]}
    assert names == {"cheat-fig1.html", "fig1-against-random.png", "fig1-against-heuristic.png"}
    page = (tmp_path / "ray" / "cheat-fig1.html").read_text()
    assert "General-3† last vs heuristic" in page
    again = reproduce("cheat-fig1", "quick", tmp_path / "ray", seeds=(1, 2), overrides=overrides, workers=2)
    assert again["seconds"] < found[0]["seconds"], "nothing is trained twice"
    with pytest.raises(UsageError, match=r"holds|iterations"):
        reproduce("cheat-fig1", "quick", tmp_path / "ray", seeds=(1, 2), overrides=("iterations=7",), workers=2)


def test_figure_2_plays_every_agent_in_every_game(tmp_path: Path) -> None:
    scale = EXPERIMENTS["cheat-fig2"].scales["quick"]
    settings, part = trained(tmp_path, scale, "iterations=20", "evaluation.games=20")
    found = compare_generalisation(False, settings, part)
    assert len(found.rows) == 4 * 2 * len(PLAYED)
    assert found.rows[0]["cell"] == "Memoryless-3† vs random in Cheat-2"
    assert all(0 <= row["ours"] <= 100 and row["paper"] is None for row in found.rows)
    assert [figure.name for figure in found.figures] == ["fig2-generalisation"]


def test_figure_3_counts_the_second_stage_from_0(tmp_path: Path) -> None:
    scale = EXPERIMENTS["cheat-fig3"].scales["quick"]
    settings, part = trained(tmp_path, scale, "evaluation.games=20", wanted="Memoryless")
    assert [runs[0].iterations for runs in settings.values()] == [100, 200, 200]
    found = compare_curriculum(settings, part)
    cells = [row["cell"] for row in found.rows]
    assert cells[:3] == [
        "Memoryless-4† vs random after 5 iterations",
        "Memoryless-4†-from-3 vs random after 5 iterations",
        "Memoryless-4†-from-3-copied vs random after 5 iterations",
    ]
    assert len(cells) == 12
    assert {figure.name for figure in found.figures} == {"fig3-against-random", "fig3-against-heuristic"}


def test_exploitability_is_below_that_of_uniform_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.papers.paper001.SOLVED", (3,))
    scale = EXPERIMENTS["cheat-exploitability"].scales["quick"]
    settings, part = trained(tmp_path, scale, "iterations=40", wanted="General-3")
    rows = {row["cell"]: row["ours"] for row in compare_exploitability(settings, part).rows}
    assert list(rows) == [
        "Cheat-3 uniform",
        *(f"Cheat-3 General{mark} {policy}" for mark in ("", "†") for policy in ("average", "last")),
    ]
    assert rows["Cheat-3 uniform"] == pytest.approx(1.663, abs=1e-3)
    assert all(0 < value < rows["Cheat-3 uniform"] for cell, value in rows.items() if "General" in cell)


@pytest.mark.parametrize(
    ("experiment", "override", "message"),
    [
        ("cheat-fig2", "game_options.dealt=3", "game_options.dealt defines this experiment"),
        ("cheat-fig3", "curriculum.iterations=2", "curriculum.iterations defines this experiment"),
        ("cheat-fig1", "evaluation.opponents=random", "evaluation.opponents defines this experiment"),
        ("cheat-fig1", "evaluation.every=0", "evaluation.every must be at least 1"),
        ("cheat-table1", "minutes=0.01", "minutes defines this experiment"),
        ("cheat-table1", "iterations=3", "iterations defines this experiment"),
        ("cheat-table1", "game=cheat", "game defines this experiment"),
    ],
)
def test_what_would_undo_an_experiment_is_refused_before_it_starts(
    tmp_path: Path, experiment: str, override: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        reproduce(experiment, "quick", tmp_path / "out", overrides=(override,), inline=True)
    assert not (tmp_path / "out").exists()


def test_quick_scales_name_what_they_have_less_of() -> None:
    for scales in (*TABLES.values(), EXACT, FIG1, FIG2):
        paper, quick = scales["paper"], scales["quick"]
        assert len(quick.seeds) < len(paper.seeds)
        assert quick.note == "quick scale: fewer seeds" + (" and games" if quick.games < paper.games else "")
