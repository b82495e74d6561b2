"""Geister as a PettingZoo environment; see also `test_pettingzoo`."""

import numpy as np
import pytest

from envs.geister import Geister, raw_env, render
from tests.envs.geister_positions import position, random_positions


def test_only_the_mover_has_actions() -> None:
    made = raw_env()
    made.reset(seed=0)
    assert made.observe("player_0")["action_mask"].sum() == 8
    assert made.observe("player_1")["action_mask"].sum() == 0


def test_text_shows_every_ghost() -> None:
    game = Geister()
    state = position(game, {"A": 0, "Br": 20}, {"Ar": 21, "B": 3}, plies=7)[0]
    lines = render.ansi(state, 6, 100).splitlines()
    assert lines[0] == "ply 7 of 100, player_0 moves"
    assert lines[2].split() == ["0", "Ab", ".", ".", ".", ".", "^^"]
    assert lines[4].split() == ["2", ".", ".", "ar", ".", ".", "."]
    assert lines[5].split() == ["3", ".", ".", "Br", ".", ".", "."]
    assert lines[7].split() == ["5", "vv", ".", "bb", ".", ".", "vv"]
    assert lines[8].split()[-6:] == ["cr", "dr", "er", "fb", "gb", "hb"]
    seen = render.ansi(state, 6, 100, view=1).splitlines()
    assert seen[2].split() == ["0", "^^", ".", ".", "Bb", ".", "^^"][:1] + seen[2].split()[1:]
    assert seen[7].split() == ["5", "vv", ".", ".", ".", ".", "a?"]


@pytest.mark.parametrize("size", [6, 4])
def test_pictures_hide_what_the_viewer_may_not_know(size: int) -> None:
    game = Geister(size)
    for state in random_positions(game, 10, 12 if size == 6 else 3, seed=0):
        shown = render.rgb_array(state, size, 100)
        assert shown.dtype == np.uint8
        assert shown.shape == ((size + 1) * render.CELL + 4, size * render.CELL, 3)
        for view in (0, 1):
            other = state.copy()
            enemy = 1 - view
            on_board = np.flatnonzero(state["square"][enemy] >= 0)
            other["red"][enemy] ^= sum(1 << int(ghost) for ghost in on_board)
            hidden = state["ending"] == 0
            for draw in (render.ansi, render.rgb_array):
                same = np.array_equal(draw(state, size, 100, view), draw(other, size, 100, view))
                assert same == hidden
                assert not np.array_equal(draw(state, size, 100), draw(other, size, 100))
