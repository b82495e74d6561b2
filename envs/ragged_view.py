"""Any `RaggedGame` as a PettingZoo AEC environment: actions are numbers of the list that is legal just now."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from envs.game import IllegalAction, RaggedGame
from envs.pettingzoo_view import GameView, Observation, as_index
from envs.sparse import dense


class RaggedGameEnv(GameView):
    """One game of any `RaggedGame`, player by player, see `GameView`.

    Action i is the i-th of the present list of legal actions, in the order of `RaggedGame.legal`; so with n of them
    the first n entries of the ``action_mask`` are 1, `A = spec.num_actions` being a number that no list exceeds.

    An observation holds the list itself as ``legal_actions``, `[n, F]`, one row an action in the order of their
    numbers and no row for a player who is not to move. Its space is a stacked `gymnasium.spaces.Sequence`: a box
    padded to `A` rows would be thousands of times larger than what it holds. `gymnasium.spaces.flatten` leaves it a
    list, and refuses one that is empty.

    Rewards come with the last action of every round, in games of several rounds too.
    """

    game: RaggedGame

    def observation_parts(self) -> dict[str, gymnasium.Space]:
        listed = gymnasium.spaces.Sequence(self.action_box(), stack=True)
        return {**super().observation_parts(), "legal_actions": listed}

    def action_box(self) -> gymnasium.spaces.Box:
        """Space of one row of ``legal_actions``; for subclasses that know bounds, or have more to say than vectors."""
        return gymnasium.spaces.Box(-np.inf, np.inf, (self.game.spec.action_features,), np.float32)

    def action_rows(self, actions: NDArray[np.void]) -> NDArray[Any]:
        """What ``legal_actions`` shows of actions `[n]`, `[n, F]`; by default their vectors."""
        vectors = np.empty((len(actions), self.game.spec.action_features), np.float32)
        dense(*self.game.encode_actions(actions), vectors)
        return vectors

    def describe(self, action: np.void) -> str:
        """An action in a line, for messages."""
        return str(action)

    def legal_mask(self) -> NDArray[np.int8]:
        self._legal = self.game.legal(self.states).rows.copy()  # a copy lets go of a buffer for the longest list
        mask = np.zeros(self.game.spec.num_actions, np.int8)
        mask[: len(self._legal)] = 1
        return mask

    def observe(self, agent: str) -> Observation:
        shown = super().observe(agent)
        listed = self._legal if agent == self.agent_selection else self._legal[:0]
        return {**shown, "legal_actions": self.action_rows(listed)}

    def play(self, agent: str, action: object) -> None:
        chosen, count = as_index(action), len(self._legal)
        if not 0 <= chosen < count:
            raise IllegalAction(
                f"{self.metadata['name']}: action {action!r} is not legal for {agent}, who has {count}, "
                f"numbered from 0: 0 is {self.describe(self._legal[0])}"
            )
        before = self.game.rounds(self.states)[0]
        self.game.step(self.states, self._legal[chosen : chosen + 1])
        self._round_ended = bool(self.game.rounds(self.states)[0] > before)

    def gained(self) -> NDArray[np.float32]:
        gained = self.game.round_returns(self.states)[0]
        return gained * self._round_ended + np.float32(0)  # never -0


__all__ = ["RaggedGameEnv"]
