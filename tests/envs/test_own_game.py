"""The smallest game of one's own: the code in docs/tutorials/own-game.md and examples/own_game.py runs."""

from pathlib import Path

import numpy as np
import pytest

from envs.extensive import ExtensiveGame
from envs.tree import compile_tree
from examples.own_game import OneCard
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.sequence_form import sequence_form
from learners.cfr.solver import make_solver


def test_its_tree_has_what_the_rules_say():
    game = OneCard()
    assert isinstance(game, ExtensiveGame)
    tree = compile_tree(game)
    assert (tree.num_nodes, tree.num_infosets, tree.num_public_states) == (11, (2, 1), 6)
    assert tree.max_utility == 2


def test_it_is_solved_to_the_value_on_paper():
    """A low card bets once in three, bets are called two times in three, and player 0 wins a third of an ante."""
    form = sequence_form(compile_tree(OneCard()))
    exact = solve_linear_program(form)
    assert exact.value == pytest.approx(1 / 3)
    np.testing.assert_allclose(form.tree.to_table(exact.policy), [[2 / 3, 1 / 3], [0, 1], [1 / 3, 2 / 3]], atol=1e-9)
    solver = make_solver(form, "cfr+")
    solver.run(2000)
    found = evaluate_policy(form, solver.average_policy())
    assert found.exploitability < 1e-3
    assert found.value == pytest.approx(1 / 3, abs=1e-3)


def test_games_are_drawn_by_the_same_rules():
    game, rng = OneCard(), np.random.default_rng(1)
    states = game.reset(20_000, rng)
    assert abs((states["high"] == 1).mean() - 0.5) < 4.5 * 0.5 / np.sqrt(20_000)
    while not game.finished(states).all():
        game.step(states, rng.integers(2, size=len(states)), rng)
    policy = compile_tree(game).uniform()
    value = evaluate_policy(sequence_form(compile_tree(game)), policy).value
    returns = game.returns(states)[:, 0]
    assert abs(returns.mean() - value) < 4.5 * returns.std() / np.sqrt(len(returns))


def test_its_environment_shows_what_its_space_contains():
    made = OneCard().raw_env()
    made.reset(seed=1)
    while made.agents:
        agent = made.agent_selection
        assert made.observation_space(agent).contains(made.observe(agent))
        made.step(None if made.terminations[agent] else 1)


def test_the_document_shows_it():
    """The code in the document is that of the example, to the letter, and short."""
    root = Path(__file__).parents[2]
    text = (root / "examples" / "own_game.py").read_text()
    code = text[text.index("class OneCard") :].split("\n\n\n")[0].strip()
    assert len(code.splitlines()) < 50
    assert f"\n{code}\n```" in (root / "docs" / "tutorials" / "own-game.md").read_text()
