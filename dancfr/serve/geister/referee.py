"""The rules of a game as lines: which line is legal, its answer, and the winner. Independent of sockets and clocks."""

import numpy as np

from dancfr.serve.geister.protocol import DRAWN, LOST, REFUSED, WON, read_move, read_set, write_board
from envs.geister import Geister
from envs.geister.rules import BY_PLY_LIMIT, DIRECTIONS, ENDINGS, ESCAPE_DIRECTION, layouts, new_states

PLY_LIMIT = 300
RULES = Geister(ply_limit=PLY_LIMIT, forced_escape=False)
"""The rules of the competition: escaping is optional. The setup does not matter, as players choose the colours."""

ILLEGAL, OUT_OF_TIME, DISCONNECTED, NOISE = "illegal move", "out of time", "disconnected", "broke the limits"
"""Endings in addition to those of the rules; in each of them one player loses."""

SIDEWAYS = {(0, DIRECTIONS.index("WEST")), (5, DIRECTIONS.index("EAST"))}
"""Square and direction of the second way off the board at each exit; the rules have the way to the north only."""


class Referee:
    """One game, from the choice of colours to its end.

    Args:
        rules: The rules of the board; their setup is ignored, as players choose the colours.

    Attributes:
        layouts: The colours that each player has chosen, by their number in `layouts`; None before the choice.
        moves: The actions of both players so far.
        ending: How the game has ended; empty until then.
        winner: 0 or 1; None for a draw and before the end.
    """

    def __init__(self, rules: Geister = RULES) -> None:
        self._rules = rules
        self._states = new_states(1, 6, np.zeros((1, 2), np.uint8))
        self.layouts: list[int | None] = [None, None]
        self.moves: list[int] = []
        self.ending = ""
        self.winner: int | None = None

    @property
    def chosen(self) -> list[bool]:
        """Which players have chosen their colours."""
        return [layout is not None for layout in self.layouts]

    @property
    def plies(self) -> int:
        """Moves of both players so far."""
        return int(self._states["ply"][0])

    @property
    def mover(self) -> int | None:
        """The player to move; None before both have chosen colours, and after the end."""
        return int(self._states["to_move"][0]) if all(self.chosen) and not self.ending else None

    def choose(self, player: int, text: str) -> bool:
        """Handles a player's choice of red ghosts, and returns whether it is accepted. An accepted choice is final."""
        reds = read_set(text)
        if reds is None or self.chosen[player] or self.ending:
            return False
        self._states["red"][0, player] = reds
        self.layouts[player] = layouts(6).tolist().index(reds)
        return True

    def forget(self, player: int) -> None:
        """Forgets a player's choice of colours, for another player in the same seat."""
        self.layouts[player] = None
        self._states["red"][0, player] = 0

    def move(self, text: str) -> str:
        """Handles a move of the player to move.

        Returns:
            ``OK ``, with the colour of a captured ghost in place of the blank; or ``NG `` for an illegal move, which
            loses the game.
        """
        player = self.mover
        assert player is not None
        action = self._action(player, text)
        if action is None:
            self.forfeit(player, ILLEGAL)
            return REFUSED
        before = self._states["taken"][0, 1 - player].copy()
        self._rules.step(self._states, np.array([action]))
        self.moves.append(action)
        gained = (self._states["taken"][0, 1 - player] - before).tolist()
        if self._states["ending"][0]:
            self.ending = ENDINGS[int(self._states["ending"][0])]
            self.winner = None if self.ending == ENDINGS[BY_PLY_LIMIT] else int(self._states["winner"][0])
        return "OK" + {(0, 0): " ", (1, 0): "B", (0, 1): "R"}[tuple(gained)]

    def _action(self, player: int, text: str) -> int | None:
        """The action of a line; None if it is not legal."""
        move = read_move(text)
        if move is None:
            return None
        ghost, direction = move
        if (int(self._states["square"][0, player, ghost]), direction) in SIDEWAYS:
            direction = ESCAPE_DIRECTION
        action = 4 * ghost + direction
        return action if self._rules.legal(self._states)[0, action] else None

    def forfeit(self, loser: int, ending: str) -> None:
        """Ends the game with a loss of one player, for a reason outside the rules of the board."""
        if not self.ending:
            self.ending, self.winner = ending, 1 - loser

    def board(self, player: int) -> str:
        """The board as a player sees it, with all colours after the end."""
        return write_board(self._states[0], player, self.chosen, reveal=bool(self.ending))

    def result(self, player: int) -> str:
        """The line with the result for a player."""
        outcome = DRAWN if self.winner is None else WON if self.winner == player else LOST
        return outcome + self.board(player)
