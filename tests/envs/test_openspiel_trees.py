"""Our trees beside OpenSpiel's: the same games where they are the same, and policies worth the same in both."""

import time
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel
from open_spiel.python.algorithms import exploitability as spiel_exploitability
from open_spiel.python.policy import pyspiel_policy_to_python_policy

from envs.chanceless import ChanceDrawn
from envs.extensive import CHANCE, OVER, FactoredGame
from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.openspiel import (
    OpenSpielGame,
    correspond,
    from_openspiel_policy,
    load_openspiel,
    openspiel_tree,
    to_efg,
    to_openspiel_policy,
)
from envs.openspiel.loading import mover_of, moves_of
from envs.openspiel.tree import estimate_openspiel
from envs.oshi_zumo import OshiZumo
from envs.tree import ImperfectRecall, Tree, TreeTooLarge, compile_tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import SequenceForm, sequence_form
from tests.envs.small_trees import tree_of

LEDUC_2B2R = Leduc(sizes="2,4/4,8", raises=3, deal="ranks", name="leduc_2b2r")


def goofspiel(cards: int, order: str = "descending") -> str:
    return f"goofspiel(imp_info=True,num_cards={cards},points_order={order},returns_type=point_difference)"


PAIRS: dict[str, tuple[FactoredGame, float]] = {
    "kuhn_poker": (Kuhn(), 1.0),
    "leduc_poker": (Leduc(), 1.0),
    goofspiel(4): (Goofspiel(4), 0.5),
    goofspiel(4, "ascending"): (Goofspiel(4, prizes="ascending"), 0.5),
    goofspiel(3, "random"): (Goofspiel(3, prizes="random"), 0.5),
}
"""Games of OpenSpiel, ours, and the factor of its returns to ours."""


@cache
def theirs(text: str) -> Tree:
    return openspiel_tree(text)


@cache
def form_of(game: FactoredGame) -> SequenceForm:
    return sequence_form(tree_of(game))


def random_policy(tree: Tree, seed: int) -> np.ndarray:
    """Exponential weights, a fifth of them 0 unless they are all that an infoset has."""
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=tree.num_slots)
    sparse = np.where(rng.random(tree.num_slots) < 0.2, 0.0, weight)
    left = np.add.reduceat(sparse, tree.slots[:-1])[tree.slot_infoset]
    weight = np.where(left > 0, sparse, weight)
    return weight / np.add.reduceat(weight, tree.slots[:-1])[tree.slot_infoset]


def histories(tree: Tree) -> dict[tuple[int, ...], int]:
    """Node by its history of actions of chance and players."""
    paths: list[tuple[int, ...]] = [()]
    for node in range(1, tree.num_nodes):
        paths.append((*paths[tree.parent[node]], int(tree.action[node])))
    return {path: node for node, path in enumerate(paths)}


@pytest.mark.parametrize("text", ["kuhn_poker", "leduc_poker"])
def test_poker_is_the_same_game_node_by_node(text: str) -> None:
    ours, other = tree_of(PAIRS[text][0]), theirs(text)
    for field in ("mover", "parent", "children", "action", "levels", "slots", "slot_action", "player", "parent_slot"):
        assert np.array_equal(getattr(ours, field), getattr(other, field)), field
    assert np.array_equal(ours.infoset, other.infoset)
    assert np.array_equal(ours.utility, other.utility)
    assert np.abs(ours.probability - other.probability).max() < 1e-15
    assert (other.history, other.public, other.num_public_states) == (None, None, None)


