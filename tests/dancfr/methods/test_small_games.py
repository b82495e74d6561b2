"""Tests of DREAM on games with a tree: exact exploitability during training, and update schedules."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from dancfr.agents.exact import exploitability
from dancfr.cli import main
from dancfr.errors import UsageError
from dancfr.evaluation.server import EvaluationServer
from dancfr.games.registry import make_game
from dancfr.methods import find_preset
from dancfr.methods.dream.agent import DreamPolicies
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.options import TrainOptions
from dancfr.runs.config import apply_overrides
from dancfr.runs.run import Run
from dancfr.watch.tracking import Tracker
from envs.kuhn import Kuhn
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.dream.agent import DreamAgent
from tests.dancfr.methods.table_runs import train
from tests.dancfr.watch.test_tracking import history, records
from tests.envs.small_trees import tree_of

TINY = (
    "game=kuhn", "traversals=24", "chunk=12", "reservoir=3000", "circular=3000", "advantage_training.minibatches=3",
    "advantage_training.batch=32", "baseline_training.minibatches=2", "baseline_training.batch=32",
    "evaluation.every=2", "evaluation.games=8", "evaluation.exploitability=true", "checkpoint_every=1",
)  # fmt: skip


def tiny(*overrides: str) -> DreamConfig:
    config = apply_overrides(find_preset("leduc-dream").config, [*TINY, *overrides])
    assert isinstance(config, DreamConfig)
    return config


def run_training(path: Path, config: DreamConfig, mode: Any = "off") -> dict[str, Any]:
    options = TrainOptions(workers=1, address=None, device="cpu", inline=True, progress=False)
    with Run.create(path, "leduc-dream", "dream", config) as run, Tracker(run, mode) as tracker:
        return train(run, "dream", config, tracker, options)


def strategies(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((path / "strategies").iterdir())}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run of four iterations, and the result of the training."""
    path = tmp_path_factory.mktemp("runs") / "kuhn"
    return path, run_training(path, tiny("iterations=4"), mode="offline")


def test_exploitability_is_in_the_record_and_in_the_result(trained: tuple[Path, dict[str, Any]]) -> None:
    path, result = trained
    rows = [row for row in Run.open(path).read_metrics() if row["kind"] == "exploitability"]
    assert [(row["iteration"], row["policy"]) for row in rows] == [(t, p) for t in (2, 4) for p in ("average", "last")]
    for row in rows:
        assert row["nash_conv"] == pytest.approx(2 * row["exploitability"])
        assert row["normalised"]["nash_conv"] == pytest.approx(row["nash_conv"] / 2)
        assert 0 < row["nash_conv"] < 3
        assert row["time/exploitability_s"] > 0
        assert row["elapsed_s"] > 0
    for row in rows[2:]:
        assert result["metrics"][f"{row['policy']}/nash_conv"] == row["nash_conv"]
    assert {"average/random", "last/random"} <= set(result["metrics"])


@pytest.mark.parametrize("iteration", [2, 4])
def test_it_is_that_of_the_agent_of_the_run(trained: tuple[Path, dict[str, Any]], iteration: int) -> None:
    """Rows are computed from the nets during training, agents from the files of the run."""
    path, _ = trained
    rows = {row["policy"]: row for row in Run.open(path).read_metrics() if row["kind"] == "exploitability"
            and row["iteration"] == iteration}  # fmt: skip
    for policy, average in (("average", "exact"), ("last", "last")):
        name = f"{path}@{iteration}?average={average}"
        found = exploitability(name, make_game("kuhn")).as_dict()
        assert found["nash_conv"] == pytest.approx(rows[policy]["nash_conv"], abs=1e-6)
        assert found["value"] == pytest.approx(rows[policy]["value"], abs=1e-6)


def test_weights_and_biases_gets_it_under_its_own_axis(trained: tuple[Path, dict[str, Any]]) -> None:
    path, _ = trained
    (folder,) = (path / "wandb").glob("offline-run-*")
    logged: dict[str, float] = {}
    for entry in history(records(folder)).values():
        logged |= entry
    rows = [row for row in Run.open(path).read_metrics() if row["kind"] == "exploitability" and row["iteration"] == 4]
    for row in rows:
        assert logged[f"evaluation/{row['policy']}/nash_conv"] == pytest.approx(row["nash_conv"])
    assert logged["evaluation/iteration"] == 4


def test_the_server_of_evaluations_computes_it_for_each_policy() -> None:
    """Two nets a player, drawn at random; with a threshold, which the last iterate does not have."""
    import torch

    from learners.networks.modules import ValueNet

    game, settings = Kuhn(), tiny().network
    torch.manual_seed(1)
    nets = {(p, t): ValueNet(settings, game.spec).inference_weights() for t in (1, 2) for p in (0, 1)}
    config = tiny("updates=in-turn", "average_power=1", "average_threshold=0.9", "evaluation.last=true")
    server = EvaluationServer(DreamPolicies(game, config), game, ("random",), exact=True)
    for (player, t), weights in nets.items():
        server.add(t, player, weights)
    rows = server.evaluate(2, 10, (5,))
    assert [(row["kind"], row["policy"]) for row in rows] == [
        ("evaluation", "average"), ("evaluation", "last"), ("exploitability", "average"), ("exploitability", "last"),
    ]  # fmt: skip
    form = sequence_form(tree_of(game))
    for row, (average, threshold) in zip(rows[2:], (("exact", 0.9), ("last", 0.0)), strict=True):
        of = {p: [(t, nets[p, t]) for t in (1, 2)] for p in (0, 1)}
        agent = DreamAgent(game, settings, of, average, threshold=threshold)  # type: ignore[arg-type]
        wanted = evaluate_policy(form, agent.tree_policy(form.tree)).as_dict()
        assert {key: row[key] for key in wanted} == wanted
    plain = EvaluationServer(DreamPolicies(game, tiny("evaluation.last=false")), game, ("random",))
    for (player, t), weights in nets.items():
        plain.add(t, player, weights)
    assert [row["kind"] for row in plain.evaluate(2, 10, (5,))] == ["evaluation"]


