"""An agent of ours at a seat of the competition: lines in, lines out."""

from typing import Literal

import numpy as np

from dancfr.errors import RunError
from dancfr.serve.geister.protocol import (
    AREA,
    DRAWN,
    LETTERS,
    LOST,
    MOVE_ASKED,
    REFUSED,
    SET_ASKED,
    WON,
    Board,
    write_move,
    write_set,
)
from dancfr.serve.guandan.notation import ProtocolError
from envs.agent import Agent
from envs.game import States
from envs.geister import Geister
from envs.geister.rules import CAPTURED, GHOSTS, layouts, new_states, start_squares

_OUTCOMES: dict[str, Literal["won", "lost", "drawn"]] = {WON: "won", LOST: "lost", DRAWN: "drawn"}
_START = AREA - 1 - start_squares(6)
"""Squares of the opponent's ghosts before their first move, in the own view."""


class Client:
    """One seat that an agent plays at any server of the competition, game after game.

        client = Client(agent, game)
        answer = client.receive(line)    # None, or the line to send

    The agent sees a state rebuilt from the board string: all that `game.observe` shows the player to move is right in
    it, and the colours of the opponent's ghosts on the board are made up, the same whatever they are.

    Args:
        agent: Any agent that plays Geister.
        game: The rules that the agent is told of. Where they force escapes, the agent is bound to them, its opponent
            is not.
        seed: Of the colours, which are drawn, and of the agent's random draws.

    Attributes:
        seat: 0 or 1, known from the first board of a game on.
        refused: The server has not taken the last answer.
        outcome: How the last game has ended for the agent; None while one goes on.
        decisions: Moves in all games so far.
    """

    def __init__(self, agent: Agent, game: Geister, seed: int = 0) -> None:
        self._agent = agent
        self._game = game
        self._layout_rng = np.random.default_rng([seed, 0])
        self._rng = np.random.default_rng([seed, 1])
        self._accepted = 0
        self._waits_for = ""
        self.seat: int | None = None
        self.refused = False
        self.outcome: Literal["won", "lost", "drawn"] | None = None
        self.decisions = 0

    def receive(self, line: str) -> str | None:
        """Takes in a line of the server, without its end.

        Raises:
            ProtocolError: the line is none that a server sends, or its board cannot be read.
            RunError: the agent wants what is not legal.
        """
        if line == SET_ASKED:
            return self._begin()
        if line.startswith(MOVE_ASKED):
            return self._move(line.removeprefix(MOVE_ASKED))
        if line.strip() in ("OK", "OKR", "OKB"):
            self._accepted += self._waits_for == MOVE_ASKED
            self._waits_for = ""
        elif line.strip() == REFUSED.strip():
            self.refused = True
        elif line[:4] in _OUTCOMES:
            self.outcome = _OUTCOMES[line[:4]]
        else:
            raise ProtocolError("", f"{line[:60]!r} is no line of a Geister server")
        return None

    def _begin(self) -> str:
        """A new game: the agent forgets the last one, and its colours are drawn."""
        self._accepted, self.seat, self.refused, self.outcome = 0, None, False, None
        self._waits_for = SET_ASKED
        self._agent.begin(self._game, 1, self._rng)
        every = layouts(6)
        return write_set(int(every[self._layout_rng.integers(len(every))]))

    def _move(self, text: str) -> str:
        board = Board.read(text)
        if self.seat is None:  # who moves first finds the opponent's ghosts where they started
            self.seat = 0 if (board.squares[1] == _START).all() else 1
        states = state_of(board, self.seat, 2 * self._accepted + self.seat)
        action = int(self._agent.act(states, np.zeros(1, np.int64), self._rng)[0])
        if not 0 <= action < 4 * len(LETTERS) or not self._game.legal(states)[0, action]:
            raise RunError(f"{self._agent.name} plays {self._game.describe(action)}, which is not legal")
        self._waits_for = MOVE_ASKED
        self.refused = False
        self.decisions += 1
        return write_move(action)


def state_of(board: Board, seat: int, ply: int) -> States:
    """A state that shows `seat`, who is to move, what a board string shows, and nothing else, `STATE[1]`.

    Of the opponent's ghosts on the board the first ones by letter are red.
    """
    other = 1 - seat
    states = new_states(1, 6, np.zeros((1, 2), np.uint8))
    state = states[0]
    theirs = np.where(board.squares[1] >= 0, AREA - 1 - board.squares[1], board.squares[1])
    hidden = np.flatnonzero(theirs >= 0)[: 4 - board.taken_red.sum()]
    red = {seat: board.red, other: board.taken_red.copy()}
    red[other][hidden] = True
    for player, squares in ((seat, board.squares[0]), (other, theirs)):
        state["square"][player] = squares
        state["occupied"][player] = sum(1 << int(square) for square in squares if square >= 0)
        state["red"][player] = sum(1 << ghost for ghost in range(GHOSTS) if red[player][ghost])
        taken = squares == CAPTURED
        state["taken"][player] = (taken & ~red[player]).sum(), (taken & red[player]).sum()
    state["ply"] = ply
    state["to_move"] = seat
    return states
