"""Positions of Geister for the tests: set up by hand, or reached by random play."""

from collections.abc import Mapping

import numpy as np

from envs.game import States
from envs.geister import Geister, rules
from envs.players import RandomAgent


def position(game: Geister, first: Mapping[str, int], second: Mapping[str, int], plies: int = 0) -> States:
    """One state with player 0 to move, from the square of each ghost on the board in its player's view.

    A ghost is its letter, followed by ``r`` if it is red, e.g. ``{"A": 0, "Br": 7}``. All others have been
    taken; enough of them were red to make it half.
    """
    ghosts = len(rules.start_squares(game.size))
    states = rules.new_states(1, game.size, np.zeros((1, 2), np.uint8))
    state = states[0]
    for player, places in enumerate((first, second)):
        placed = {"ABCDEFGH".index(name[0]): (square, name.endswith("r")) for name, square in places.items()}
        reds = [ghost for ghost, (_, red) in placed.items() if red]
        absent = [ghost for ghost in range(ghosts) if ghost not in placed]
        hidden_reds = absent[: ghosts // 2 - len(reds)]
        state["red"][player] = sum(1 << ghost for ghost in reds + hidden_reds)
        state["taken"][player] = len(absent) - len(hidden_reds), len(hidden_reds)
        state["square"][player] = rules.CAPTURED
        for ghost, (square, _) in placed.items():
            state["square"][player, ghost] = square
        state["occupied"][player] = sum(1 << square for square, _ in placed.values())
    state["ply"] = plies
    return states


def random_positions(game: Geister, batch: int, plies: int, seed: int) -> States:
    """States after up to `plies` random decisions; some of the games may have ended."""
    rng = np.random.default_rng(seed)
    states = game.reset(batch, rng)
    player = RandomAgent()
    player.begin(game, batch, rng)
    for _ in range(plies):
        game.step(states, player.act(states, np.arange(batch), rng), rng)
    return states
