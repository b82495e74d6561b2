"""Games without chance have trees, whatever seam they were written for."""

import numpy as np
import pytest

from envs.chanceless import ChanceDrawn, Chanceless, extensive
from envs.extensive import OVER, ExtensiveGame
from envs.geister.game import Geister
from envs.goofspiel import Goofspiel
from envs.guandan import GuanDan
from envs.tree import compile_tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.sequence_form import sequence_form


def test_a_short_mini_geister() -> None:
    """Each player chooses one of 2 layouts, then two plies are played; the number of nodes by hand-made expansion."""
    game = Geister(size=4, random_setup=False, ply_limit=2, observation_limit=2)
    tree = compile_tree(game)
    assert isinstance(extensive(game), ExtensiveGame)
    rng = np.random.default_rng(0)
    states, count = game.reset(1, rng), 1
    while len(states := states[~game.finished(states)]):
        rows, actions = np.nonzero(game.legal(states))
        states = states[rows]
        game.step(states, actions, rng)
        count += len(states)
    assert tree.num_nodes == count > 16
    assert (tree.mover[tree.levels[-2] :] == OVER).all()
    assert np.diff(tree.slots)[0] == 2
    assert tree.parent_slot[0] == -1
    form = sequence_form(tree)
    equilibrium = solve_linear_program(form)
    assert evaluate_policy(form, equilibrium.policy).exploitability < 1e-9


def test_the_tree_of_a_factored_game_without_chance_is_the_same_by_what_it_observes() -> None:
    class Plain:
        """Goofspiel as a `Game` alone."""

        def __init__(self, game: Goofspiel) -> None:
            self.inner = game

        def __getattr__(self, name: str):
            if name in ("initial", "apply", "public", "private", "utilities", "mover", "chance"):
                raise AttributeError(name)
            return getattr(self.inner, name)

    game = Goofspiel(3)
    plain, whole = compile_tree(Plain(game)), compile_tree(game)
    assert (plain.num_nodes, plain.num_infosets) == (whole.num_nodes, whole.num_infosets)
    values = [solve_linear_program(sequence_form(tree)).value for tree in (plain, whole)]
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    rng = np.random.default_rng(1)
    weight = rng.exponential(size=whole.num_slots)
    policy = weight / np.add.reduceat(weight, whole.slots[:-1])[whole.slot_infoset]
    table = {seen.tobytes(): row for seen, row in zip(whole.observed, whole.to_table(policy), strict=True)}
    same = plain.to_slots(np.stack([table[seen.tobytes()] for seen in plain.observed]))
    found = [evaluate_policy(sequence_form(t), p).nash_conv for t, p in ((plain, same), (whole, policy))]
    assert found[0] == pytest.approx(found[1], abs=1e-12)


def test_chance_that_is_drawn_is_refused() -> None:
    with pytest.raises(ChanceDrawn, match="geister has no tree: its rules draw chance events without listing them"):
        compile_tree(Geister())
    with pytest.raises(TypeError, match="guandan has no tree: trees need a game with numbered actions"):
        compile_tree(GuanDan())
    with pytest.raises(TypeError, match=r"^NoneType has no tree"):
        compile_tree(None)
    assert Chanceless(Goofspiel(3)).cards == 3
