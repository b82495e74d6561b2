"""Agents that were trained with random colours, in games of Geister whose players choose them."""

from dataclasses import replace

import numpy as np
import pytest

from dancfr.agents.adapted import AdaptedAgent
from dancfr.agents.by_name import make_agent
from dancfr.agents.insight import consult
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError
from dancfr.evaluation.arena import play
from dancfr.evaluation.bots import make_bot
from dancfr.evaluation.exploitability import evaluate_exactly
from envs.geister import Geister, rules
from envs.geister.adapters import DrawnLayouts


@pytest.mark.parametrize("name", ["pretrained:geister", "pretrained:geister-response"])
def test_an_agent_moves_as_if_the_same_colours_had_been_drawn(name: str) -> None:
    game, _ = match_rules("geister", [name], ["random_setup=false"])
    assert isinstance(game, Geister)
    drawn = replace(game, random_setup=True)
    agents = [make_agent(name, each) for each in (game, drawn)]
    for agent, each in zip(agents, (game, drawn), strict=True):
        agent.begin(each, 8, np.random.default_rng(5))
    states, games = game.reset(8, np.random.default_rng(0)), np.arange(8)
    for _ in range(2):
        layouts = agents[0].act(states, games, np.random.default_rng(1))
        assert len(set(layouts.tolist())) > 3
        game.step(states, layouts)
    assert np.isin(states["red"], rules.layouts(6)).all()
    first, second = (agent.act(states, games, np.random.default_rng(2)) for agent in agents)
    assert np.array_equal(first, second)


def test_an_agent_keeps_its_strength() -> None:
    game, _ = match_rules("geister", ["pretrained:geister"], ["random_setup=false"])
    agents = make_agent("pretrained:geister", game), make_bot("random", game)
    assert isinstance(agents[0], AdaptedAgent)
    assert play(game, agents, 100, np.random.default_rng(1)).as_dict()["win_rate"] > 0.95


def test_an_insight_is_that_of_the_agent_once_the_colours_are_chosen() -> None:
    """Before that, all layouts are alike likely; consulting leaves the agent as it was."""
    plain, chosen = Geister(ply_limit=300, history=True), Geister(ply_limit=300, history=True, random_setup=False)
    wrapped, bare = make_agent("pretrained:geister", chosen), make_agent("pretrained:geister", plain)
    rng = np.random.default_rng(3)
    states = chosen.reset(1, rng)
    wrapped.begin(chosen, 1, rng)
    first = consult(wrapped, chosen, states, [], np.random.default_rng(1))
    assert first.policy == pytest.approx([1 / 70] * 70)
    history = []
    for _ in range(8):
        mover = int(chosen.to_move(states)[0])
        action = wrapped.act(states, np.zeros(1, np.int64), rng)
        if mover == 0:
            history.append((states.copy(), action[0]))
        chosen.step(states, action)
    found = consult(wrapped, chosen, states, history, np.random.default_rng(1))
    assert found == consult(bare, plain, states, history[1:], np.random.default_rng(1))
    assert (found.source, found.value_from) == ("policy", "net")
    assert found.beliefs is not None
    assert found.beliefs["kind"] == "tracked"
    kept = wrapped.act(states, np.zeros(1, np.int64), np.random.default_rng(5))
    consult(wrapped, chosen, states, history, np.random.default_rng(1))
    assert wrapped.act(states, np.zeros(1, np.int64), np.random.default_rng(5)) == kept


def test_an_exact_evaluation_says_that_the_agent_is_adapted() -> None:
    """The agent has probabilities, so the advice to give it some would be wrong."""
    game = Geister(size=4, random_setup=False, ply_limit=4)
    agent = AdaptedAgent(make_bot("random", replace(game, random_setup=True)), DrawnLayouts(game), game)
    with pytest.raises(UsageError, match=r"^it was made for another variant of mini-geister, .*dancfr exploit"):
        evaluate_exactly("it", agent, game)
