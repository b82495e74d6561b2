"""The display of Geister: board, ghosts and their colours as far as the viewer knows them, and moves by squares.

A cell is ``[x, y]`` as player 0 sees the board: x from the left, y from the top; player 0 is at home at the bottom. In
labels the columns are a, b, ... and the rows are counted from the bottom, so that ghost A of player 0 begins on b2.
"""

from typing import Any

import numpy as np

from envs.display import Plain
from envs.game import States
from envs.geister import Geister, rules
from envs.geister.render import UNKNOWN, Piece, seen

LETTERS = "ABCDEFGH"
"""Names of the ghosts of each player."""

_COLOURS = {rules.BLUE: "blue", rules.RED: "red", UNKNOWN: None}


class GeisterDisplay:
    """Shows a player their own colours, those of captured ghosts, and all of them once the game has ended.

    Args:
        game: The rules.
    """

    def __init__(self, game: Geister) -> None:
        self._game, self._size = game, game.size
        self._layouts = rules.layouts(game.size)

    def scene(self, state: np.void, viewer: int | None) -> Plain:
        """See `Display.scene`.

        ``ghosts`` lists the ghosts of player 0 and then those of player 1, each with ``owner``, ``ghost``, ``colour``
        (null if the viewer does not know it), ``cell`` (null off the board) and ``escaped``. After ``limit`` moves,
        ``ply`` of which have been made, the game is a draw.
        """
        return {
            "size": self._size,
            "ghosts": [self._plain(piece, viewer) for piece in seen(state, self._size, viewer)],
            "ply": int(state["ply"]),
            "limit": self._game.ply_limit,
        }

    def choices(self, states: States) -> list[Plain]:
        """See `Display.choices`.

        The choice of colours has the red ghosts, ``red``. A move has ``ghost``, ``direction`` (``NORTH`` is away from
        the mover), ``to``, the cell that it leads to, null for leaving the board, and whether it ``takes`` a ghost.
        """
        state, actions = states[0], np.flatnonzero(self._game.legal(states)[0])
        if state["placed"] < 2:
            return [self._setup(int(action)) for action in actions]
        mover = int(state["to_move"])
        return [self._move(state, mover, int(action)) for action in actions]

    def event(self, before: np.void, action: Any, after: np.void, viewer: int | None) -> Plain:
        """See `Display.event`.

        A move has ``from`` beside what `choices` says, and ``taken``, the captured ghost. Of the other player's choice
        of colours nothing is told but that it was made.
        """
        mover = int(before["to_move"])
        if before["placed"] < 2:
            if viewer in (None, mover):
                return self._setup(int(action))
            return {"label": "chooses the colours", "kind": "setup", "red": None, "hidden": True}
        move = self._move(before, mover, int(action))
        taken = next((g for g in range(rules.GHOSTS) if _was_taken(before, after, 1 - mover, g)), None)
        if taken is not None:
            colour = _COLOURS[int(after["red"][1 - mover]) >> taken & 1]
            move["taken"] = {"ghost": taken, "colour": colour}
            move["label"] += f", takes {colour} {LETTERS[taken]}"
        return move

    def _plain(self, piece: Piece, viewer: int | None) -> Plain:
        cell = piece.cell
        if cell is not None and viewer == 1:  # `seen` has the viewer at the bottom
            cell = (self._size - 1 - cell[0], self._size - 1 - cell[1])
        return {
            "owner": piece.owner,
            "ghost": piece.ghost,
            "colour": _COLOURS[piece.colour],
            "cell": None if cell is None else list(cell),
            "escaped": piece.escaped,
        }

    def _setup(self, layout: int) -> Plain:
        red = [ghost for ghost in range(rules.GHOSTS) if int(self._layouts[layout]) >> ghost & 1]
        return {"label": f"red {' '.join(LETTERS[ghost] for ghost in red)}", "kind": "setup", "red": red}

    def _move(self, state: np.void, mover: int, action: int) -> Plain:
        ghost, direction = divmod(action, 4)
        square = int(state["square"][mover, ghost])
        start = self._cell(square, mover)
        move = {"kind": "move", "ghost": ghost, "direction": rules.DIRECTIONS[direction], "from": start}
        begins = f"{LETTERS[ghost]} {self._name(start)}"
        target = int(rules.target_square(square, direction, self._size))
        if target < 0:
            return {"label": f"{begins} leaves the board", **move, "to": None, "takes": False}
        end, there = self._cell(target, mover), self._size**2 - 1 - target
        takes = bool((state["square"][1 - mover] == there).any())
        return {"label": f"{begins}{'x' if takes else '-'}{self._name(end)}", **move, "to": end, "takes": takes}

    def _cell(self, square: int, player: int) -> list[int]:
        """The cell of a square in a player's own view."""
        y, x = divmod(square if player == 0 else self._size**2 - 1 - square, self._size)
        return [x, y]

    def _name(self, cell: list[int]) -> str:
        return f"{'abcdef'[cell[0]]}{self._size - cell[1]}"


def _was_taken(before: np.void, after: np.void, owner: int, ghost: int) -> bool:
    return bool(before["square"][owner, ghost] >= 0 and after["square"][owner, ghost] == rules.CAPTURED)


__all__ = ["LETTERS", "GeisterDisplay"]