def test_a_game_without_a_tree_is_refused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["train", "geister-quick", "evaluation.exploitability=true", "--inline", "--wandb", "off"])
    assert ended.value.code == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(r"dancfr: evaluation\.exploitability=true .*tree.* geister.*\n", err)
    assert list(tmp_path.iterdir()) == []


def test_another_game_drops_it_and_a_setting_brings_it_back() -> None:
    assert find_preset("leduc-dream").config.evaluation.exploitability
    other = apply_overrides(find_preset("leduc-dream").config, ["game=geister"])
    assert not other.evaluation.exploitability
    assert tiny().evaluation.exploitability


@pytest.mark.parametrize("preset", ["leduc-dream", "leduc-policy-gradient"])
def test_a_limit_of_plies_is_refused_where_the_game_has_none(preset: str) -> None:
    config = apply_overrides(find_preset(preset).config, ["evaluation.ply_limit=50"])
    told = r"^evaluation\.ply_limit: no option of leduc named 'ply_limit'; .*; set evaluation\.ply_limit=none$"
    with pytest.raises(UsageError, match=told):
        config.check()
    apply_overrides(config, ["evaluation.every=0"]).check()


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[TraversalTask, TraversalWeights]]:
    """The tasks of all traversals with the weights they were played by; the traversals are the real ones."""
    seen: list[tuple[TraversalTask, TraversalWeights]] = []
    traverse = DreamTraverser.traverse

    def witness(self: DreamTraverser, task: TraversalTask, weights: TraversalWeights) -> Any:
        if task.seed[1] > 0:  # iteration 0 compiles the kernels
            seen.append((task, weights))
        return traverse(self, task, weights)

    monkeypatch.setattr(DreamTraverser, "traverse", witness)
    return seen


def same(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return first is second
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("updates", ["in-turn", "simultaneous", "alternating"])
def test_who_plays_against_which_net(
    tmp_path: Path, sampled: list[tuple[TraversalTask, TraversalWeights]], updates: str
) -> None:
    """In turn, player 1 is sampled against player 0's net of the same iteration; else, against that before."""
    path = tmp_path / "run"
    run_training(path, tiny("iterations=4", f"updates={updates}", "evaluation.every=0"))
    run = Run.open(path)
    nets = {(f.player, f.iteration): run.load_strategy(f.player, f.iteration)[0] for f in run.list_strategies()}
    updated = [(t, p) for t in (1, 2, 3, 4) for p in ((((t - 1) % 2,)) if updates == "alternating" else (0, 1))]
    assert sorted(nets) == sorted((p, t) for t, p in updated)
    assert [task.seed[1:3] for task, _ in sampled] == [pair for pair in updated for _ in range(2)], "two chunks each"
    for task, weights in sampled:
        t, traverser = task.seed[1:3]
        assert task.traverser == traverser
        for player in (0, 1):
            newest = t if updates == "in-turn" and (traverser, player) == (1, 0) else t - 1
            past = [net for (p, at), net in sorted(nets.items()) if p == player and at <= newest]
            assert same(weights.policies[player], past[-1] if past else None), (t, traverser, player)


def test_in_turn_and_at_once_part_with_the_second_player(tmp_path: Path) -> None:
    for updates in ("in-turn", "simultaneous"):
        run_training(tmp_path / updates, tiny("iterations=1", f"updates={updates}", "evaluation.every=0"))
    turn, once = (strategies(tmp_path / updates) for updates in ("in-turn", "simultaneous"))
    assert turn["p0-000001.safetensors"] == once["p0-000001.safetensors"]
    assert turn["p1-000001.safetensors"] != once["p1-000001.safetensors"]


@pytest.mark.long  # tests/actors/dream/test_dream_on_kuhn.py comes near an equilibrium in seconds
def test_the_quick_preset_gets_as_far_as_the_reference_in_ten_iterations(tmp_path: Path) -> None:
    """NashConv 1.2 to 1.8 after some 80,000 decisions; uniform play has 4.747. Seeds 1 and 2 gave 1.29 and 1.60."""
    config = apply_overrides(find_preset("leduc-dream-quick").config, ["evaluation.games=20", "seed=1"])
    assert isinstance(config, DreamConfig)
    assert (config.advantage_training.minibatches, config.baseline_training.minibatches) == (400, 300)
    result = run_training(tmp_path / "quick", config)
    sampled = Run.open(tmp_path / "quick").read_metrics("train")[-1]["samples/decisions"]
    assert 70_000 < sampled < 90_000
    assert 1.0 < result["metrics"]["average/nash_conv"] < 1.8
