"""`dancfr.exact_response`: it wins the returns of the exact evaluation, and plays like any agent."""

from typing import Any

import numpy as np
import pytest

import dancfr
from dancfr.errors import UsageError
from dancfr.games.trees import make_tree
from learners.cfr.sequence_form import sequence_form
from tests.dancfr.agents.acting import FirstAction
from tests.dancfr.agents.test_functions import always, uniform


@pytest.mark.parametrize("game", ["kuhn", "leduc", "goofspiel5"])
@pytest.mark.parametrize("name", ["random", "solution"])
def test_response_wins_what_the_evaluation_says(game: str, name: str) -> None:
    solved = dancfr.solve(game, "cfr", iterations=3, progress=False).agent()
    agent: Any = solved if name == "solution" else dancfr.make_agent("random", game)
    tree, response = make_tree(game), dancfr.exact_response(agent, game)
    form = sequence_form(tree)
    answers = form.plans(response.tree_policy(tree))
    plans = form.plans(agent.tree_policy(tree))
    first, second = answers[0] @ (form.payoff @ plans[1]), -plans[0] @ (form.payoff @ answers[1])
    found = dancfr.exploitability(agent, game)
    assert (first, second) == pytest.approx(found.best_responses)
    assert np.isin(tree.to_table(response.tree_policy(tree)), (0, 1)).all()


def test_response_plays_without_naming_the_game() -> None:
    agent = dancfr.policy_agent(always(1), dancfr.make_game("kuhn", cards=4), name="betting")
    response, found = dancfr.exact_response(agent), dancfr.exploitability(agent)
    assert response.name == "response to betting"
    match = dancfr.play(response, agent, games=8000, seed=1)
    assert match.mean_return == pytest.approx(found.nash_conv / 2, abs=4 * match.result.return_error)


def test_response_needs_a_tree_of_two_players_and_a_listed_policy() -> None:
    with pytest.raises(UsageError, match=r"dark_hex3 has too many histories .* dancfr.best_response trains one"):
        dancfr.exact_response(dancfr.policy_agent(uniform, "dark_hex3"))
    with pytest.raises(UsageError, match="first cannot say with which probability it plays"):
        dancfr.exact_response(FirstAction(), "kuhn")
    with pytest.raises(UsageError, match=r"a response needs two players [^\n]+ has 3 players: dancfr.exploitability"):
        dancfr.exact_response("random", "openspiel:kuhn_poker(players=3)")
