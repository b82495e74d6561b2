"""Games of placement beside OpenSpiel's: the same games move for move, with the same infosets and values."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspiel")

from open_spiel.python.algorithms.exploitability import nash_conv
from open_spiel.python.policy import UniformRandomPolicy

from envs.dark_hex import DarkHex
from envs.placement.game import PlacementGame
from tests.envs.beside_openspiel import compare
from tests.envs.placement.boards import FULL, ON_SMALL, SMALL, infoset_string, theirs
from tests.envs.small_trees import states_of, tree_of


@pytest.mark.parametrize("name", [*FULL, *SMALL])
def test_random_games_are_those_of_openspiel(name: str) -> None:
    game, rng = (FULL | SMALL)[name], np.random.default_rng(len(name))
    other, ends, visits = theirs(game), set(), 0
    packed: dict[tuple[int, str], bytes] = {}
    strings: dict[bytes, tuple[int, str]] = {}
    assert game.spec.num_actions == other.num_distinct_actions()
    for _ in range(300):
        spiel, states = other.new_initial_state(), game.initial(1)
        while legal := compare(game, states, spiel):
            for player in (0, 1):  # neither may ever come with two of the other
                label = player, infoset_string(spiel, player)
                seen = game.observe(states, np.array([player], np.int8))[0].tobytes()
                assert packed.setdefault(label, seen) == seen
                assert strings.setdefault(seen, label) == label
                visits += 1
            action = int(rng.choice(legal[: 1 + rng.integers(len(legal))]))
            game.step(states, np.array([action]), rng)
            spiel.apply_action(action)
        ends.add(spiel.returns()[0])
    assert ends == ({1.0, -1.0} if isinstance(game, DarkHex) else {1.0, 0.0, -1.0})
    assert visits > len(packed)


@pytest.mark.parametrize("name", ["dark_hex-2x2", "dark_hex-2x2-abrupt", "dark_hex-2x3"])
def test_infosets_of_the_tree_are_those_of_openspiel(name: str) -> None:
    """Two histories share an infoset of ours if and only if the player to move has the same string in OpenSpiel."""
    game = SMALL[name]
    tree = tree_of(game)
    spiel: dict[int, Any] = {0: theirs(game).new_initial_state()}
    labels: dict[int, tuple[int, str]] = {}
    for node in range(tree.num_nodes):
        if node:
            spiel[node] = spiel[int(tree.parent[node])].child(int(tree.action[node]))
        if tree.mover[node] >= 0:
            player = int(tree.mover[node])
            label = player, infoset_string(spiel[node], player)
            assert labels.setdefault(int(tree.infoset[node]), label) == label
        else:
            assert spiel[node].is_terminal()
    assert len(set(labels.values())) == len(labels) == sum(tree.num_infosets)


@ON_SMALL
def test_infosets_of_the_tree_are_the_packed_infostates(game: PlacementGame) -> None:
    tree = tree_of(game)
    at = np.flatnonzero(tree.mover >= 0)
    packed = game.observe(states_of(game, tree)[at], tree.mover[at])
    assert np.array_equal(packed, tree.observed[tree.infoset[at]])
    assert len({row.tobytes() for row in tree.observed}) == len(tree.observed) == sum(tree.num_infosets)
    assert len({row.tobytes() for row in game.encode(tree.observed)}) == len(tree.observed)


@pytest.mark.parametrize("name", ["dark_hex-2x2", "dark_hex-2x2-abrupt", "dark_hex-2x3"])
def test_uniform_policy_is_worth_what_openspiel_says(name: str) -> None:
    game = SMALL[name]
    legal = [game.legal(game.infosets(player, 0, game.num_infosets(player))) for player in (0, 1)]
    first, second = ((each / each.sum(1, keepdims=True)).astype(np.float32) for each in legal)
    value, *responses = game.evaluate((first, second))
    other = theirs(game)
    assert sum(responses) == pytest.approx(nash_conv(other, UniformRandomPolicy(other)), abs=1e-6)  # float32
    if name == "dark_hex-2x3":
        assert (value, *responses) == pytest.approx((0.6, 1.0, -0.25), abs=1e-6)
