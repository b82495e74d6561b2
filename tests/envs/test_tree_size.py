"""Knuth's estimate of a tree's size."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.game import States
from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.oshi_zumo import OshiZumo
from envs.tree import TreeTooLarge, compile_tree
from envs.tree_size import estimate_nodes
from tests.envs.small_trees import tree_of


def test_it_is_exact_where_all_nodes_of_a_depth_have_as_many_choices() -> None:
    for game in (Goofspiel(4), Goofspiel(3, prizes="random")):
        assert estimate_nodes(game, np.random.default_rng(1), paths=3) == tree_of(game).num_nodes


@pytest.mark.parametrize("game", [Kuhn(), Leduc(), OshiZumo()], ids=lambda game: game.spec.name)
def test_it_has_no_bias(game) -> None:
    """40 estimates of 256 paths with a seed each: the mean within 5 standard errors."""
    found = np.array([estimate_nodes(game, np.random.default_rng(seed)) for seed in range(40)])
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - tree_of(game).num_nodes) <= 5 * error
    assert error < 0.2 * found.mean()


def test_a_hopeless_tree_is_refused_before_it_is_begun() -> None:
    with pytest.raises(
        TreeTooLarge, match=r"^goofspiel has more nodes than the 1,000,000 allowed, some \de\+\d+ or more"
    ):
        compile_tree(Goofspiel(12), 1_000_000)


@dataclass(frozen=True)
class Endless(Kuhn):
    """Kuhn poker whose cards are never dealt: chance has one outcome, which does not end its turn."""

    def chance(self, states: States) -> NDArray[np.float64]:
        return np.ones((len(states), 1))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        states["stake"] ^= 1


def test_a_game_that_never_ends_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^kuhn: after 10,003 choices of players and of chance a game still runs"):
        compile_tree(Endless())
