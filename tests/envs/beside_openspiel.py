"""Games beside those of OpenSpiel, state by state."""

from typing import Any

import numpy as np

from envs.extensive import OVER, FactoredGame
from envs.game import States


def compare(game: FactoredGame, states: States, spiel: Any) -> list[int]:
    """Compares all that a game and OpenSpiel say of a state, `[1]` records, and returns the legal actions."""
    legal = [int(action) for action in np.flatnonzero(game.legal(states)[0])]
    if spiel.is_terminal():
        assert game.mover(states)[0] == OVER
        assert legal == []
    else:
        assert game.mover(states)[0] == spiel.current_player()
        assert legal == spiel.legal_actions()
    assert game.utilities(states)[0].tolist() == spiel.returns()
    return legal
