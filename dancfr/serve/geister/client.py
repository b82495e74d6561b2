"""An agent at a seat of the Geister competition: lines in, lines out."""

from typing import Literal

import numpy as np

from dancfr.errors import RunError
from dancfr.serve.geister.protocol import (
    AREA,
    DRAWN,
    LETTERS,
    LOST,
    MOVE_REQUEST,
    REFUSED,
    SETUP_REQUEST,
    WON,
    Board,
    write_move,
    write_set,
)
from dancfr.serve.geister.seen_moves import SeenMoves
from dancfr.serve.messages import ProtocolError
from envs.agent import Agent
from envs.game import States
from envs.geister import Geister
from envs.geister.rules import CAPTURED, GHOSTS, layouts, new_states, start_squares

_OUTCOMES: dict[str, Literal["won", "lost", "drawn"]] = {WON: "won", LOST: "lost", DRAWN: "drawn"}
_START = AREA - 1 - start_squares(6)
"""Squares of the opponent's ghosts before their first move, in the receiver's view."""


class Client:
    """One seat, played by an agent at any server of the competition, game after game.

        client = Client(agent, game)
        answer = client.receive(line)    # None, or the line to send

    The agent sees a state rebuilt from the board string. It agrees with the real state in all that `game.observe` shows
    to the player to move; the colours of the opponent's ghosts on the board are arbitrary and independent of the real
    ones. If `game` has a history, the moves between two boards are derived from the boards.

    Args:
        agent: Any agent that plays Geister.
        game: The rules for the agent. Rules that force escapes bind the agent, but not its opponent.
        seed: Of the colours, which are drawn at random, and of the agent's random draws.

    Attributes:
        seat: 0 or 1; None until the first board of a game.
        refused: Whether the server has refused the last answer.
        outcome: How the last game has ended for the agent; None during a game.
        decisions: Moves in all games so far.
    """

    def __init__(self, agent: Agent, game: Geister, seed: int = 0) -> None:
        self._agent = agent
        self._game = game
        self._layout_rng = np.random.default_rng([seed, 0])
        self._rng = np.random.default_rng([seed, 1])
        self._accepted = 0
        self._awaiting = ""
        self._seen = SeenMoves()
        self._chosen: int | None = None
        self._played: int | None = None
        self.seat: int | None = None
        self.refused = False
        self.outcome: Literal["won", "lost", "drawn"] | None = None
        self.decisions = 0

    def receive(self, line: str) -> str | None:
        """Handles a line of the server, given without its end.

        Returns:
            The line to send; None if no answer is due.

        Raises:
            ProtocolError: The line is not part of the protocol, or its board cannot be read.
            RunError: The agent chooses an illegal action.
        """
        if line == SETUP_REQUEST:
            return self._begin()
        if line.startswith(MOVE_REQUEST):
            return self._move(line.removeprefix(MOVE_REQUEST))
        if line.strip() in ("OK", "OKR", "OKB"):
            if self._awaiting == MOVE_REQUEST:
                self._accepted += 1
                self._played = self._chosen
            self._awaiting = ""
        elif line.strip() == REFUSED.strip():
            self.refused = True
        elif line[:4] in _OUTCOMES:
            self.outcome = _OUTCOMES[line[:4]]
        else:
            raise ProtocolError("", f"{line[:60]!r} is not a line of a Geister server")
        return None

    def _begin(self) -> str:
        """Begins a new game, and draws the colours."""
        self._accepted, self.seat, self.refused, self.outcome = 0, None, False, None
        self._awaiting = SETUP_REQUEST
        self._seen, self._played = SeenMoves(), None
        self._agent.begin(self._game, 1, self._rng)
        every = layouts(6)
        return write_set(int(every[self._layout_rng.integers(len(every))]))

    def _move(self, text: str) -> str:
        board = Board.read(text)
        if self.seat is None:  # the first player finds the opponent's ghosts at their starting squares
            self.seat = 0 if (board.squares[1] == _START).all() else 1
        states = state_of(board, self.seat, 2 * self._accepted + self.seat)
        if self._game.history:
            states = self._seen.at(states, self._played)
            self._played = None
        action = int(self._agent.act(states, np.zeros(1, np.int64), self._rng)[0])
        if not 0 <= action < 4 * len(LETTERS) or not self._game.legal(states)[0, action]:
            raise RunError(f"{self._agent.name} plays {self._game.describe(action)}, which is not legal")
        self._awaiting, self._chosen = MOVE_REQUEST, action
        self.refused = False
        self.decisions += 1
        return write_move(action)


def state_of(board: Board, seat: int, ply: int) -> States:
    """A state in which `seat`, who is to move, sees the board string, `STATE[1]`.

    The colours of the opponent's ghosts on the board are unknown; the first ones by letter are made red.
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
