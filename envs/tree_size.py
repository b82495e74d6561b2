"""How many nodes a game's tree has, roughly, before it is made."""

import numpy as np

from envs.extensive import CHANCE, OVER, ExtensiveGame
from envs.game import States

PATHS = 256


def estimate_nodes(game: ExtensiveGame, rng: np.random.Generator, paths: int = PATHS, enough: float = np.inf) -> float:
    """Nodes of a game's whole tree, see `estimate_below`; `paths` is how many are drawn."""
    return estimate_below(game, game.initial(paths), rng, enough)


def estimate_below(game: ExtensiveGame, states: States, rng: np.random.Generator, enough: float = np.inf) -> float:
    """Nodes at and below a state, mean over `states`: Knuth's estimate (1975) over random paths, 1 + b1 + b1 b2 + ...,
    with b the number of choices on the way.

    Without bias, and exact where all nodes of a depth have as many choices.

    Args:
        game: The game.
        states: Where paths begin, `[B]`; played on in place.
        rng: Draws the paths.
        enough: Stop at the first depth at which the estimate is larger than this.
    """
    paths = len(states)
    ways, total = np.ones(paths), 1.0
    while len(states):
        mover = game.mover(states)
        open_paths = np.flatnonzero(mover != OVER)
        states, mover, ways = states[open_paths], mover[open_paths], ways[open_paths]
        if len(states) == 0 or total > enough:
            break
        legal = game.legal(states)
        by_chance = np.flatnonzero(mover == CHANCE)
        if len(by_chance):
            outcomes = game.chance(states[by_chance]) > 0
            width = max(legal.shape[1], outcomes.shape[1])
            legal = np.pad(legal, ((0, 0), (0, width - legal.shape[1])))
            legal[by_chance] = np.pad(outcomes, ((0, 0), (0, width - outcomes.shape[1])))
        counts = legal.sum(axis=1)
        ways = ways * counts
        total += float(ways.sum()) / paths
        chosen = (legal.cumsum(axis=1) <= (rng.random(len(states)) * counts)[:, None]).sum(axis=1)
        game.apply(states, chosen)
    return total


__all__ = ["estimate_below", "estimate_nodes"]
