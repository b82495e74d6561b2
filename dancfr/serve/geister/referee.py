"""The rules of a game by lines: who may say what, what is answered, and who has won. Knows no sockets and no time."""

import numpy as np

from dancfr.serve.geister.protocol import DRAWN, LOST, REFUSED, WON, read_move, read_set, write_board
from envs.geister import Geister
from envs.geister.rules import BY_PLY_LIMIT, DIRECTIONS, ENDINGS, ESCAPE_DIRECTION, new_states

PLY_LIMIT = 300
RULES = Geister(ply_limit=PLY_LIMIT, forced_escape=False)
"""Those of the competition: nobody has to escape. That colours would be drawn does not matter: players name them."""

ILLEGAL, OUT_OF_TIME, GONE, NOISE = "illegal move", "out of time", "disconnected", "broke the limits"
"""Endings beside those of the rules, in each of which one player loses."""

_SIDEWAYS = {(0, DIRECTIONS.index("WEST")), (5, DIRECTIONS.index("EAST"))}
"""Square and direction of the second way off the board at each exit; the rules know only the one to the north."""


class Referee:
    """One game, from the choice of colours to its end.

    Args:
        rules: With ghosts that have no colours yet, whatever they say of the setup.

    Attributes:
        chosen: Which players have chosen their colours.
        ending: How the game has ended; empty while it goes on.
        winner: 0 or 1; None for a draw and before the end.
    """

    def __init__(self, rules: Geister = RULES) -> None:
        self._rules = rules
        self._states = new_states(1, 6, np.zeros((1, 2), np.uint8))
        self.chosen = [False, False]
        self.ending = ""
        self.winner: int | None = None

    @property
    def plies(self) -> int:
        """Moves of both players so far."""
        return int(self._states["ply"][0])

    @property
    def mover(self) -> int | None:
        """Whose move is awaited; None before colours are chosen and after the end."""
        return int(self._states["to_move"][0]) if all(self.chosen) and not self.ending else None

    def choose(self, player: int, text: str) -> bool:
        """A player names the red ghosts; whether that is accepted. Once it is, it stands."""
        reds = read_set(text)
        if reds is None or self.chosen[player] or self.ending:
            return False
        self._states["red"][0, player] = reds
        self.chosen[player] = True
        return True

    def forget(self, player: int) -> None:
        """Takes back a choice of colours: another one will sit there."""
        self.chosen[player] = False
        self._states["red"][0, player] = 0

    def move(self, text: str) -> str:
        """The mover's line, and what is answered: ``OK `` with the colour of a captured ghost in place of the blank, or
        ``NG ``; then the game is lost."""
        player = self.mover
        assert player is not None
        action = self._action(player, text)
        if action is None:
            self.forfeit(player, ILLEGAL)
            return REFUSED
        before = self._states["taken"][0, 1 - player].copy()
        self._rules.step(self._states, np.array([action]))
        gained = (self._states["taken"][0, 1 - player] - before).tolist()
        if self._states["ending"][0]:
            self.ending = ENDINGS[int(self._states["ending"][0])]
            self.winner = None if self.ending == ENDINGS[BY_PLY_LIMIT] else int(self._states["winner"][0])
        return "OK" + {(0, 0): " ", (1, 0): "B", (0, 1): "R"}[tuple(gained)]

    def _action(self, player: int, text: str) -> int | None:
        """The action of the rules that a line means; None if it is not legal."""
        move = read_move(text)
        if move is None:
            return None
        ghost, direction = move
        if (int(self._states["square"][0, player, ghost]), direction) in _SIDEWAYS:
            direction = ESCAPE_DIRECTION
        action = 4 * ghost + direction
        return action if self._rules.legal(self._states)[0, action] else None

    def forfeit(self, loser: int, ending: str) -> None:
        """A player has lost for a reason that is none of the rules of the board."""
        if not self.ending:
            self.ending, self.winner = ending, 1 - loser

    def board(self, player: int) -> str:
        """The board as a player sees it; after the end with all colours."""
        return write_board(self._states[0], player, self.chosen, reveal=bool(self.ending))

    def result(self, player: int) -> str:
        """The line that tells a player of the end."""
        said = DRAWN if self.winner is None else WON if self.winner == player else LOST
        return said + self.board(player)
