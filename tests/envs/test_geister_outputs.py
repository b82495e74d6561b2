"""Which network outputs stand for a move, against the rules' own states."""

import numpy as np
import pytest

from envs.geister import Geister, observation, rules
from tests.envs.geister_positions import random_positions

SHIFTS = {rules.NORTH: (0, -1), rules.EAST: (1, 0), rules.WEST: (-1, 0), rules.SOUTH: (0, 1)}


def near(square: int, squares: set[int], size: int) -> bool:
    y, x = divmod(square, size)
    return any(
        (v, u) in {divmod(s, size) for s in squares} for v, u in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1))
    )


def kind_of(state: np.void, action: int, size: int, colours_known: bool) -> int:
    """The kind of a legal move by the definition of `observation.KINDS`."""
    me, (ghost, direction) = int(state["to_move"]), divmod(action, 4)
    square, last = int(state["square"][me, ghost]), size * size - 1
    x, y = square % size + SHIFTS[direction][0], square // size + SHIFTS[direction][1]
    if not (0 <= x < size and 0 <= y < size):
        return 48
    enemies = {last - int(s): g for g, s in enumerate(state["square"][1 - me]) if s >= 0}
    target = y * size + x
    taken = 0
    if target in enemies:
        taken = 1 + (int(state["red"][1 - me]) >> enemies[target] & 1 if colours_known else 0)
    red = int(state["red"][me]) >> ghost & 1
    after, before = near(target, set(enemies), size), near(square, set(enemies), size)
    return 24 * red + 8 * taken + 4 * after + 2 * before + (target in (0, size - 1))


@pytest.mark.parametrize("forced_escape", [True, False])
@pytest.mark.parametrize("size", [4, 6])
def test_moves_share_outputs_by_kind(size, forced_escape):
    game = Geister(size=size, forced_escape=forced_escape)
    states = np.concatenate([random_positions(game, 150, plies, seed=plies) for plies in (8, 40, 90)])
    states = states[~game.finished(states)]
    mover = game.to_move(states)
    own, other = game.observe(states, mover), game.observe(states, (1 - mover).astype(np.int8))
    legal, met = game.legal(states), set()
    for seen, known in ((None, False), (other, True)):
        slots = game.output_slots(own, "move", seen)
        assert slots.max() < game.spec.slots["move"] == 4 * size * size + observation.KINDS
        for b, action in np.argwhere(legal):
            square = int(states[b]["square"][mover[b], action // 4])
            kind = kind_of(states[b], int(action), size, known)
            assert slots[b, action].tolist() == [4 * square + action % 4, 4 * size * size + kind]
            met.add(kind)
    assert len(met) > (25 if size == 6 else 15)
    assert any(kind % 24 >= 16 for kind in met)
    np.testing.assert_array_equal(slots[:, :, :1], game.output_slots(own, "square"))


@pytest.mark.parametrize("random_setup", [True, False])
@pytest.mark.parametrize("size", [4, 6])
def test_blue_ghosts_come_before_red_ones(size, random_setup):
    game = Geister(size=size, random_setup=random_setup)
    ghosts = rules.ghost_count(size)
    states = np.concatenate([random_positions(game, 100, plies, seed=plies) for plies in (2, 40)])
    states = states[~game.finished(states)]
    mover = game.to_move(states)
    slots = game.output_slots(game.observe(states, mover), "colour")
    for state, player, row in zip(states, mover, slots, strict=True):
        red = [int(state["red"][player]) >> ghost & 1 for ghost in range(ghosts)]
        order = sorted(range(ghosts), key=lambda ghost: (red[ghost], ghost))
        expected = [4 * order.index(ghost) + direction for ghost in range(ghosts) for direction in range(4)]
        assert row[: 4 * ghosts, 0].tolist() == expected
        assert (row[4 * ghosts :] == -1).all()


def test_layouts_are_chosen_by_outputs_of_their_own():
    game = Geister(random_setup=False)
    packed = game.observe(game.reset(3, np.random.default_rng(0)), np.zeros(3, np.int8))
    assert game.spec.slots["colour"] == 70
    np.testing.assert_array_equal(game.output_slots(packed, "colour")[:, :, 0], np.tile(np.arange(70), (3, 1)))
