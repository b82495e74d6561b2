"""The smallest game of one's own: what docs/trees-and-cfr.md shows, run."""

from pathlib import Path

import numpy as np
import pytest

from envs.extensive import CHANCE, OVER, ExtensiveGame, FactoredGame
from envs.game import GameSpec
from envs.tree import compile_tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.sequence_form import sequence_form
from learners.cfr.solver import make_solver


# docs: begin
class OneCard(FactoredGame):
    """One-card poker: player 0 gets a high or a low card and bets 1 or gives up his ante of 1; player 1 may call."""

    state = np.dtype([("mover", np.int8), ("high", np.int8), ("bet", np.int8), ("call", np.int8)])

    def __init__(self):
        self.spec = GameSpec(
            name="one-card", num_players=2, num_actions=2, packed_size=3, shapes={"flat": (3,)}, slots={"action": 2},
            endings=("running", "over"), max_plies=2, max_return=2.0,
        )  # fmt: skip

    def initial(self, batch):
        return np.array([(CHANCE, -1, -1, -1)] * batch, self.state)  # nothing has happened yet

    def chance(self, states):
        return np.full((len(states), 2), 0.5)  # 0 low, 1 high

    def legal(self, states):
        return np.repeat((states["mover"] >= 0)[:, None], 2, axis=1)  # 0 gives up, 1 bets or calls

    def apply(self, states, choices):
        mover = states["mover"].copy()
        for field, by, then in (("high", CHANCE, 0), ("bet", 0, np.where(choices == 1, 1, OVER)), ("call", 1, OVER)):
            states[field] = np.where(mover == by, choices, states[field])
            states["mover"] = np.where(mover == by, then, states["mover"])

    def public(self, states):  # what all saw of the last transition: the bet, or the call
        return np.where(states["call"] >= 0, 3 + states["call"], 1 + states["bet"]).astype(np.int64)

    def private(self, states, player):  # what one player saw besides: his card, when it was dealt
        return np.where((player == 0) & (states["bet"] < 0), 1 + states["high"], 0).astype(np.int64)

    def utilities(self, states):
        shown = np.where(states["high"] == 1, 2.0, -2.0)
        won = np.select([states["mover"] != OVER, states["bet"] == 0, states["call"] == 0], [0.0, -1.0, 1.0], shown)
        return np.stack([won, -won], axis=1)

    def observe(self, states, players):
        card = np.where(players == 0, states["high"] + 1, 0)
        return np.stack([players, card, states["bet"] + 1], axis=1).astype(np.uint8)

    def encode(self, packed, encoding="flat"):
        return packed.astype(np.float32)

    def describe(self, state, view=None):
        return str(state)

    def describe_action(self, action):
        return ("give up", "bet or call")[action]


# docs: end


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


def test_the_document_shows_it():
    """The code in the document is the code above, to the letter, and short."""
    here, root = Path(__file__), Path(__file__).parents[2]
    code = here.read_text().split("# docs: begin\n")[1].split("# docs: end")[0].strip()
    assert len(code.splitlines()) < 50
    assert f"\n{code}\n```" in (root / "docs" / "trees-and-cfr.md").read_text()
