"""Tests of the readings of paper 001: rows of its tables, challenges a game, averages of Memoryless."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.games.registry import make_game
from dancfr.papers.paper001_readings import (
    AVERAGES,
    EXPERIMENTS,
    HISTORIES,
    compare_histories,
    count_challenges,
    memoryless_averages,
)
from dancfr.papers.reproduce import reproduce
from envs.cheat import Cheat
from learners.cheat_cfr.keys import MEMORYLESS, KeyForm
from learners.cheat_cfr.solver import CheatSolver
from learners.cheat_cfr.strategy import CheatAgent


def test_histories_are_compared_with_both_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.papers.paper001_readings.HEALTHS", (3,))
    monkeypatch.setattr("dancfr.papers.paper001_readings.HISTORIES", HISTORIES[:2])
    rows = compare_histories({}, EXPERIMENTS["cheat-histories"].scales["quick"]).rows
    found = {row["cell"]: (row["paper"], row["ours"], row["note"]) for row in rows}
    assert len(found) == 8
    assert found["General Cheat-3, every turn: claim, challenged"] == (11433, 12910, "+12.9 %")
    assert found["History-Aware† Cheat-3, every turn: challenged, and then the claim"][:2] == (3668, 11670)


def test_challenges_are_counted() -> None:
    once = make_game("mini-cheat", health=1)
    assert isinstance(once, Cheat)
    agents = [make_agent("random", once), make_agent("heuristic", once)]
    assert set(count_challenges(once, agents, 300, 1).tolist()) == {0, 1}, "with one health point one ends the game"
    forced = replace(once, challenge_last=True)
    assert (count_challenges(forced, agents, 300, 1) == 1).all(), "no player wins without a challenge"


def test_the_paper_has_more_challenges_than_the_rules_without_a_last_one(tmp_path: Path) -> None:
    rows = reproduce("cheat-challenges", "quick", tmp_path, inline=True)["rows"]
    found = {row["cell"]: row["ours"] for row in rows}
    assert 1.5 < found["as here: random v random"] < 1.9
    assert 3.1 < found["last discard challenged: heuristic v random"] < 3.6
    assert all(row["paper"] == 3.5 for row in rows)


def test_averages_contain_the_solvers_own() -> None:
    game = make_game("mini-cheat", challenge_last=True)
    assert isinstance(game, Cheat)
    agents = memoryless_averages(game, 4)
    assert tuple(agents) == AVERAGES
    solver = CheatSolver(game, KeyForm(MEMORYLESS), 4)
    solver.run(100)
    states = game.reset(400, np.random.default_rng(1))
    packed, legal = game.observe(states, game.to_move(states)), game.legal(states)
    tables = {name: agent.table(packed, legal) for name, agent in agents.items()}
    for name, policy in (("weighted by own reach", "average"), ("last strategy", "last")):
        own = CheatAgent(game, KeyForm(MEMORYLESS), solver.strategy(), policy)
        assert np.array_equal(tables[name], own.table(packed, legal))
    assert all(np.allclose(table.sum(axis=1), 1.0) for table in tables.values())
    assert len({table.tobytes() for table in tables.values()}) == len(AVERAGES)


@pytest.mark.parametrize(
    ("name", "cells"), [("cheat-claims", 2 * 2 * 2 * 5), ("cheat-averages", 2 * 3 * len(AVERAGES))]
)
def test_every_reading_has_a_row(name: str, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.papers.paper001_readings.ITERATIONS", 4)
    experiment = EXPERIMENTS[name]
    scale = replace(experiment.scales["quick"], seeds=(1, 2), games=40)
    rows = experiment.compare({}, scale).rows
    assert len({row["cell"] for row in rows}) == len(rows) == cells
    assert all(0 < row["ours"] < 100 and row["sd"] >= 0 for row in rows)
    assert [row["ours"] for row in rows] == [row["ours"] for row in experiment.compare({}, scale).rows]


def test_figure_1_of_a_challenged_last_discard(tmp_path: Path) -> None:
    overrides = ("iterations=2", "evaluation.every=2", "evaluation.games=20")
    rows = reproduce("cheat-fig1-challenged", "quick", tmp_path, seeds=(1,), overrides=overrides, inline=True)["rows"]
    found = {row["cell"]: row for row in rows}
    assert len(found) == 8 * 3 * 2 + 2
    assert found["Memoryless-3 average vs heuristic-tracking"]["paper"] is None
    assert 72 < found["heuristic vs random"]["ours"] < 75
    assert 81 < found["heuristic-tracking vs random"]["ours"] < 85
