"""Selects the decisions of a batch that need a Q-net, settles the others without it, and encodes their choices."""

import numpy as np
from numpy.typing import NDArray

from envs.game import Packed, Ragged, RaggedGame, RelativeActions, States
from envs.ragged import take_lists
from envs.sparse import Sparse


def settle_without_net(
    game: RaggedGame, states: States, choices: Ragged, learn_scripted: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Chooses the action of states with a single choice, and by the game's heuristic that of scripted decisions.

    Args:
        game: The game.
        states: States to decide, `[B]` records.
        choices: The choices in these states; no list is empty.
        learn_scripted: Whether the net also makes the scripted decisions.

    Returns:
        Chosen rows of `choices`, `int64[B]`, and indices of the states that need the net, `int64[n]`, whose rows are
        placeholders.
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


def encode_choices(
    game: RaggedGame, packed: Packed, offsets: NDArray[np.int64], actions: NDArray[np.void], encoding: str
) -> Sparse:
    """Returns the feature vectors of choices, see `envs.game.RelativeActions`."""
    if isinstance(game, RelativeActions):
        return game.encode_choices(packed, offsets, actions, encoding)
    return game.encode_actions(actions)