@pytest.mark.parametrize("text", [text for text in PAIRS if text.startswith("goofspiel")])
def test_goofspiel_is_the_same_but_for_the_last_card_and_half_the_return(text: str) -> None:
    """OpenSpiel plays the last card by itself, and the difference of points there is to the mean of both players."""
    ours, other = tree_of(PAIRS[text][0]), theirs(text)
    nodes = histories(ours)
    pairs: dict[int, int] = {}
    for path, there in histories(other).items():
        here = nodes[path]
        if other.mover[there] != OVER:
            assert ours.mover[here] == other.mover[there]
            count = np.diff(ours.children)[here]
            assert count == np.diff(other.children)[there]
            children = slice(ours.children[here], ours.children[here] + count)
            assert np.allclose(
                ours.probability[children], other.probability[other.children[there] :][:count], atol=1e-15
            )
        if other.mover[there] >= 0:
            assert pairs.setdefault(int(other.infoset[there]), int(ours.infoset[here])) == ours.infoset[here]
        if other.mover[there] == OVER:
            steps = 0
            while ours.mover[here] != OVER:
                assert ours.children[here + 1] - ours.children[here] == 1
                here, steps = int(ours.children[here]), steps + 1
            assert steps == (3 if ours.mover[nodes[path]] == CHANCE else 2)
            assert ours.utility[here] == 2 * other.utility[there]
    assert len(set(pairs.values())) == len(pairs) == len(other.player)


def best_of(state: Any, player: int) -> float:
    """Return of player 0 if `player` alone still has choices, and takes the best."""
    if state.is_terminal():
        return float(state.returns()[0])
    values = [best_of(state.child(action), player) for action in state.legal_actions()]
    assert len(values) == 1 or mover_of(state) == player
    return max(values) if player == 0 else min(values)


@pytest.mark.parametrize(("coins", "size"), [(4, 1), (5, 1), (5, 2)])
def test_oshi_zumo_differs_in_the_end_and_in_what_is_seen(coins: int, size: int) -> None:
    """OpenSpiel shows both bids, and continues until both players are broke: the other may bid more than he need."""
    text, ours = f"oshi_zumo(coins={coins},size={size},min_bid=1)", tree_of(OshiZumo(coins, size=size))
    open_nodes = [(0, load_openspiel(text).new_initial_state())]
    told: dict[str, int] = {}
    longer = 0
    while open_nodes:
        node, state = open_nodes.pop()
        if ours.mover[node] == OVER:
            rich = mover_of(state)
            while rich >= 0 and len(state.legal_actions()) == 1 and state.legal_actions()[0] == 0:
                state = state.child(0)  # who is broke bids 0
                rich = mover_of(state)
            longer += rich >= 0
            assert best_of(state, max(rich, 0)) == ours.utility[node]
            continue
        assert mover_of(state) == ours.mover[node]
        children = range(ours.children[node], ours.children[node + 1])
        assert ours.action[children].tolist() == [action for action, _ in moves_of(state)]
        label = state.information_state_string(mover_of(state))
        assert told.setdefault(label, int(ours.infoset[node])) == ours.infoset[node]
        open_nodes += [(child, state.child(int(ours.action[child]))) for child in children]
    assert longer > 0
    assert set(told.values()) == set(range(len(ours.player)))
    assert len(told) > len(ours.player)
    with pytest.raises(ValueError, match=r"oshi_zumo is another game in OpenSpiel: after \[\d, \d\] player"):
        correspond(ours, text)


@pytest.mark.parametrize("text", PAIRS)
def test_the_same_policy_has_the_same_nash_conv(text: str) -> None:
    ours, scale = PAIRS[text]
    tree, game = tree_of(ours), load_openspiel(text)
    link = correspond(tree, text)
    assert (link.scale, link.same) == (scale, True)
    assert len(link.infosets) == len(theirs(text).player)
    for seed in range(4):
        policy = random_policy(tree, seed)
        result = evaluate_policy(form_of(ours), policy)
        table = to_openspiel_policy(tree, policy, link)
        assert abs(pyspiel.nash_conv(game, table) - scale * result.nash_conv) < 1e-12
        assert abs(pyspiel.exploitability(game, table) - scale * result.exploitability) < 1e-12
        if seed == 0 or tree.num_nodes < 100:
            python = spiel_exploitability.nash_conv(game, pyspiel_policy_to_python_policy(game, table))
            assert abs(python - scale * result.nash_conv) < 1e-12
        again = from_openspiel_policy(tree, table, link)
        assert np.abs(again - policy)[np.diff(tree.slots)[tree.slot_infoset] > 1].max() == 0


