"""Which decisions of a batch a Q-net is asked for; the others are settled without it."""

import numpy as np
from numpy.typing import NDArray

from envs.game import Ragged, RaggedGame, States
from envs.ragged import take_lists


def settle_without_net(
    game: RaggedGame, states: States, choices: Ragged, learn_scripted: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Takes the only choice where there is one, and the game's heuristic for scripted decisions.

    Args:
        states: Tables, `[B]` records.
        choices: Theirs; no list is empty.
        learn_scripted: Leave scripted decisions to the net as well.

    Returns:
        Rows of `choices`, `int64[B]`, and the states that are left for the net, `int64[n]`, whose rows say nothing yet.
    """
    chosen = choices.offsets[:-1].copy()
    several = np.diff(choices.offsets) > 1
    if not learn_scripted:
        scripted = np.flatnonzero(several & game.scripted(states))
        if len(scripted):
            lists, source = take_lists(choices, scripted)
            chosen[scripted] = source[game.script(states[scripted], lists)]
            several[scripted] = False
    return chosen, np.flatnonzero(several)
