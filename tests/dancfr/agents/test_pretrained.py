"""Agents that come with the program: they play, search, start responses, and are found by name."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dancfr.agents.by_name import game_options_of, identity, list_agents, make_agent
from dancfr.agents.exact import exploitability
from dancfr.agents.exploit import _default_starts
from dancfr.agents.league.fingerprint import fingerprint
from dancfr.agents.match_rules import match_rules
from dancfr.agents.pretrained import FOLDER, card_of, path_of, pretrained_names
from dancfr.agents.pretrained_page import PAGE, with_cards
from dancfr.errors import UsageError
from dancfr.evaluation.arena import play
from dancfr.evaluation.bots import make_bot
from dancfr.games.registry import make_game
from dancfr.methods.best_response.config import FRESH
from dancfr.methods.policy_gradient.starting import starting_net
from envs.geister import history
from learners.policy_gradient.agent import PolicyAgent
from learners.search.agent import SearchAgent

GEISTER = make_game("geister", ply_limit=300)
WIDE = make_game("geister", ply_limit=300, history=True)
"""With the history of ghosts, which agents without history play, too."""


def test_there_is_one_for_geister_and_it_is_listed() -> None:
    assert {"pretrained:geister", "pretrained:geister-own-view"} < set(pretrained_names())
    listed = {each["name"]: each for each in list_agents(GEISTER)}
    assert listed["pretrained:geister"]["kind"] == "pretrained"
    assert listed["pretrained:geister"]["iterations"] > 0
    assert listed["pretrained:geister"]["card"]["licence"] == "Apache-2.0"
    assert "against heuristic" in listed["pretrained:geister"]["description"]
    assert "pretrained:geister" not in {each["name"] for each in list_agents(make_game("leduc"))}


def test_every_one_plays_a_legal_game_against_itself_and_a_bot() -> None:
    """The arena refuses illegal actions."""
    for name in pretrained_names():
        card = card_of(name)
        game, _ = match_rules(card.game, (name,))
        found = play(game, (make_agent(name, game), make_agent(name, game)), 4, np.random.default_rng(1))
        assert found.games == 4, name
        assert {each["name"] for each in list_agents(game)} >= {name, "random"}


def test_every_one_and_every_bot_is_shown_by_its_name() -> None:
    for name in pretrained_names():
        agent = make_agent(name)
        assert agent.name == name
        assert repr(agent) == f"{type(agent).__name__}({name!r})"
    assert repr(make_agent("planner", "guandan")) == "PlannerBot('planner')"


def test_every_card_has_its_figures() -> None:
    for name in pretrained_names():
        card = card_of(name)
        assert name == f"pretrained:{card.name}"
        assert card.licence == "Apache-2.0"
        assert card.training.commands
        assert card.training.commits
        assert not [commit for commit in card.training.commits if not re.fullmatch("[0-9a-f]{40}", commit)]
        assert card.training.iterations > 0
        assert card.packed.startswith("dancfr pack ")
        assert card.strength
        for match in card.strength:
            assert match.games >= 1000
            assert match.ci95[0] <= match.win_rate <= match.ci95[1]
            assert match.mean_return_ci95[0] <= match.mean_return <= match.mean_return_ci95[1]
        if Path(path_of(name)).is_dir():
            assert card.precision is not None
            assert card.precision.same >= 0.999 * card.precision.decisions


def test_the_exploitability_on_the_card_of_leduc_is_exact() -> None:
    card = card_of("pretrained:leduc")
    assert card.exploitability is not None
    assert card.exploitability.kind == "exact"
    found = exploitability("pretrained:leduc", "leduc").exploitability
    assert found == pytest.approx(card.exploitability.value, abs=1e-9)
    assert found < 1e-5
    with pytest.raises(UsageError, match="no iterations and no options"):
        make_agent("pretrained:leduc?average=weights", make_game("leduc"))


def test_the_page_about_them_is_that_of_their_cards() -> None:
    assert with_cards(PAGE.read_text()) == PAGE.read_text(), "run make cards"


def test_an_unknown_option_names_the_nearest() -> None:
    game = make_game("guandan")
    for option, message in (
        ("foo=1", "no option named 'foo'; there are: ms, search"),
        ("serch=8", "mean search"),
    ):
        with pytest.raises(UsageError, match=message):
            make_agent(f"pretrained:guandan?{option}", game)


@pytest.mark.parametrize("name", ["pretrained:geister", "pretrained:geister-own-view"])
def test_it_plays_well(name: str) -> None:
    """600 games each; the bounds are far below the results in docs/results/policy-gradients.md."""
    for bot, wins in (("random", 0.95), ("heuristic", 0.75), ("rush", 0.7)):
        found = play(WIDE, (make_agent(name, WIDE), make_bot(bot, WIDE)), 600, np.random.default_rng(1))
        assert found.as_dict()["win_rate"] > wins, bot


def test_the_one_for_guandan_plays_as_well_as_the_best_bot() -> None:
    """400 rounds each; docs/results/danzero-on-guandan.md has 98.7 and 56.0 %."""
    game = make_game("guandan", situation="drawn", length="round")
    agent = make_agent("pretrained:guandan", game)
    for bot, wins in (("greedy", 0.93), ("planner", 0.45)):
        found = play(game, (agent, make_bot(bot, game)), 400, np.random.default_rng(1))
        assert found.as_dict()["win_rate"] > wins, bot
    listed = {each["name"] for each in list_agents(game)}
    assert "pretrained:guandan" in listed
    assert "pretrained:geister" not in listed


def test_it_takes_the_options_of_a_run() -> None:
    agent = make_agent("pretrained:geister?average=weights&threshold=0.25", WIDE)
    assert agent.threshold == 0.25  # type: ignore[attr-defined]
    assert isinstance(make_agent("pretrained:geister?search=16", WIDE), SearchAgent)
    network, weights = starting_net("pretrained:geister", make_agent("pretrained:geister", WIDE))
    assert network.outputs == "move"
    assert "out.w" in weights
    assert game_options_of("pretrained:geister", "geister") == {"history": True}
    assert game_options_of("pretrained:geister-own-view", "geister") == {}
    assert identity("pretrained:geister", WIDE).base == path_of("pretrained:geister")
    with pytest.raises(UsageError, match="history=true"):
        make_agent("pretrained:geister", GEISTER)


def test_the_response_beats_the_agent_it_was_trained_against_and_all_start_responses() -> None:
    agents = [make_agent(name, GEISTER) for name in ("pretrained:geister-response", "pretrained:geister-own-view")]
    assert play(GEISTER, (agents[0], agents[1]), 600, np.random.default_rng(1)).as_dict()["mean_return"] > 0.5
    plain = ("pretrained:geister-own-view", "pretrained:geister-response")
    assert _default_starts(GEISTER) == (*plain, FRESH)
    assert _default_starts(WIDE) == ("pretrained:geister", *plain, "pretrained:geister-self-play", FRESH)
    for other in (make_game("mini-geister"), make_game("leduc")):
        assert _default_starts(other) == (FRESH, FRESH)


def test_they_are_small_and_name_no_machine() -> None:
    files = [file for file in FOLDER.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= 5_500_000
    for file in files:
        if file.suffix == ".json":
            text = file.read_text()
            assert "/root" not in text
            assert "/tmp" not in text
        else:
            assert file.suffix == ".safetensors"


@pytest.mark.parametrize("name", ["pretrained:giester", "pretrained:", "pretrained:../weights"])
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"pretrained agent.*pretrained:[gl]"):
        make_agent(name, GEISTER)


def test_it_is_refused_for_another_game() -> None:
    with pytest.raises(UsageError, match=r"^pretrained:geister was trained on geister, not on leduc"):
        make_agent("pretrained:geister", make_game("leduc"))
    with pytest.raises(UsageError, match=r"^pretrained:geister has iterations \d+ to \d+, not 40"):
        make_agent("pretrained:geister@40", WIDE)


def test_a_league_knows_it_by_its_content() -> None:
    names = [name for name in pretrained_names() if name.startswith("pretrained:geister")]
    found = {name: fingerprint(name, WIDE) for name in [*names, "pretrained:geister?average=weights"]}
    assert len(set(found.values())) == len(found)
    assert fingerprint(path_of("pretrained:geister"), WIDE) == found["pretrained:geister"]


@pytest.mark.parametrize("name", ["pretrained:geister-own-view", "pretrained:geister-response"])
def test_a_response_to_an_agent_that_sees_the_history_begins_with_the_same_policy(name: str) -> None:
    game = make_game("geister", history=True, ply_limit=300)
    plain = replace(game, history=False)
    network, net = starting_net(name, make_agent(name, game))
    wide = PolicyAgent(game, network, [net], name)
    network, net = starting_net(name, make_agent(name, plain))
    narrow = PolicyAgent(plain, network, [net], name)
    rng = np.random.default_rng(1)
    states = game.reset(100, rng)
    compared = 0
    for _ in range(40):
        states = states[~game.finished(states)]
        movers, legal, shown = game.to_move(states), game.legal(states), history.without(states)
        expected = narrow.evaluate(plain.observe(shown, movers), legal, movers)
        found = wide.evaluate(game.observe(states, movers), legal, movers)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)
        wide.begin(game, len(states), rng)
        game.step(states, wide.act(states, np.arange(len(states)), rng), rng)
        compared += len(states)
    assert compared > 1000