@pytest.mark.parametrize("text", ["liars_dice(numdice=1,dice_sides=3)", "matrix_rps", "blotto(coins=4)"])
def test_games_that_only_openspiel_has(text: str) -> None:
    tree, game = openspiel_tree(text), load_openspiel(text)
    form = sequence_form(tree)
    for seed in range(3):
        policy = random_policy(tree, seed)
        expected = evaluate_policy(form, policy).nash_conv
        assert abs(pyspiel.nash_conv(game, to_openspiel_policy(tree, policy, game)) - expected) < 1e-12


def test_a_policy_of_openspiel_is_worth_the_same_here() -> None:
    game = load_openspiel("leduc_poker")
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(10):
        solver.evaluate_and_update_policy()
    average = solver.tabular_average_policy()
    ours = from_openspiel_policy(tree_of(Leduc()), average, game)
    result = evaluate_policy(form_of(Leduc()), ours)
    assert abs(pyspiel.nash_conv(game, average) - result.nash_conv) < 1e-12
    assert 0.3 < result.exploitability < 0.9


@pytest.mark.parametrize("ours", [Kuhn(), Kuhn(cards=5), Goofspiel(4), OshiZumo(8), Leduc(raises=1), LEDUC_2B2R])
def test_trees_are_played_by_openspiel_in_gambits_format(ours: FactoredGame) -> None:
    tree, text = tree_of(ours), to_efg(tree_of(ours))
    game = load_openspiel(text)
    link = correspond(tree, game)
    assert (link.scale, link.same, len(link.infosets)) == (1.0, True, len(tree.player))
    back = openspiel_tree(text, observations=False)
    assert back.observed.shape == (len(tree.player), 0)
    assert (back.num_nodes, back.num_infosets) == (tree.num_nodes, tree.num_infosets)
    assert np.array_equal(back.probability, tree.probability)
    assert np.array_equal(back.utility, tree.utility)
    assert np.array_equal(back.infoset, tree.infoset)
    policy = random_policy(tree, 1)
    result = evaluate_policy(form_of(ours), policy)
    assert abs(pyspiel.nash_conv(game, to_openspiel_policy(tree, policy, link)) - result.nash_conv) < 1e-12


def test_openspiel_solves_our_tree() -> None:
    """Kuhn poker is worth -1/18 to player 0, also by OpenSpiel's CFR+ on our file."""
    tree = tree_of(Kuhn())
    solver = pyspiel.CFRPlusSolver(load_openspiel(to_efg(tree)))
    for _ in range(1000):
        solver.evaluate_and_update_policy()
    policy = from_openspiel_policy(tree, solver.tabular_average_policy(), to_efg(tree))
    result = evaluate_policy(form_of(Kuhn()), policy)
    assert abs(result.value + 1 / 18) < 1e-3
    assert result.exploitability < 1e-3


def test_networks_see_the_tree_as_the_game() -> None:
    game, tree = OpenSpielGame("leduc_poker"), theirs("leduc_poker")
    seen = game.encode(tree.observed)
    assert seen.shape == (936, 30)
    assert np.array_equal(seen[:, :2], np.eye(2)[tree.player])
    assert len(np.unique(seen, axis=0)) == 936


def test_what_does_not_fit_is_said() -> None:
    kuhn = tree_of(Kuhn())
    policy = kuhn.uniform()
    with pytest.raises(ValueError, match="kuhn is another game in OpenSpiel: after"):
        correspond(kuhn, "leduc_poker")
    with pytest.raises(ValueError, match=r"goofspiel is another game in OpenSpiel: after .* player 0 has the return "):
        correspond(tree_of(Goofspiel(4)), goofspiel(4).replace("point_difference", "win_loss"))
    with pytest.raises(ValueError, match=r"a policy on kuhn must have the shape \(24,\), got \(23,\)"):
        to_openspiel_policy(kuhn, policy[1:], "kuhn_poker")
    for wrong in (-1.0, 0.7, np.nan):
        policy[4] = wrong
        with pytest.raises(ValueError, match=r"policy on kuhn must be a distribution .* infoset 2"):
            to_openspiel_policy(kuhn, policy, "kuhn_poker")
    with pytest.raises(TreeTooLarge, match="leduc_poker has more nodes than the 5,000 allowed: choose smaller"):
        openspiel_tree("leduc_poker", most_nodes=5_000)
    with pytest.raises(TreeTooLarge, match="kuhn_poker has more nodes than the 57 allowed"):
        openspiel_tree("kuhn_poker", most_nodes=57)
    assert openspiel_tree("kuhn_poker", most_nodes=58).num_nodes == 58
    for observations in (True, False):
        with pytest.raises(ImperfectRecall):
            openspiel_tree("liars_dice_ir(numdice=1,dice_sides=3)", observations=observations)


