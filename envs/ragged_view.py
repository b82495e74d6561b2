"""PettingZoo AEC environments of `ListedGame`: an action is an index of the current list of legal actions."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from envs.game import IllegalAction, ListedGame
from envs.pettingzoo_view import GameView, Observation, as_index
from envs.sparse import dense


class ListedGameEnv(GameView):
    """Any `ListedGame` as a PettingZoo environment, see `GameView`.

    Action i is entry i of the current list of legal actions, in the order of `ListedGame.legal`. With n legal actions
    the first n entries of the ``action_mask`` are 1; its length `A = spec.num_actions` bounds the length of every list.

    An observation contains the list itself as ``legal_actions``, `[n, F]`: one row per action, and no rows for an agent
    that is not to move. Its space is a stacked `gymnasium.spaces.Sequence`, because a box padded to `A` rows would be
    thousands of times larger than its content. `gymnasium.spaces.flatten` keeps such a part as a list, and rejects an
    empty one.

    Rewards are paid with the last action of every round.
    """

    game: ListedGame

    def observation_parts(self) -> dict[str, gymnasium.Space[Any]]:
        listed = gymnasium.spaces.Sequence(self.action_box(), stack=True)
        return {**super().observation_parts(), "legal_actions": listed}

    def action_box(self) -> gymnasium.spaces.Box:
        """Returns the space of one row of ``legal_actions``. Override it together with `action_rows`."""
        return gymnasium.spaces.Box(-np.inf, np.inf, (self.game.spec.action_features,), np.float32)

    def action_rows(self, actions: NDArray[np.void]) -> NDArray[Any]:
        """Converts actions, `[n]` records, to the rows of ``legal_actions``, `[n, F]`; by default feature vectors."""
        vectors = np.empty((len(actions), self.game.spec.action_features), np.float32)
        dense(*self.game.encode_actions(actions), vectors)
        return vectors

    def describe(self, action: np.void) -> str:
        """Describes an action in one line, for error messages."""
        return str(action)

    def legal_mask(self) -> NDArray[np.int8]:
        self._legal = self.game.legal(self.states).rows.copy()  # the copy frees the buffer of the longest list
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
                f"{self.metadata['name']}: action {action!r} is not legal for {agent}; "
                f"legal actions are 0 to {count - 1}, and 0 is {self.describe(self._legal[0])}"
            )
        before = self.game.rounds(self.states)[0]
        self.game.step(self.states, self._legal[chosen : chosen + 1])
        self._round_ended = bool(self.game.rounds(self.states)[0] > before)

    def gained(self) -> NDArray[np.float32]:
        gained = self.game.round_returns(self.states)[0]
        return np.asarray(gained * self._round_ended + np.float32(0))  # never -0


__all__ = ["ListedGameEnv"]
