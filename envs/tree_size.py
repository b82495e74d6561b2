"""Estimates the number of nodes of a game's tree without building it."""

import numpy as np

from envs.chanceless import Chanceless
from envs.extensive import CHANCE, MOST_OUTCOMES, OVER, ExtensiveGame
from envs.faults import changed, endless_fault, long_fault, unchanged_fault
from envs.game import States
from envs.tree_answers import chances, legal_actions

PATHS = 256


def estimate_nodes(game: ExtensiveGame, rng: np.random.Generator, paths: int = PATHS, enough: float = np.inf) -> float:
    """Estimates the nodes of the whole tree from `paths` random paths, see `estimate_below`."""
    return estimate_below(game, game.initial(paths), rng, enough)


def estimate_below(game: ExtensiveGame, states: States, rng: np.random.Generator, enough: float = np.inf) -> float:
    """Estimates the mean number of nodes at and below `states` by random paths (Knuth 1975).

    A path with b1, b2, ... choices at its nodes gives the estimate 1 + b1 + b1 b2 + ... The mean is unbiased, and exact
    if all nodes of a depth have the same number of choices.

    Args:
        game: The game.
        states: First states of the paths, `[B]` records; changed in place.
        rng: Draws the paths.
        enough: The estimation stops at the first depth at which the estimate exceeds this number.

    Raises:
        ValueError: a path does not end within `max_plies` decisions, a choice changes nothing, or an array has a wrong
            shape.
    """
    paths = len(states)
    ways, total, made = np.ones(paths), 1.0, np.zeros(paths, np.int64)  # decisions made on each path
    name, most = game.spec.name, game.spec.max_plies
    longest = most + MOST_OUTCOMES
    for _ in range(longest):
        mover = game.mover(states)
        open_paths = np.flatnonzero(mover != OVER)
        states, mover, ways, made = states[open_paths], mover[open_paths], ways[open_paths], made[open_paths]
        if len(states) == 0 or total > enough:
            return total
        if (made[mover >= 0] >= most).any():
            raise ValueError(f"{name}: {endless_fault(most)}")
        made += mover >= 0
        legal = legal_actions(game, states)
        by_chance = np.flatnonzero(mover == CHANCE)
        if len(by_chance):
            outcomes = chances(game, states[by_chance]) > 0
            width = max(legal.shape[1], outcomes.shape[1])
            legal = np.pad(legal, ((0, 0), (0, width - legal.shape[1])))
            legal[by_chance] = np.pad(outcomes, ((0, 0), (0, width - outcomes.shape[1])))
        counts = legal.sum(axis=1)
        ways = ways * counts
        total += float(ways.sum()) / paths
        chosen = (legal.cumsum(axis=1) <= (rng.random(len(states)) * counts)[:, None]).sum(axis=1)
        before = states.copy()
        game.apply(states, chosen)
        if len(same := np.flatnonzero(~changed(before, states))):
            method = "step" if isinstance(game, Chanceless) else "apply"
            raise ValueError(f"{name}: {unchanged_fault(method, int(chosen[same[0]]))}")
    raise ValueError(f"{name}: {long_fault(longest)}")


__all__ = ["estimate_below", "estimate_nodes"]
