"""Knuth's estimate of a tree's size."""

import numpy as np
import pytest

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
