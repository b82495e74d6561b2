"""Tests of agents by name: bots, trained runs, and invalid names."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.agents.by_name import AgentName, bots, game_of, list_agents, make_agent, parse_name
from dancfr.agents.given import game_noted
from dancfr.agents.match import play as play_match
from dancfr.agents.pretrained import pretrained_names
from dancfr.errors import UsageError
from dancfr.evaluation.arena import Deals, play
from dancfr.evaluation.lengths import evaluated_as
from dancfr.evaluation.server import EvaluationServer
from dancfr.games.registry import make_game
from dancfr.methods.dmc.config import DmcConfig
from dancfr.methods.listed_agent import ListedPolicies, q_agent
from dancfr.runs.run import Run
from envs.game import Game
from envs.geister import Geister
from envs.guandan import GuanDan
from learners.dream.agent import DreamAgent
from learners.listed.settings import QNetworkSettings
from tests.dancfr.records import DMC_NETWORK, q_weights

FULL = Geister(ply_limit=300)
MINI = Geister(size=4, ply_limit=30, observation_limit=30)
GUANDAN = GuanDan()


def first_policy(agent: Any, game: Game) -> NDArray[np.float32]:
    """Returns the policy at the first decision of a game."""
    states = game.reset(1, np.random.default_rng(1))
    policy: NDArray[np.float32] = agent.policy(game.observe(states, game.to_move(states)), game.legal(states), 0)
    return policy


def test_names_are_taken_apart() -> None:
    for text, *parts in (
        ("rush", "rush", None, ()),
        ("runs/x@40?average=paper", "runs/x", 40, (("average", "paper"),)),
        ("runs/x?threshold=0.5&average=exact", "runs/x", None, (("average", "exact"), ("threshold", "0.5"))),
        ("runs/x@4?threshold=1", "runs/x", 4, (("threshold", "1"),)),
    ):
        assert parse_name(text) == AgentName(text, *parts)
    assert parse_name("rush").plain
    assert not parse_name("rush@1").plain


@pytest.mark.parametrize("name", ["lr@3", "user@host/run", "what?", "what?/x=1", "x@4?average=last"])
def test_what_is_in_the_name_of_a_folder_is_no_iteration_and_no_option(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir(parents=True)
    assert parse_name(str(folder)) == AgentName(str(folder), str(folder))
    for after, *parts in (
        ("@7", 7, ()),
        ("@7?average=a@b?", 7, (("average", "a@b?"),)),
        ("?search=8", None, (("search", "8"),)),
    ):
        assert parse_name(f"{folder}{after}") == AgentName(f"{folder}{after}", str(folder), *parts)
    if "?" not in name:
        for missing in ("file.safetensors", "wrong"):
            text = f"{folder.parent}/{missing}"
            assert parse_name(text) == AgentName(text, text)


def test_bots_of_geister_play_by_name_and_are_new_each_time() -> None:
    assert set(bots(FULL)) == {"random", "heuristic", "rush"}
    for name in bots(FULL):
        agent = make_agent(name, FULL)
        assert agent.name == name
        assert make_agent(name, FULL) is not agent


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("average=exakt", "did you mean exact"),
        ("averge=exact", "did you mean average"),
        ("threshold=2", "threshold must be a number from 0 to 1"),
        ("threshold=nan", "threshold must be a number from 0 to 1"),
        ("treshold=0.5", "did you mean threshold"),
    ],
)
def test_a_wrong_option_of_a_run_is_one_line_with_the_right_one(mini_run: Path, query: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        make_agent(f"{mini_run}?{query}", MINI)
    assert "\n" not in str(caught.value)


def test_bots_are_described_by_game(tmp_path: Path) -> None:
    told = {}
    for game in ("cheat", "mini-cheat", "geister"):
        found = [each for each in list_agents(make_game(game), tmp_path) if each["kind"] == "bot"]
        told[game] = {each["name"]: each["description"] for each in found}
    assert list(told["cheat"]) == list(told["mini-cheat"]) == ["random", "heuristic", "heuristic-tracking"]
    assert told["mini-cheat"] == told["cheat"]
    assert "challenges" in told["cheat"]["heuristic-tracking"] != told["cheat"]["heuristic"]
    assert "ghost" in told["geister"]["heuristic"] != told["geister"]["rush"]
    assert "%" not in str(told), "a rate belongs to the page of its measurement"
    assert {game: descriptions["random"] for game, descriptions in told.items()} == dict.fromkeys(
        told, "plays a uniformly random legal action of any game"
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("heurstic", "did you mean heuristic"),
        ("nobody-at-all", "there are: "),
        ("rush@3", "rush is a bot"),
        ("random?average=exact", "random is a bot"),
        ("runs/x@last", "the iteration after @"),
        ("runs/x?average", "options after .*average=exact"),
        ("runs/x?average=exact&average=last", "average is given twice"),
        ("", "names no agent; there are: random, heuristic, rush"),
        ("?", "names no agent"),
        ("x" * 5000, "too long for the name of an agent"),
        ("runs/x@" + "9" * 5000, "the iteration after @"),
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
    with pytest.raises(UsageError, match=f"holds no run; did you mean {mini_run}"):
        make_agent(str(mini_run.with_name("minni")))


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
    with pytest.raises(UsageError, match=r"run@1 has no strategy of player 1 yet: .*run@4 or later"):
        make_agent(f"{copy}@1", MINI)


def test_the_game_is_that_of_the_agents(mini_run: Path, tmp_path: Path) -> None:
    assert game_of((str(mini_run), "random")) == game_of(("rush", f"{mini_run}@4"), None, "leduc") == "mini-geister"
    assert game_of(("random", "pretrained:guandan?ms=5")) == "guandan"
    assert game_of(("pretrained:leduc",), None, "kuhn") == "leduc"
    assert game_of(("random", "rush")) == "geister"
    assert game_of(("pretrained:leduc",), "kuhn") == "kuhn"
    assert game_of(("random",), "") == "", "an empty name is not a default"
    with pytest.raises(UsageError, match=f"holds no run itself, but those of {mini_run}"):
        make_agent(str(mini_run.parent), MINI)


def test_agents_with_and_without_history_play_each_other(mini_run: Path, mini_history_run: Path) -> None:
    for pair in ((mini_history_run, mini_run), (mini_run, mini_history_run), (mini_history_run, "random")):
        found = play_match(str(pair[0]), str(pair[1]), "mini-geister", games=40, seed=5).as_dict()
        assert found["games"] == 40
        assert found["game_options"]["history"] is True
    with pytest.raises(UsageError, match="history=true"):
        make_agent(str(mini_history_run), MINI)

    def without_speed(**more: Any) -> dict[str, Any]:
        found = play_match(str(mini_run), "random", "mini-geister", games=40, seed=5, **more).as_dict()
        return {key: found[key] for key in ("wins", "draws", "losses", "categories", "mean_plies")}

    assert without_speed(options=["history=true"]) == without_speed(), "the agent observes what it was trained on"


def test_evaluate_is_decided_by_its_seed_and_plays_300_plies_in_geister() -> None:
    def once(**changes: Any) -> dict[str, Any]:
        found = play_match("rush", "heuristic", "geister", **({"games": 40, "seed": 2} | changes)).as_dict()
        return {key: value for key, value in found.items() if key not in ("seconds", "games_per_second")}

    assert once() == once()
    assert once()["ply_limit"] == 300
    assert once(ply_limit=20)["mean_plies"] <= 20
    assert once()["wins"] > 30  # rush beats heuristic nearly always


def test_iterations_that_a_run_does_not_have_are_refused(mini_run: Path) -> None:
    with pytest.raises(UsageError, match="has iterations 1 to 4, not 99"):
        make_agent(f"{mini_run}@99", MINI)
    with pytest.raises(UsageError, match=r"no strategy of player 1 yet: .*@2 or later"):
        make_agent(f"{mini_run}@1", MINI)


def test_a_run_of_another_game_or_other_rules_is_refused(mini_run: Path) -> None:
    with pytest.raises(UsageError, match="was trained on mini-geister, not on geister: `dancfr agents geister`"):
        make_agent(str(mini_run), FULL)


def test_a_game_by_name_has_the_options_that_the_agent_was_made_for(mini_history_run: Path) -> None:
    """Under the default options, a run with the history of ghosts is refused."""
    for game in ("mini-geister", None):
        made = game_noted(make_agent(str(mini_history_run), game))
        assert isinstance(made, Geister)
        assert made.history
    with pytest.raises(UsageError, match="name the game, such as"):
        make_agent("random")


def test_a_run_without_strategies_is_refused(write_run: Any) -> None:
    with pytest.raises(UsageError, match=r"fresh has no .* yet: train"):
        make_agent(str(write_run("fresh", [])), FULL)


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "a file"])
@pytest.mark.parametrize("query", ["", "@2"])
@pytest.mark.parametrize("kind", ["mini_run", "dmc_run"])
def test_a_run_whose_strategies_are_gone_is_told_from_one_that_has_none_yet(
    kind: str, query: str, left: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    copy = tmp_path / "run"
    shutil.copytree(request.getfixturevalue(kind), copy)
    shutil.rmtree(copy / "strategies")
    if left == "an empty folder":
        (copy / "strategies").mkdir()
    elif left == "a file":
        (copy / "strategies").write_text("in the way")
    with pytest.raises(UsageError) as caught:
        play_match(f"{copy}{query}", "random", "mini-geister" if kind == "mini_run" else "guandan", games=2).as_dict()
    assert str(caught.value) == (
        f"{copy} has been trained, but its strategies are gone: restore {copy}/strategies from a copy, or train "
        "it again"
    )


def test_a_run_of_dmc_plays_the_net_that_it_had(dmc_run: Path) -> None:
    games = {}
    for name, seed in ((str(dmc_run), 4), (f"{dmc_run}@4", 4), (f"{dmc_run}@2", 2)):
        agent, own = make_agent(name, GUANDAN), q_agent(GUANDAN, DmcConfig(network=DMC_NETWORK), q_weights(seed), "own")
        assert agent.name == name
        result = play(GUANDAN, (agent, own), 8, np.random.default_rng(3))
        assert (result.wins, result.deals) == (4, Deals(0, 4, 0)), "both play alike"
        games[name] = play(
            GUANDAN, (make_agent(name, GUANDAN), make_agent("greedy", GUANDAN)), 8, np.random.default_rng(3)
        )
    assert games[str(dmc_run)].mean_plies == games[f"{dmc_run}@4"].mean_plies != games[f"{dmc_run}@2"].mean_plies


def test_tributes_are_left_to_the_heuristic_unless_they_were_learnt() -> None:
    network = QNetworkSettings(width=8, depth=2, encoding="tribute")
    states = GUANDAN.start(np.arange(400, dtype=np.uint64))
    paying = states[GUANDAN.scripted(states)]
    choices = GUANDAN.choices(paying)
    heuristic = choices.rows[GUANDAN.script(paying, choices)]
    played = {}
    for learnt in (False, True):
        config = DmcConfig(network=network, tribute="learnt" if learnt else "heuristic")
        agent: Any = q_agent(GUANDAN, config, q_weights(1, network), "net")
        rng = np.random.default_rng(0)
        agent.begin(GUANDAN, len(states), rng)
        actions = agent.act(states, np.arange(len(states)), rng)
        GUANDAN.step(states.copy(), actions)
        played[learnt] = actions
    assert (played[False][GUANDAN.scripted(states)] == heuristic).all()
    assert (played[True][GUANDAN.scripted(states)] != heuristic).any()
    leads = ~GUANDAN.scripted(states)
    assert (played[False][leads] == played[True][leads]).all()


def test_evaluate_plays_rounds_of_a_run_of_dmc_unless_told_otherwise(dmc_run: Path) -> None:
    found = play_match(str(dmc_run), "random", "guandan", games=6, seed=5).as_dict()
    assert set(found) >= {"ci95_pairs", "deals", "mean_return"}
    assert found["game_options"] == {"length": "round", "situation": "drawn"}
    whole = play_match("greedy", str(dmc_run), "guandan", games=2, seed=5, options=("length=match",)).as_dict()
    assert whole["game_options"] == {"length": "match", "situation": "first"}
    assert whole["mean_plies"] > 3 * found["mean_plies"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("?average=last", "no option named .average.; there are: ms, search"),
        ("?threshold=0.5", "no option named .threshold.; there are: ms, search"),
        ("@1", "has iterations 2 to 4, not 1"),
        ("@5", "has iterations 2 to 4, not 5"),
        ("@3", "has no strategy of iteration 3: take 2 or 4"),
    ],
)
def test_what_a_run_of_dmc_does_not_have_is_refused(dmc_run: Path, query: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        make_agent(f"{dmc_run}{query}", GUANDAN)
    assert "\n" not in str(caught.value)


def test_a_net_of_another_network_is_refused(dmc_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(dmc_run, copy)
    info = json.loads((copy / "config.json").read_text())
    info["config"]["network"]["width"] = 16
    (copy / "config.json").write_text(json.dumps(info))
    with pytest.raises(UsageError, match=r"p0-000004.safetensors does not fit the run's configuration: "):
        make_agent(str(copy), GUANDAN)
    (copy / "strategies" / "p0-000004.safetensors").unlink()
    (copy / "strategies" / "p0-000002.safetensors").unlink()
    Run.open(copy).truncate_metrics(1)
    with pytest.raises(UsageError, match="has no strategy yet: it gets its first one at iteration 10"):
        make_agent(str(copy), GUANDAN)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"width": 16}, r"hidden0.b .*float32\[16\].*float32\[128\]"),
        ({"depth": 2}, "hidden2.b"),
        ({"depth": 4}, r"hidden3.b .*float32\[128\].*missing"),
        ({"trunk": "conv"}, "conv0.0.b .*missing"),
        ({"outputs": "square"}, "out.b .*float32"),
        ({"outputs": "cards"}, "game mini-geister has outputs .*, not cards"),
    ],
)
def test_a_run_of_dream_whose_network_was_edited_is_refused(
    changes: dict[str, Any], says: str, mini_run: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "run"
    shutil.copytree(mini_run, copy)
    info = json.loads((copy / "config.json").read_text())
    info["config"]["network"] |= changes
    (copy / "config.json").write_text(json.dumps(info))
    with pytest.raises(UsageError, match=rf"\.safetensors does not fit the run's configuration: {says}"):
        make_agent(str(copy), MINI)


def test_a_run_of_dmc_cannot_play_another_game_and_is_listed_for_its_own(dmc_run: Path) -> None:
    with pytest.raises(UsageError, match="was trained on guandan, not on geister: `dancfr agents geister`"):
        make_agent(str(dmc_run), FULL)
    listed = list_agents(GUANDAN, dmc_run.parent)
    bots = ["random", "greedy", "planner", "counter", "reader"]
    assert [entry["name"] for entry in listed if entry["kind"] != "pretrained"] == [*bots, str(dmc_run)]
    assert listed[-1]["iterations"] == 4


def test_the_evaluation_beside_a_training_of_dmc_plays_rounds_of_the_newest_net(dmc_run: Path) -> None:
    rows = Run.open(dmc_run).read_metrics("evaluation")
    assert [(row["iteration"], row["opponent"]) for row in rows] == [
        (iteration, bot) for iteration in (2, 4) for bot in ("random", "greedy", "planner")
    ]
    assert {row["policy"] for row in rows} == {"last"}
    assert all(row["games"] == 8 and row["mean_plies"] < 250 and "time/evaluation_s" in row for row in rows)
    trained_on = GuanDan(length="match", situation="first", a_attempts=0)
    policies = ListedPolicies(trained_on, DmcConfig(network=DMC_NETWORK))
    server = EvaluationServer(policies, evaluated_as(trained_on), ("random",))
    server.add(2, q_weights(2))
    (row,) = server.evaluate(2, 4, (1, 2))
    assert row["mean_plies"] < 250, "rounds, whatever the run is trained on"
    with pytest.raises(ValueError, match="iteration 3: the newest nets are of 2"):
        server.evaluate(3, 4, (1, 3))


def test_agents_of_a_game_are_its_bots_and_its_trained_runs(mini_run: Path, write_run: Any) -> None:
    listed = list_agents(MINI, mini_run.parent)
    assert [entry["name"] for entry in listed] == ["random", "heuristic", "rush", str(mini_run)]
    assert listed[-1]["iterations"] == 4
    assert "run" not in [entry["kind"] for entry in list_agents(FULL, mini_run.parent)]
    untrained = write_run("untrained", [])
    kinds = [entry["kind"] for entry in list_agents(FULL, untrained.parent)]
    own = [name for name in pretrained_names() if name.startswith("pretrained:geister")]
    assert kinds == ["bot"] * 3 + ["pretrained"] * len(own)
