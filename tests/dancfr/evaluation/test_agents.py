"""Agents by name: bots, trained runs, and every way in which a name can be wrong."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.evaluation import evaluate_command
from dancfr.evaluation.agents import AgentName, bots, list_agents, make_agent, parse_name
from dancfr.runs import Run
from envs.game import Game
from envs.geister import Geister
from learners.dream.agent import DreamAgent

FULL = Geister(ply_limit=300)
MINI = Geister(size=4, ply_limit=30, observation_limit=30)

CONTRACT = {
    "games",
    "wins",
    "draws",
    "losses",
    "win_rate",
    "ci95",
    "categories",
    "seats",
    "games_per_second",
}


def first_policy(agent: Any, game: Game) -> NDArray[np.float32]:
    """Policy at the first decision of one game."""
    states = game.reset(1, np.random.default_rng(1))
    policy: NDArray[np.float32] = agent.policy(game.observe(states, game.to_move(states)), game.legal(states), 0)
    return policy


def test_names_are_taken_apart() -> None:
    assert parse_name("rush") == AgentName("rush")
    assert parse_name("runs/x@40?average=paper") == AgentName("runs/x", 40, "paper")
    assert parse_name("runs/x?average=last") == AgentName("runs/x", None, "last")
    assert parse_name("runs/x?average=exact&threshold=0.5") == AgentName("runs/x", None, "exact", 0.5)
    assert parse_name("runs/x@4?threshold=1") == AgentName("runs/x", 4, None, 1.0)


def test_an_at_sign_in_the_name_of_a_folder_is_no_iteration(tmp_path: Path) -> None:
    folder = tmp_path / "lr@3"
    folder.mkdir()
    assert parse_name(str(folder)) == AgentName(str(folder))
    assert parse_name(f"{folder}@7") == AgentName(str(folder), 7)


def test_bots_of_geister_play_by_name_and_are_new_each_time() -> None:
    assert set(bots(FULL)) == {"random", "heuristic", "rush"}
    for name in bots(FULL):
        agent = make_agent(name, FULL)
        assert agent.name == name
        assert make_agent(name, FULL) is not agent


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("heurstic", "did you mean heuristic"),
        ("nobody-at-all", "there are: "),
        ("rush@3", "rush is a bot"),
        ("random?average=exact", "random is a bot"),
        ("runs/x@last", "after @ stands an iteration"),
        ("runs/x?average=exakt", "did you mean exact"),
        ("runs/x?averge=exact", "did you mean average"),
        ("runs/x?threshold=2", "threshold must be a number from 0 to 1, not '2'"),
        ("runs/x?threshold=nan", "threshold must be a number from 0 to 1, not 'nan'"),
        ("runs/x?treshold=0.5", "did you mean threshold"),
        ("runs/x?average=exact&average=last", "average is given twice"),
        ("", "names no agent; there are: random, heuristic, rush"),
        ("?", "names no agent"),
        ("x" * 5000, "too long for the name of an agent"),
        ("runs/x@" + "9" * 5000, "after @ stands an iteration"),
        ("runs/not-there", "runs/not-there holds no run"),
    ],
)
def test_a_wrong_name_is_one_line_with_the_right_one(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=says) as caught:
        make_agent(name, FULL)
    assert "\n" not in str(caught.value)


def test_a_misspelt_run_names_the_one_beside_it(mini_run: Path) -> None:
    with pytest.raises(UsageError, match=f"holds no run; did you mean {mini_run}"):
        make_agent(str(mini_run.with_name("minni")), MINI)


def test_a_run_plays_its_strategies_up_to_the_iteration_asked_for(mini_run: Path) -> None:
    newest, early = make_agent(str(mini_run), MINI), make_agent(f"{mini_run}@2", MINI)
    last = make_agent(f"{mini_run}?average=last", MINI)
    assert isinstance(newest, DreamAgent)
    assert newest.average == "paper"  # what the run's configuration says
    policies = [first_policy(agent, MINI) for agent in (newest, early, last)]
    weights = np.array([1, 2])  # linear averaging by the player's own iterations; at the start reach is 1
    np.testing.assert_allclose(policies[0], (policies[1] + 2 * policies[2]) / weights.sum(), atol=1e-6)
    assert not np.allclose(policies[1], policies[2])


def test_the_threshold_is_the_runs_own_unless_the_name_has_one(mini_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(mini_run, copy)
    info = json.loads((copy / "config.json").read_text())
    info["config"]["average_threshold"] = 1.0
    (copy / "config.json").write_text(json.dumps(info))
    shares = {"": 1.0, "?average=exact": 1.0, "?average=last": 0.0, "?threshold=0": 0.0, "?threshold=0.5": 0.5}
    for query, share in shares.items():
        agent = make_agent(f"{copy}{query}", MINI)
        assert isinstance(agent, DreamAgent)
        assert agent.threshold == share, query
    assert (first_policy(make_agent(str(copy), MINI), MINI) > 0).sum() < (
        first_policy(make_agent(f"{copy}?threshold=0", MINI), MINI) > 0
    ).sum()


def test_an_average_with_a_gap_is_refused(mini_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(mini_run, copy)
    (copy / "strategies" / "p1-000002.safetensors").unlink()
    with pytest.raises(UsageError, match=r"lacks p1-000002.safetensors, which the average needs: .* or play .*run@1$"):
        make_agent(str(copy), MINI)
    make_agent(f"{copy}?average=last", MINI)  # needs the newest nets only
    with pytest.raises(UsageError, match=r"run@1 has no strategy of player 1 yet: say .*run@4 or later"):
        make_agent(f"{copy}@1", MINI)


@pytest.mark.parametrize("average", ["exact", "sampled", "paper", "last"])
def test_evaluate_counts_games_of_a_run(mini_run: Path, average: str) -> None:
    found = evaluate_command(f"{mini_run}?average={average}", "mini-geister", "random", games=60, seed=5)
    assert set(found) >= CONTRACT
    assert found["wins"] + found["draws"] + found["losses"] == found["games"] == 60
    assert sum(found["categories"].values()) == 60
    assert (found["ply_limit"], found["seed"], found["against"]) == (30, 5, "random")
    assert found["mean_plies"] <= 30


def test_evaluate_is_decided_by_its_seed_and_plays_300_plies_in_geister() -> None:
    def once(**changes: Any) -> dict[str, Any]:
        found = evaluate_command("rush", "geister", "heuristic", **({"games": 40, "seed": 2} | changes))
        return {key: value for key, value in found.items() if key not in ("seconds", "games_per_second")}

    assert once() == once()
    assert once()["ply_limit"] == 300
    assert once(ply_limit=20)["mean_plies"] <= 20
    assert once()["wins"] > 30  # rush beats heuristic nearly always


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"game": "geistr"}, "did you mean geister"),
        ({"games": 0}, "at least 1 game"),
        ({"seed": -1}, "at least 0"),
        ({"ply_limit": 0}, "ply_limit must be"),
    ],
)
def test_evaluate_refuses_what_makes_no_match(changes: dict[str, Any], says: str) -> None:
    arguments = {"agent": "random", "game": "geister", "against": "random", "games": 2, "seed": 0} | changes
    with pytest.raises(UsageError, match=says):
        evaluate_command(**arguments)


def test_iterations_that_a_run_does_not_have_are_refused(mini_run: Path) -> None:
    with pytest.raises(UsageError, match="has iterations 1 to 4, not 99"):
        make_agent(f"{mini_run}@99", MINI)
    with pytest.raises(UsageError, match=r"no strategy of player 1 yet: say .*@2 or later"):
        make_agent(f"{mini_run}@1", MINI)


def test_a_run_of_another_game_or_other_rules_is_refused(mini_run: Path) -> None:
    with pytest.raises(UsageError, match="was trained on mini-geister, not on geister: use --game mini-geister"):
        make_agent(str(mini_run), FULL)


def test_a_run_trained_with_random_layouts_cannot_choose_them(write_run: Any) -> None:
    path = write_run("drawn-layouts", [])
    with pytest.raises(UsageError, match=r"under other rules of geister: it knows 32 actions.* has 70"):
        make_agent(str(path), Geister(random_setup=False))


def test_a_run_without_strategies_is_refused(write_run: Any) -> None:
    with pytest.raises(UsageError, match="has no strategy yet"):
        make_agent(str(write_run("fresh", [])), FULL)


def test_a_damaged_strategy_is_named(mini_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "mini"
    shutil.copytree(mini_run, copy)
    file = Run.open(copy).list_strategies(1)[-1].path
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(UsageError, match=f"{file.name} is damaged"):
        make_agent(str(copy), MINI)


def test_agents_of_a_game_are_its_bots_and_its_trained_runs(mini_run: Path, write_run: Any) -> None:
    listed = list_agents(MINI, mini_run.parent)
    assert [entry["name"] for entry in listed] == ["random", "heuristic", "rush", str(mini_run)]
    assert listed[-1]["iterations"] == 4
    assert [entry["kind"] for entry in list_agents(FULL, mini_run.parent)] == ["bot"] * 3
    untrained = write_run("untrained", [])
    assert [entry["kind"] for entry in list_agents(FULL, untrained.parent)] == ["bot"] * 3
