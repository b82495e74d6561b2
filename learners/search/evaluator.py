"""The interface between a search and its agent: a policy and a value of any infostate."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent
from envs.game import GameBase, Packed
from learners.search.settings import RolloutSettings


@runtime_checkable
class Evaluator(Agent, Protocol):
    """An agent that plays a policy and knows the value of infostates.

    Attributes:
        threshold: Actions with less than this fraction of the highest probability are not played.
        offset: What the values leave out of the returns, the same for both players.
    """

    threshold: float

    @property
    def offset(self) -> float: ...

    def evaluate(
        self, packed: Packed, legal: NDArray[np.bool_], players: NDArray[np.int8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluates infostates `uint8[B, P]` of `players[b]` with legal actions `bool[B, A]`.

        Returns:
            The policy before the threshold, `float32[B, A]`, and the value of each infostate to its player,
            `float32[B]`, less `offset`.
        """
        ...


@runtime_checkable
class Searchable(Protocol):
    """An agent with a search of its own kind; every `Evaluator` has that of `learners.search.agent.SearchAgent`."""

    def with_search(self, game: GameBase, settings: RolloutSettings) -> Agent:
        """Returns the agent with a search before each move.

        Raises:
            ValueError: what is hidden in the game cannot be drawn.
        """
        ...
