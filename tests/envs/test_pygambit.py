"""Games that we write are read by Gambit itself, with the same values and equilibria, and its files are read here."""

import io
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspiel")
pytest.importorskip("pygambit")

import pygambit as gambit
import pyspiel

from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.openspiel import openspiel_tree, to_efg
from envs.openspiel.efg import chances_of
from envs.oshi_zumo import OshiZumo
from envs.tree import Tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.players_form import PlayersEvaluation, evaluate_form, exact_form
from learners.cfr.sequence_form import sequence_form
from tests.envs.small_trees import tree_of

GAMES = {
    "kuhn": Kuhn(),
    "kuhn5": Kuhn(cards=5),
    "goofspiel3": Goofspiel(3),
    "goofspiel4": Goofspiel(4),
    "oshi_zumo": OshiZumo(6),
    "leduc_of_one_raise": Leduc(raises=1),
    "kuhn3": "kuhn_poker(players=3)",
    "leduc": "leduc_poker",
    "hanabi": "tiny_hanabi",
    "auction": "first_sealed_auction(players=3,max_value=3)",
    "goofspiel_for_3": "goofspiel(players=3,num_cards=3,imp_info=true)",
}
SOLVED = ["kuhn", "kuhn5", "goofspiel3"]
"""Games that Gambit solves in less than a second, in fractions."""
CATALOGUE = Path(gambit.__file__).parent / "catalog_data"
PUBLISHED = {str(file.relative_to(CATALOGUE).with_suffix("")): file for file in sorted(CATALOGUE.rglob("*.efg"))}
"""Games of books and papers that Gambit brings along."""
REFUSED = {
    "books/shohamleytonbrown2008/fig5_12": "a player forgets",
    "books/vonstengel2022/fig10.7": "a player forgets",
    "journals/geb/wichardt2008": "a player forgets",
    "journals/geb/gilboa1997/fig1": "has 1 player here",
    "journals/geb/gilboa1997/fig2": "has 1 player here",
}


def general(text: str) -> Tree:
    return openspiel_tree(text, general=True, observations=False)


def load(name: str) -> Tree:
    game = GAMES[name]
    return general(game) if isinstance(game, str) else tree_of(game)


def read(text: str) -> Any:
    return gambit.read_efg(io.StringIO(text))


def order(tree: Tree) -> list[list[int]]:
    """Returns the infosets of each player as Gambit lists them: depth-first, where they come first."""
    found: list[dict[int, None]] = [{} for _ in range(tree.num_players)]
    open_nodes = [0]
    while open_nodes:
        node = open_nodes.pop()
        open_nodes.extend(reversed(range(tree.children[node], tree.children[node + 1])))
        if tree.mover[node] >= 0:
            found[tree.mover[node]][int(tree.infoset[node])] = None
    return [list(each) for each in found]


def slots_of(tree: Tree, infoset: int) -> slice:
    return slice(tree.slots[infoset], tree.slots[infoset + 1])


def to_gambit(game: Any, tree: Tree, policy: np.ndarray) -> Any:
    """Returns a policy as a profile of Gambit."""
    chances = [[policy[slots_of(tree, infoset)].tolist() for infoset in each] for each in order(tree)]
    return game.mixed_behavior_profile(chances, rational=False)


def from_gambit(game: Any, tree: Tree, profile: Any) -> np.ndarray:
    """Returns a profile of Gambit as a policy; its programs may leave chances that do not sum to 1 where none leads."""
    policy = np.zeros(tree.num_slots)
    for player, infosets in zip(game.players, order(tree), strict=True):
        for infoset, (_, action) in zip(infosets, profile[player], strict=True):
            chances, slots = dict(action), slots_of(tree, infoset)
            weights = np.array([float(chances[str(each)]) for each in tree.slot_action[slots]])
            policy[slots] = weights / weights.sum()
    return policy


def random_policy(tree: Tree, seed: int) -> np.ndarray:
    weight = np.random.default_rng(seed).exponential(size=tree.num_slots)
    return weight / np.add.reduceat(weight, tree.slots[:-1])[tree.slot_infoset]