def test_a_constant_sum_game_is_shifted_and_keeps_its_value() -> None:
    """Matching pennies in Gambit's format for a prize of 1, which one of the two gets."""
    prizes = "".join(f't "" {k} "" {{ {int(k in (1, 4))} {int(k in (2, 3))} }}\n' for k in (1, 2))
    prizes += 'p "" 2 1 "" { "0" "1" } 0\n'
    prizes += "".join(f't "" {k} "" {{ {int(k in (1, 4))} {int(k in (2, 3))} }}\n' for k in (3, 4))
    text = 'EFG 2 R "prize" { "0" "1" }\np "" 1 1 "" { "0" "1" } 0\np "" 2 1 "" { "0" "1" } 0\n' + prizes
    tree = openspiel_tree(text, observations=False)
    assert (tree.shift, set(tree.utility.tolist())) == (0.5, {0.0, 0.5, -0.5})
    policy = random_policy(tree, 1)
    found = evaluate_policy(sequence_form(tree), policy)
    theirs = to_openspiel_policy(tree, policy, text)
    game = pyspiel.load_efg_game(text)
    values = pyspiel.expected_returns(game.new_initial_state(), theirs, -1, False)
    assert found.value == pytest.approx(values[0])
    gains = [
        pyspiel.TabularBestResponse(game, player, theirs).value_from_state(game.new_initial_state())
        for player in (0, 1)
    ]
    assert found.best_responses == pytest.approx(tuple(gains))
    adapted = OpenSpielGame(text)
    states = adapted.reset(8, np.random.default_rng(1))
    assert (adapted.returns(states) == 0).all()
    for _ in range(2):
        adapted.step(states, np.arange(8) % 2, np.random.default_rng(1))
    assert (adapted.returns(states).sum(axis=1) == 1).all()


@pytest.mark.parametrize("text", ["connect_four", "chess"])
def test_a_hopeless_tree_is_refused_before_it_is_begun(text: str) -> None:
    started = time.process_time()
    with pytest.raises(
        TreeTooLarge, match=rf"^{text} has more nodes than the 2,000,000 allowed, some \de\+\d+ or more"
    ):
        openspiel_tree(text)
    assert time.process_time() - started < 5


def test_compile_tree_names_the_function_for_games_of_openspiel() -> None:
    with pytest.raises(ChanceDrawn, match=r"lists its chance events, but [^\n]+ by envs\.openspiel\.openspiel_tree"):
        compile_tree(OpenSpielGame("kuhn_poker"))


def test_the_estimate_has_no_bias() -> None:
    game = load_openspiel("leduc_poker")
    found = np.array([estimate_openspiel(game, np.random.default_rng(seed), np.inf) for seed in range(30)])
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - theirs("leduc_poker").num_nodes) <= 5 * error < found.mean()


def test_tensors_of_a_wide_layer_are_never_all_in_memory() -> None:
    """A deal of 1,000 cards in Gambit's format, whose tensors are as long as there are infosets: 4 MB in all."""
    cards = 1000
    deals = " ".join(f'"{card}" 1/{cards}' for card in range(cards))
    hands = "".join(
        f'p "" 1 {card + 1} "" {{ "0" "1" }} 0\nt "" {2 * card + 1} "" {{ 1 -1 }}\nt "" {2 * card + 2} "" {{ -1 1 }}\n'
        for card in range(cards)
    )
    text = f'EFG 2 R "deal" {{ "0" "1" }}\nc "" 1 "" {{ {deals} }} 0\n{hands}'
    game = OpenSpielGame(text, compact=True)
    tracemalloc.start()
    tree = openspiel_tree(game)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(tree.observed) == cards
    assert tree.tells_apart
    assert peak < 3e6
