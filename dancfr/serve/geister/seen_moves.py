"""The history of ghosts at a server, which shows positions only: the moves between two boards follow from them."""

import numpy as np

from envs.game import States
from envs.geister import Geister, history
from envs.geister.rules import RUNNING, STATE, new_states, target_square

_SIZE = 6
_RULES = Geister(_SIZE, ply_limit=32_000, forced_escape=False, history=True)


class SeenMoves:
    """One game from its start, as one seat sees it. Colours do not matter, as no counter depends on them."""

    def __init__(self) -> None:
        self._states = new_states(1, _SIZE, np.zeros((1, 2), np.uint8), history.STATE)

    def at(self, states: States, own: int | None) -> States:
        """Adds the history to the position at a turn of the seat, and returns `envs.geister.history.STATE[1]`.

        A move that does not follow from the positions, as after a missed board, is left out of the history.

        Args:
            states: The position, `envs.geister.rules.STATE[1]`.
            own: The action of the seat since the last position; None if there was none.
        """
        if own is not None:
            self._play(own)
        theirs = self._move_to(states)
        if theirs is not None:
            self._play(theirs)
        assert STATE.names is not None
        for name in STATE.names:
            self._states[name] = states[name]
        return self._states.copy()

    def _play(self, action: int) -> None:
        """Plays a legal action. By the unknown colours a capture might end the game here, which it does not."""
        _RULES.step(self._states, np.array([action]))
        self._states["ending"], self._states["winner"] = RUNNING, -1

    def _move_to(self, states: States) -> int | None:
        """The action of the opponent that leads to a position; None if there is no such action."""
        opponent = 1 - int(states["to_move"][0])
        if self._states["to_move"][0] != opponent:
            return None
        before, after = (each["square"][0, opponent].tolist() for each in (self._states, states))
        moved = [ghost for ghost in range(len(before)) if before[ghost] != after[ghost]]
        for action in np.flatnonzero(_RULES.legal(self._states)[0]).tolist():
            ghost, direction = divmod(action, 4)
            if moved == [ghost] and target_square(before[ghost], direction, _SIZE) == after[ghost]:
                return int(action)
        return None