def same(game: Any, tree: Tree, policy: np.ndarray) -> None:
    """Compares infosets, and the values and the largest gain of a policy."""
    assert tuple(len(game.get_infosets(player)) for player in game.players) == tree.num_infosets
    profile, found = to_gambit(game, tree, policy), evaluate_form(exact_form(tree), policy)
    values = found.values if isinstance(found, PlayersEvaluation) else (found.value, 2 * tree.shift - found.value)
    assert [payoff for _, payoff in profile.payoffs] == pytest.approx(values, abs=1e-12)
    assert profile.max_regret() == pytest.approx(max(found.gains), abs=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_gambit_reads_what_we_write_and_finds_the_same_values(name: str) -> None:
    tree = load(name)
    same(read(to_efg(tree)), tree, random_policy(tree, 1))


@pytest.mark.parametrize("name", SOLVED)
def test_an_equilibrium_by_gambit_is_one_here(name: str) -> None:
    tree = load(name)
    game, form = read(to_efg(tree)), sequence_form(tree)
    theirs = gambit.nash.lp_solve(game).equilibrium
    assert evaluate_policy(form, from_gambit(game, tree, theirs)).exploitability < 1e-9
    assert float(next(payoff for _, payoff in theirs.payoffs)) == pytest.approx(
        solve_linear_program(form).value - tree.shift, abs=1e-9
    )


@pytest.mark.parametrize("name", [*SOLVED, "goofspiel4", "oshi_zumo", "leduc_of_one_raise"])
def test_our_equilibrium_is_one_by_gambit(name: str) -> None:
    tree = load(name)
    equilibrium = solve_linear_program(sequence_form(tree))
    assert to_gambit(read(to_efg(tree)), tree, equilibrium.policy).max_regret() < 1e-9


@pytest.mark.parametrize("name", GAMES)
def test_we_read_what_gambit_writes(name: str) -> None:
    tree = load(name)
    game = read(to_efg(tree))
    back = general(game.to_efg())
    assert back.num_nodes == tree.num_nodes
    same(game, back, random_policy(back, 2))


@pytest.mark.parametrize("name", sorted(PUBLISHED.keys() - REFUSED.keys()))
def test_published_games_are_the_same_here(name: str) -> None:
    game = gambit.read_efg(str(PUBLISHED[name]))
    tree = general(PUBLISHED[name].read_text())
    for seed in range(3):
        same(game, tree, random_policy(tree, seed))


@pytest.mark.parametrize("name", REFUSED)
def test_published_games_that_do_not_fit_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=REFUSED[name]):
        general(PUBLISHED[name].read_text())


CHANCES = [
    tuple(np.random.default_rng(5).dirichlet(np.ones(10)).tolist()),
    (0.1 + 0.2, 0.3, 0.4),
    (1e-9, 1 - 1e-9),
    (1e-300, 1.0),
    (1 / np.pi, 1 - 1 / np.pi),
    (float(np.float32(1 / 3)), 1 - float(np.float32(1 / 3))),
    (1 / 3, 1 / 3, 1 / 3 - 1e-10),
]
"""Chances whose simplest fractions do not sum to 1, or hardly."""


@pytest.mark.parametrize("chances", CHANCES)
def test_odd_chances_are_read_by_both(chances: tuple[float, ...]) -> None:
    written = chances_of(chances)
    assert sum(map(Fraction, written)) == 1
    assert [float(Fraction(each)) for each in written] == pytest.approx(chances, abs=2e-10)
    outcomes = " ".join(f'"{i}" {each}' for i, each in enumerate(written))
    ends = "".join(f't "" {i + 1} "" {{ {i} {-i} }}\n' for i in range(len(written)))
    first = 'p "" 1 1 "" { "0" } 0\np "" 2 1 "" { "0" } 0\n'
    text = f'EFG 2 R "chance" {{ "0" "1" }}\n{first}c "" 1 "" {{ {outcomes} }} 0\n{ends}'
    value = sum(i * each for i, each in enumerate(chances))
    assert next(payoff for _, payoff in read(text).mixed_behavior_profile(rational=False).payoffs) == pytest.approx(
        value
    )
    policy = pyspiel.UniformRandomPolicy(pyspiel.load_efg_game(text))
    returns = pyspiel.expected_returns(pyspiel.load_efg_game(text).new_initial_state(), policy, -1, False)
    assert returns[0] == pytest.approx(value, abs=1e-9)


def test_simple_chances_stay_simple() -> None:
    assert chances_of((1 / 3, 1 / 3, 1 / 3)) == ["1/3"] * 3
    assert chances_of((0.25, 0.75)) == ["1/4", "3/4"]


@pytest.mark.parametrize("title", ["a\\", 'say "x"', "two\nlines\r", "Ünïcode"])
def test_any_title_is_read_by_both(title: str) -> None:
    text = to_efg(replace(tree_of(Kuhn()), name=title))
    assert len(list(read(text).players)) == 2
    assert pyspiel.load_efg_game(text).num_players() == 2
