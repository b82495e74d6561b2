"""Tests that the agent which `dancfr exploit` measures is the agent that its folder plays, against the same agent."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.exploit import ExploitRequest, exploit
from dancfr.agents.match import play
from dancfr.agents.pack import PackRequest, pack
from dancfr.games.trees import make_tree
from envs.kuhn.game import Kuhn
from envs.tree import TreePolicy
from learners.cfr.players_form import evaluate_form, exact_form
from learners.storage import load_state
from tests.dancfr.methods.table_runs import configured, run_preset

RESPONSE = ("rows=2048", "chunk=1024", "training.batch=128", "network.width=32")


def kuhn_run(folder: Path, preset: str, *overrides: str) -> Path:
    run_preset(folder, preset, configured(preset, "game=kuhn", "network.width=32", *overrides))
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Agents that mix several nets: each game is played by one of them."""
    folder = tmp_path_factory.mktemp("runs")
    gradient = ("average=mixture", "kept_every=1", "average_power=0", "iterations=8", "training.learning_rate=0.02")
    dream = ("iterations=4", "advantage_training.minibatches=40", "baseline_training.minibatches=10")
    return {
        "mixture": kuhn_run(folder / "mixture", "leduc-policy-gradient", *gradient, "evaluation.opponents=[]"),
        "dream": kuhn_run(folder / "dream", "leduc-dream-quick", *dream, "evaluation.opponents=[]"),
    }


def wins(game: Kuhn, response: str, agent: str) -> tuple[float, float]:
    """The exact mean returns of a response in the first and in the second seat."""
    tree = make_tree(game, observations=True)
    agents = [make_agent(name, game) for name in (response, agent)]
    policies = [each.tree_policy(tree) for each in agents if isinstance(each, TreePolicy)]
    form, mover, found = exact_form(tree), tree.player[tree.slot_infoset], []
    for seat in (0, 1):
        value = evaluate_form(form, np.where(mover == seat, *policies)).value
        found.append(value if seat == 0 else -value)
    return found[0], found[1]


@pytest.mark.parametrize(("kind", "other"), [("mixture", "average=last"), ("dream", "average=last")])
def test_the_folder_plays_what_was_measured(trained: dict[str, Path], tmp_path: Path, kind: str, other: str) -> None:
    agent, folder, kuhn = str(trained[kind]), str(tmp_path / "response"), Kuhn()
    found = exploit(ExploitRequest(agent, games=4000, eval_games=40_000, seed=1, overrides=RESPONSE, out=Path(folder)))
    exact = wins(kuhn, folder, agent)
    for part, value in zip(found["seats"].values(), exact, strict=True):
        low, high = part["ci95"]
        assert abs(part["value"] - value) < high - low < 0.1
    match = play(folder, agent, games=40_000, seed=1)
    low, high = match.result.mean_return_ci95
    mean = sum(exact) / 2
    assert abs(match.mean_return - mean) < high - low < 0.1
    apart = abs(mean - sum(wins(kuhn, folder, f"{agent}?{other}")) / 2)
    assert apart > high - low, "so the form of the frozen agent would be noticed"

    pack(PackRequest(folder, tmp_path / "packed"))
    assert wins(kuhn, str(tmp_path / "packed"), agent) == pytest.approx(exact, abs=0.01)


def test_further_epochs_train_another_response_in_the_same_games(tmp_path: Path) -> None:
    found = {}
    for epochs in (1, 3):
        changes = (*RESPONSE, f"training.epochs={epochs}")
        request = ExploitRequest("random", "kuhn", games=4000, eval_games=200, seed=1, overrides=changes)
        found[epochs] = exploit(replace(request, out=tmp_path / str(epochs)))
    assert found[1]["games"] == found[3]["games"]
    nets = [load_state(tmp_path / str(epochs) / "best-response.safetensors")[0] for epochs in (1, 3)]
    assert any((nets[0][name] != nets[1][name]).any() for name in nets[0])
