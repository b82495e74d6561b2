"""Trees of the small games: the counts of the specification, structure and symmetries."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER, FactoredGame
from envs.goofspiel import Goofspiel
from envs.leduc import Leduc
from envs.oshi_zumo import OshiZumo
from envs.tree import Tree
from tests.envs.small_trees import chances, states_of, tree_of
from tests.envs.stated_games import LEDUC_2B2R, SMALL, History, Position, stated

LARGE: dict[str, FactoredGame] = {
    "goofspiel5": Goofspiel(5),
    "oshi_zumo8_k1": OshiZumo(8, 1),
    "oshi_zumo8_k3": OshiZumo(8, 3),
    "leduc_2b2r": LEDUC_2B2R,
}
ALL = pytest.mark.parametrize("game", [*SMALL.values(), *LARGE.values()], ids=[*SMALL, *LARGE])


@pytest.mark.parametrize(
    ("name", "nodes", "infosets", "most"),
    [
        ("kuhn", 58, 6, 2),
        ("leduc", 9_457, 468, 13),
        ("goofspiel5", 55_731, 4_974, 13),
        ("oshi_zumo8_k1", 15_321, 1_256, 1),
        ("oshi_zumo8_k3", 19_305, 1_580, 1),
        ("leduc_2b2r", 61_336, 3_960, 37),
    ],
)
def test_counts(name: str, nodes: int, infosets: int, most: float) -> None:
    tree = tree_of({**SMALL, **LARGE}[name])
    assert tree.num_nodes == nodes
    assert tree.num_infosets == (infosets, infosets)
    assert tree.max_utility == most
    assert tree.num_slots == len(tree.slot_action) == tree.slots[-1]
    assert tree.bytes == sum(v.nbytes for v in vars(tree).values() if isinstance(v, np.ndarray)) > 40 * nodes
    assert 0 < tree.seconds < 60


def starts_of_round(game: FactoredGame, tree: Tree, number: int) -> NDArray[np.intp]:
    """Decisions at which round `number`, counted from 1, begins, found from public observations alone."""
    code = game.public(states_of(game, tree))
    if isinstance(game, Leduc):
        begins = (code >= game.spec.num_actions) & (code < game.spec.num_actions + game.ranks)  # the board is dealt
    else:
        begins = (code >= 1) & (code <= 3)  # the result of a round is told
    begun = np.where(np.arange(tree.num_nodes) == 0, 1, begins)
    for begin, end in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        begun[begin:end] += begun[tree.parent[begin:end]]
    return np.flatnonzero(begins & (begun == number) & (tree.mover >= 0))


@pytest.mark.parametrize(
    ("name", "number", "public_states", "sequences"),
    [
        ("goofspiel5", 3, 9, 20),
        ("oshi_zumo8_k1", 4, 17, 35),
        ("oshi_zumo8_k3", 4, 27, 35),
        ("leduc_2b2r", 2, 87, 3),
    ],
)
def test_public_states_at_the_depth_limit(name: str, number: int, public_states: int, sequences: int) -> None:
    game, tree = LARGE[name], tree_of(LARGE[name])
    at = starts_of_round(game, tree, number)
    found = np.unique(tree.public[at])
    assert len(found) == public_states
    assert np.array_equal(np.flatnonzero(np.isin(tree.public, found)), at)  # they hold no other nodes
    assert (tree.mover[at] == 0).all()
    states = states_of(game, tree)[at]
    for player in (0, 1):  # how wide a range is: private actions and observations
        private = states["cards"][:, [player]] if isinstance(game, Leduc) else states["bids"][:, player, : number - 1]
        assert len(np.unique(private, axis=0)) == sequences


@ALL
def test_nodes_are_laid_out_as_said(game: FactoredGame) -> None:
    tree = tree_of(game)
    nodes = np.arange(tree.num_nodes)
    assert tree.parent[0] == tree.action[0] == -1
    assert (tree.parent[1:] < nodes[1:]).all()
    assert (tree.children[0], tree.children[-1]) == (1, tree.num_nodes)
    counts = np.diff(tree.children)
    assert np.array_equal(tree.parent[1:], np.repeat(nodes, counts))  # children are neighbours
    assert np.array_equal(counts == 0, tree.mover == OVER)
    assert (tree.levels[0], tree.levels[1], tree.levels[-1]) == (0, 1, tree.num_nodes)
    for above, begin, end in zip(tree.levels, tree.levels[1:], tree.levels[2:], strict=False):
        assert begin < end
        assert (tree.parent[begin:end] >= above).all()
        assert (tree.parent[begin:end] < begin).all()
    by_chance = np.concatenate([[False], tree.mover[tree.parent[1:]] == CHANCE])
    assert (tree.probability[~by_chance] == 1).all()
    assert (tree.probability > 0).all()
    sums = np.bincount(tree.parent[by_chance], tree.probability[by_chance], tree.num_nodes)
    assert np.allclose(sums[tree.mover == CHANCE], 1, rtol=0, atol=1e-14)
    assert (tree.utility[tree.mover != OVER] == 0).all()
    assert chances(tree)[tree.mover == OVER].min() > 0


@ALL
def test_infosets_and_slots_fit_the_nodes(game: FactoredGame) -> None:
    tree = tree_of(game)
    at = np.flatnonzero(tree.mover >= 0)
    assert (tree.infoset[tree.mover < 0] == -1).all()
    assert np.array_equal(tree.player[tree.infoset[at]], tree.mover[at])
    assert (np.diff(tree.player) >= 0).all()
    for player in (0, 1):  # numbered as they are first met
        _, first = np.unique(tree.infoset[tree.mover == player], return_index=True)
        assert (np.diff(first) > 0).all()
    slot = tree.node_slots()
    after = np.flatnonzero(slot >= 0)
    assert np.array_equal(slot >= 0, np.concatenate([[False], tree.mover[tree.parent[1:]] >= 0]))
    assert np.array_equal(tree.slot_action[slot[after]], tree.action[after])
    assert np.array_equal(tree.slot_infoset[slot[after]], tree.infoset[tree.parent[after]])
    counts = np.diff(tree.children)[at]
    assert np.array_equal(counts, np.diff(tree.slots)[tree.infoset[at]])
    legal = game.legal(states_of(game, tree)[at])
    assert np.array_equal(legal, tree.legal()[tree.infoset[at]])
    policy = np.random.default_rng(0).random(tree.num_slots)
    assert np.array_equal(tree.to_slots(tree.to_table(policy)), policy)
    assert (tree.to_table(policy)[~tree.legal()] == 0).all()
    assert np.allclose(tree.to_table(tree.uniform()).sum(1), 1)
    assert len(np.unique(np.round(tree.uniform() * np.diff(tree.slots)[tree.slot_infoset], 12))) == 1


@ALL
def test_players_remember(game: FactoredGame) -> None:
    """Histories grow from histories, the slot before an infoset is the player's last own action at each of its nodes,
    and public states are what the histories of both have in common."""
    tree = tree_of(game)
    slot, last = tree.node_slots().tolist(), [(-1, -1)]
    mover, parent, infoset = tree.mover.tolist(), tree.parent.tolist(), tree.infoset.tolist()
    for node in range(1, tree.num_nodes):
        above, by = last[parent[node]], mover[parent[node]]
        last.append((slot[node], above[1]) if by == 0 else (above[0], slot[node]) if by == 1 else above)
    for node in range(tree.num_nodes):
        if mover[node] >= 0:
            assert tree.parent_slot[infoset[node]] == last[node][mover[node]]
    assert (tree.parent_slot < tree.slots[:-1]).all()
    nodes = np.arange(1, tree.num_nodes)

    def follows(of: NDArray[Any], what: NDArray[Any]) -> bool:
        """Whether nodes that agree in the second array agree in the first."""
        return len(np.unique(np.stack([of, what]), axis=1).T) == len(np.unique(of))

    depth = np.repeat(np.arange(len(tree.levels) - 1), np.diff(tree.levels))
    assert follows(tree.public, depth)
    assert follows(tree.public, tree.mover)  # in these games all players always know who moves
    assert follows(tree.public[nodes], tree.public[tree.parent[nodes]])
    for player in (0, 1):
        own = tree.history[:, player]
        assert follows(own, tree.public)
        assert follows(own[nodes], own[tree.parent[nodes]])
        at = tree.mover == player
        assert follows(own[at], tree.infoset[at])
        assert follows(tree.infoset[at], own[at])
    assert not np.intersect1d(tree.history[:, 0], tree.history[:, 1]).size
    assert tree.num_public_states == len(np.unique(tree.public))


def enumerate_in_python(game: FactoredGame) -> list[tuple[History, Position, int, float]]:
    """History, position, parent and probability of every node, level by level."""
    look = stated(game)
    nodes: list[tuple[History, Position, int, float]] = [((), look(()), -1, 1.0)]
    for number, (history, position, _, _) in enumerate(nodes):  # grows while it is walked
        for choice, probability in position.choices.items():
            longer = (*history, choice)
            nodes.append((longer, look(longer), number, probability))
    return nodes


@pytest.mark.parametrize("game", SMALL.values(), ids=SMALL.keys())
def test_node_by_node_as_enumerated_in_python(game: FactoredGame) -> None:
    tree, nodes = tree_of(game), enumerate_in_python(game)
    assert tree.num_nodes == len(nodes)
    infosets: dict[Any, int] = {}
    for n, (history, position, parent, probability) in enumerate(nodes):
        assert tree.parent[n] == parent
        assert tree.action[n] == (history[-1] if history else -1)
        assert tree.mover[n] == position.mover
        assert tree.probability[n] == pytest.approx(probability, abs=1e-15)
        assert tree.utility[n] == position.won
        if position.mover >= 0:
            known = position.mover, position.known[position.mover]
            assert infosets.setdefault(known, int(tree.infoset[n])) == tree.infoset[n]
    assert len(set(infosets.values())) == len(infosets) == sum(tree.num_infosets)


def paths(tree: Tree) -> list[History]:
    """The history of each node."""
    found: list[History] = [()]
    for node in range(1, tree.num_nodes):
        found.append((*found[tree.parent[node]], int(tree.action[node])))
    return found


def uniform_values(tree: Tree) -> NDArray[np.float64]:
    """Value of each node to player 0 if both play uniformly."""
    policy, slot, values = tree.uniform(), tree.node_slots(), tree.utility.copy()
    weight = np.where(slot >= 0, policy[slot], tree.probability)
    for begin, end in reversed(list(pairwise(tree.levels[1:]))):
        np.add.at(values, tree.parent[begin:end], weight[begin:end] * values[begin:end])
    return values


@pytest.mark.parametrize("ranks", [(0,), (1,), (0, 1, 2)])
def test_suits_are_alike_in_leduc(ranks: tuple[int, ...]) -> None:
    """With the suits of some ranks exchanged the tree is the same one."""
    tree = tree_of(Leduc())
    listed = paths(tree)
    number = {path: n for n, path in enumerate(listed)}
    values = uniform_values(tree)

    def exchanged(card: int) -> int:
        return card ^ 1 if card // 2 in ranks else card

    infosets: dict[int, int] = {}
    for n, path in enumerate(listed):
        dealt = [k < 2 or tree.mover[number[path[:k]]] == CHANCE for k in range(len(path))]
        image = number[tuple(exchanged(c) if card else c for c, card in zip(path, dealt, strict=True))]
        assert (image == n) == (not any(d and c // 2 in ranks for c, d in zip(path, dealt, strict=True)))
        for field in (tree.mover, tree.utility, tree.probability):
            assert field[image] == field[n]
        assert values[image] == pytest.approx(values[n], abs=1e-12)
        if tree.mover[n] >= 0:
            assert infosets.setdefault(int(tree.infoset[n]), int(tree.infoset[image])) == tree.infoset[image]


def test_ranks_alone_make_the_same_leduc() -> None:
    """Chance may deal cards or ranks: value and probability of each pair of ranks are the same."""
    by_card, by_rank = tree_of(Leduc()), tree_of(replace(Leduc(), deal="ranks"))
    assert by_rank.num_infosets == (144, 144)
    cards, ranks = uniform_values(by_card), uniform_values(by_rank)
    assert cards[0] == pytest.approx(ranks[0], abs=1e-12)
    deals = [n for n, path in enumerate(paths(by_card)) if len(path) == 2]
    reach = chances(by_card)
    summed = np.zeros((2, 9))
    for n, (first, second) in zip(deals, (path for path in paths(by_card) if len(path) == 2), strict=True):
        summed[:, first // 2 * 3 + second // 2] += reach[n], reach[n] * cards[n]
    children = slice(by_rank.children[0], by_rank.children[1])
    weight = by_rank.probability[children]
    assert np.allclose(summed[0, by_rank.action[children]], weight, rtol=0, atol=1e-14)
    assert np.allclose(summed[1, by_rank.action[children]], weight * ranks[children], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["goofspiel-3-random", "goofspiel-4-ascending", "oshi-zumo-5", "oshi-zumo-7-min-2"])
def test_players_are_alike_where_both_bid(name: str) -> None:
    """With the bids of each round exchanged the other one wins, and neither has an advantage."""
    tree = tree_of(SMALL[name])
    width = 3 if name.endswith("random") else 2
    listed = paths(tree)
    number = {path: n for n, path in enumerate(listed)}
    values, met = uniform_values(tree), 0
    for n, path in enumerate(listed):
        if len(path) % width:
            continue
        rounds = [path[k : k + width] for k in range(0, len(path), width)]
        image = number[tuple(c for r in rounds for c in (*r[:-2], r[-1], r[-2]))]
        assert tree.mover[image] == tree.mover[n]
        assert tree.utility[image] == -tree.utility[n]
        assert values[image] == pytest.approx(-values[n], abs=1e-12)
        met += 1
    assert met > 50
    assert values[0] == pytest.approx(0, abs=1e-12)
