"""Mini-Cheat as an explicit tree."""

from copy import deepcopy

import numpy as np
import pytest

from dancfr.games.registry import make_game
from envs.cheat import Cheat
from envs.cheat.cards import absolute
from envs.extensive import CHANCE, OVER
from envs.tree import Tree, TreeTooLarge, compile_tree
from tests.envs.small_trees import chances, states_of, tree_of
from tests.envs.stated_cheat import StatedCheat


def mini(health: int, discards: str = "sets", **options: int) -> Cheat:
    game: Cheat = make_game("mini-cheat", health=health, discards=discards, **options)
    return game


def nodes_below(table: StatedCheat) -> int:
    """Nodes of the tree from that position on, itself included."""
    found = 1
    for action in table.legal():
        after = deepcopy(table)
        after.play(action)
        found += nodes_below(after)
    return found


def sizes(tree: Tree) -> np.ndarray:
    """Nodes of the tree below each node, itself included, `int64[N]`."""
    found = np.ones(tree.num_nodes, np.int64)
    for begin, end in zip(tree.levels[-2:0:-1], tree.levels[:1:-1], strict=True):
        np.add.at(found, tree.parent[begin:end], found[begin:end])
    return found


@pytest.mark.parametrize(
    ("health", "nodes", "mean"), [(1, 1213, "34.40"), (2, 21_895, "666.47"), (3, 300_247, "9437.57")]
)
def test_it_is_as_large_as_is_known(health: int, nodes: int, mean: str) -> None:
    """Nodes below a deal, on average over deals: 34, 666 and 9,438, counted by a traversal of another program."""
    tree = compile_tree(mini(health))
    assert tree.num_nodes == nodes
    deals = slice(tree.levels[1], tree.levels[2])
    assert deals.stop - deals.start == 2 * 21
    assert f"{tree.probability[deals] @ sizes(tree)[deals]:.2f}" == mean
    assert tree.num_infosets[0] == tree.num_infosets[1]
    assert tree.max_utility == 1


@pytest.mark.parametrize(("health", "discards"), [(1, "sets"), (1, "cards"), (2, "sets")])
def test_below_each_deal_as_many_nodes_as_in_plain_python(health: int, discards: str) -> None:
    game = mini(health, discards)
    tree = tree_of(game)
    states, found = states_of(game, tree), sizes(tree)
    for node in range(tree.levels[1], tree.levels[2]):
        cards = [absolute(int(hand), 0, 3) for hand in states["hand"][node]]
        hands = [[r for r, n in enumerate(counts) for _ in range(n)] for counts in cards]
        assert found[node] == nodes_below(StatedCheat(game, hands, int(states["discarder"][node])))


@pytest.mark.parametrize(("health", "discards"), [(1, "sets"), (1, "cards"), (2, "sets"), (2, "cards"), (3, "sets")])
def test_infostates_are_the_infosets(health: int, discards: str) -> None:
    """Nodes share a packed infostate if and only if they share an infoset, which forgets nothing: with three health
    points not even how the cards of two piles came."""
    game = mini(health, discards)
    tree = tree_of(game)
    states = states_of(game, tree)
    at = np.flatnonzero(tree.mover >= 0)
    packed = game.observe(states[at], tree.mover[at])
    assert np.array_equal(packed, tree.observed[tree.infoset[at]])
    assert len({row.tobytes() for row in tree.observed}) == len(tree.observed) == sum(tree.num_infosets)
    assert len(tree.levels) - 2 <= game.spec.max_plies + 1
    assert np.array_equal(tree.utility != 0, (tree.mover == OVER) & (game.utilities(states)[:, 0] != 0))


@pytest.mark.parametrize("health", [1, 2])
def test_discards_as_sets_and_card_by_card_have_the_same_endings(health: int) -> None:
    whole, picked = (tree_of(mini(health, discards)) for discards in ("sets", "cards"))
    found = []
    for tree in (whole, picked):
        over = tree.mover == OVER
        ends = np.column_stack([chances(tree)[over], tree.utility[over]]).round(12)
        found.append(ends[np.lexsort(ends.T)])
    assert np.array_equal(*found)
    assert picked.num_nodes > whole.num_nodes


def test_chance_deals_what_the_rules_deal() -> None:
    game, batch = mini(1), 40_000
    tree = tree_of(game)
    assert tree.mover[0] == CHANCE
    first = slice(tree.levels[1], tree.levels[2])
    number = {s.tobytes(): k for k, s in enumerate(states_of(game, tree)[first])}
    drawn = np.bincount([number[s.tobytes()] for s in game.reset(batch, np.random.default_rng(6))], minlength=42)
    error = np.sqrt(tree.probability[first] / batch)
    assert (np.abs(drawn / batch - tree.probability[first]) < 5 * error).all()


def test_deals_and_moves_of_one_batch_are_those_of_each_alone() -> None:
    game = mini(1)
    states = game.initial(4)
    part = states[1:3]
    game.apply(part, np.array([5, 30]))
    states[1:3] = part
    choices = np.array([7, *game.legal(states[1:3]).argmax(axis=1), 41])
    alone = [states[b : b + 1].copy() for b in range(4)]
    for state, choice in zip(alone, choices, strict=True):
        game.apply(state, np.array([choice]))
    game.apply(states, choices)
    assert np.array_equal(states, np.concatenate(alone))
    assert states["ply"].tolist() == [0, 1, 1, 0]
    assert states["discarder"].tolist() == [0, 0, 1, 1], "the second half of the deals is begun by player 1"


def test_a_game_with_too_many_deals_has_no_tree() -> None:
    with pytest.raises(ValueError, match=r"^cheat has too many deals[^\n]+$"):
        compile_tree(Cheat())
    with pytest.raises(ValueError, match=r"^solvers need two players [^\n]+, and cheat has 3 players: "):
        compile_tree(Cheat(players=3))
    with pytest.raises(TreeTooLarge, match=r"^mini-cheat has more nodes than the 100,000 allowed"):
        compile_tree(mini(6), 100_000)
