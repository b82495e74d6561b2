"""The policy of an agent without memory at every position of Mini Geister, for an exact best response to it.

Such an agent sees its own ghosts with their colours, the squares of the opponent's ghosts, and the ply. At a position
of the board it has two policies, one for each colouring of its ghosts: the two worlds that the opponent cannot
distinguish. In world w its ghost w is the blue one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent
from envs.game import Packed, States
from envs.geister import Geister
from envs.geister.observation import ENEMIES, RED
from envs.geister.players import HeuristicAgent
from envs.geister.rules import new_states
from envs.players import RandomAgent
from learners.belief_tables.agent import BeliefAgent
from learners.belief_tables.solver import check_game
from learners.deep_cfr.average_agent import AveragePolicyAgent
from learners.dream.agent import DreamAgent
from learners.geister_beliefs.tables import LAST, QUARTERS, SIZE, SLOTS, SQUARES

RED_IN = (2, 1)
"""Bits of the agent's red ghosts in each world."""
POSITIONS = SQUARES**4

PolicyFunction = Callable[[Packed, NDArray[np.bool_], int], NDArray[Any]]
"""A function that returns the probabilities `[B, A]` at infostates `uint8[B, P]` of a player with legal actions
`bool[B, A]`."""


class NotMemoryless(ValueError):
    """The agent has memory, or does not give its policy at a position."""


class MemorylessPolicy:
    """The policy of an agent at every position.

    Args:
        game: Mini Geister with colours drawn at the start.
        agent: The agent.
        player: Its seat.

    Attributes:
        ply_limit: Plies after which a game is drawn.
        forced_escape: Whether a ghost that can escape must.

    Raises:
        NotMemoryless: the agent has memory, or does not give its policy.
        ValueError: the game is not Mini Geister with colours drawn at the start.
    """

    def __init__(self, game: Geister, agent: Agent, player: int) -> None:
        check_game(game)
        self.ply_limit, self.forced_escape = game.ply_limit, game.forced_escape
        self._game, self._player = game, player
        agent.begin(game, 1, np.random.default_rng(0))
        self._policy = _policy_of(agent)
        self._sees_ply = isinstance(agent, DreamAgent | AveragePolicyAgent)
        self._known: NDArray[np.float64] | None = None
        self._numbers, self._mirrored = _boards()
        self._states = _states(self._numbers, player)

    def at(self, ply: int) -> NDArray[np.float64]:
        """Probability of each action in world 0 and 1 at each position after `ply` plies, `float64[2, POSITIONS, 8]`.

        Positions are numbered as in `mini_geister.Frontiers`; where two ghosts are on one square, all are 0.
        """
        if self._known is not None:
            return self._known
        states = self._states
        states["ply"] = ply
        packed, legal = self._game.observe(states, self._game.to_move(states)), self._game.legal(states)
        given = np.asarray(self._policy(packed, legal, self._player), np.float64)
        normalised = given.reshape(2, -1, SLOTS) / given.reshape(2, -1, SLOTS).sum(axis=2, keepdims=True)
        table = np.zeros((2, POSITIONS, SLOTS))
        table[:, self._numbers] = table[:, self._mirrored] = normalised
        if not self._sees_ply:
            self._known = table
        return table


def _boards() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of positions that the agent cannot distinguish, because they differ only in the opponent's colours."""
    blue, red, first, second = np.unravel_index(np.arange(POSITIONS), (SQUARES,) * 4)
    own = (blue < red) & (first != second)
    apart = own & (blue != first) & (blue != second) & (red != first) & (red != second)
    numbers = np.flatnonzero(apart)
    mirrored = ((red * SQUARES + blue) * SQUARES + first) * SQUARES + second
    return numbers, mirrored[numbers]


def _states(numbers: NDArray[np.int64], player: int) -> States:
    """The positions in world 0, then in world 1, with the agent to move; squares as its opponent sees them."""
    blue, red, first, second = (np.tile(part, 2) for part in np.unravel_index(numbers, (SQUARES,) * 4))
    states = new_states(len(blue), SIZE, np.full((len(blue), 2), RED_IN[0], np.uint8))
    states["red"][:, player] = np.repeat(RED_IN, len(numbers))
    states["square"][:, player, :2] = np.stack([LAST - first, LAST - second], axis=1)
    states["square"][:, 1 - player, :2] = np.stack([blue, red], axis=1)
    bits = np.uint64(1) << states["square"][:, :, :2].astype(np.uint64)
    states["occupied"] = np.bitwise_or.reduce(bits, axis=2)
    states["to_move"] = player
    return states


def _policy_of(agent: Agent) -> PolicyFunction:
    """The function that gives the agent's policy by infostate.

    Raises:
        NotMemoryless: the agent has memory, or does not give its policy.
    """
    if isinstance(agent, RandomAgent):
        return lambda packed, legal, player: legal.astype(np.float64)
    if isinstance(agent, BeliefAgent):
        if agent.belief != "none":
            raise NotMemoryless(
                f"{agent.name} plays by a belief, a real number that depends on all moves of a game, so positions "
                "hardly recur: an exact best response is available only for runs with tables.belief=none"
            )
        return _table_policy(agent.table)
    if isinstance(agent, DreamAgent) and agent.average not in ("last", "paper"):
        raise NotMemoryless(
            f"{agent.name} remembers its moves (average={agent.average}): an exact best response is available only "
            "for average=last and average=paper"
        )
    if isinstance(agent, HeuristicAgent | DreamAgent | AveragePolicyAgent):
        return agent.policy
    raise NotMemoryless(f"{agent.name} has no method that returns its policy, which an exact best response requires")


def _table_policy(table: NDArray[np.float64]) -> PolicyFunction:
    """The policy of a table of belief states whose beliefs stay even.

    Args:
        table: Probabilities by row and column, `float64[ROWS, 8]`, see `learners.geister_beliefs.tables`.
    """

    def policy(packed: Packed, legal: NDArray[np.bool_], player: int) -> NDArray[np.float64]:
        every = np.arange(len(packed))
        blue = (packed[:, RED] & 1).astype(np.int64)  # number of the blue ghost
        squares = packed[:, :2].astype(np.int64)
        own = squares[every, blue] * SQUARES + squares[every, 1 - blue]
        seen = np.unpackbits(packed[:, ENEMIES : ENEMIES + 2], axis=1, bitorder="little")
        enemies = np.flatnonzero(seen).reshape(-1, 2) % SQUARES
        rows = ((own * SQUARES + enemies[:, 0]) * SQUARES + enemies[:, 1]) * QUARTERS + QUARTERS // 2
        columns = np.where(blue[:, None] == np.arange(SLOTS) // 4, 0, 4) + np.arange(SLOTS) % 4
        found = np.where(legal, table[rows[:, None], columns], 0.0)
        return np.where(found.sum(axis=1, keepdims=True) > 0, found, legal)

    return policy
