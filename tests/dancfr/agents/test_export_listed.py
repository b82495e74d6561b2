"""`dancfr export` of GuanDan's nets: who reads agent.json and runs the graph plays the agent's own moves."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.export import ABOUT, export
from dancfr.errors import RunError
from dancfr.games.registry import make_game
from dancfr.methods.dmc.config import DmcConfig
from dancfr.runs.run import Run
from envs.capabilities import Candidates
from envs.game import listed
from envs.ragged import choose_rows
from learners.listed.decisions import net_inputs
from tests.dancfr.records import DMC_NETWORK, q_weights


def moves_are_the_agents(folder: Path, name: str, tables: int, plies: int) -> int:
    """Compares moves at positions of random games; returns the number of those that the net decided."""
    about = json.loads((folder / ABOUT).read_text())
    game: Any = listed(make_game(about["game"], **about["game_options"]))
    session = onnxruntime.InferenceSession(str(folder / about["nets"][0]["file"]))
    agent, rng, asked, learnt = make_agent(name, game), np.random.default_rng(5), 0, 0
    states = game.reset(tables, rng)
    agent.begin(game, tables, rng)
    assert isinstance(game, Candidates)
    for _ in range(plies):
        expected = agent.act(states, np.arange(len(states)), rng)
        lists = game.candidates(states) if about["choices"] == "candidates" else game.choices(states)
        scripted = game.scripted(states) & (np.diff(lists.offsets) > 1)
        given = net_inputs(game, about["encoding"], states, lists)
        assert given["x"].shape[1:] == tuple(about["shape"])
        assert given["choices"].shape[1] == about["choice_inputs"]
        (value,) = session.run(None, given)
        for row in range(len(states)):
            own = given["decision"] == row
            best = lists.rows[own][value[own].argmax()]
            if about["scripted"] and scripted[row]:
                continue
            learnt += scripted[row]
            ranked = np.sort(value[own])
            assert best == expected[row] or ranked[-1] - ranked[-2] < 1e-5
            asked += len(ranked) > 1
        legal = game.legal(states)
        game.step(states, legal.rows[choose_rows(legal.offsets, rng.random(len(states)))])
        states = states[~game.finished(states)]
        if not len(states):
            break
    assert bool(learnt) == (not about["scripted"])
    return asked


def test_a_policy_over_candidates(tmp_path: Path) -> None:
    result = export("pretrained:guandan", tmp_path / "onnx")
    assert (result["choices"], result["values_are"], result["scripted"]) == ("candidates", "logits", True)
    assert result["infostates"] >= 1000
    assert moves_are_the_agents(tmp_path / "onnx", "pretrained:guandan", 16, 40) > 300


def test_deep_monte_carlo(dmc_run: Path, tmp_path: Path) -> None:
    result = export(f"{dmc_run}@2", tmp_path / "onnx")
    assert (result["choices"], result["values_are"], result["scripted"]) == ("all", "returns", True)
    assert moves_are_the_agents(tmp_path / "onnx", f"{dmc_run}@2", 4, 40) > 60


def test_tribute_that_was_learnt(tmp_path: Path) -> None:
    config = DmcConfig(network=DMC_NETWORK, tribute="learnt")
    with Run.create(tmp_path / "run", "guandan-dmc-quick", "dmc", config) as run:
        run.save_strategy(0, 2, q_weights(3), {"version": 2})
    result = export(str(tmp_path / "run"), tmp_path / "onnx")
    assert (result["choices"], result["scripted"]) == ("all", False)
    assert moves_are_the_agents(tmp_path / "onnx", str(tmp_path / "run"), 4, 400) > 250


def test_a_graph_that_differs_is_not_written(dmc_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.agents.export.CLOSE", -1.0)
    with pytest.raises(RunError, match="differs from the agent"):
        export(str(dmc_run), tmp_path / "onnx")
    assert not list(tmp_path.iterdir())
