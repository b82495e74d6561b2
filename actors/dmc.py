"""Self-play of Deep Monte-Carlo (paper 004, IV-B1, algorithm 1).

Every seat makes a random choice with probability epsilon, else the choice of the highest value. The return of a round
is the target of all decisions in it or, with a critic, the basis of their advantages.
"""

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from actors.listed_play import Asked, ListedPlayer, PlayerOptions, SelfPlayTask
from envs.agent import Agent
from envs.game import ListedGame
from envs.ragged import best_rows, choose_rows
from learners.listed.settings import QNetworkSettings
from learners.samples import pack_actions, value_dtype


@dataclass(frozen=True)
class DmcTask(SelfPlayTask):
    """A chunk of games.

    Attributes:
        taught: Whether the teacher plays in place of the net.
    """

    taught: bool = False


class DmcPlayer(ListedPlayer):
    """Plays epsilon-greedily by the values of its net; its samples are records of `value_dtype`.

    Args:
        game, network, trace, options: See `ListedPlayer`.
        epsilon: Probability of a random choice.
        teacher: Agent that plays in place of the net in tasks that say so.
    """

    def __init__(
        self,
        game: ListedGame,
        network: QNetworkSettings,
        epsilon: float,
        trace: float | None = None,
        teacher: Agent | None = None,
        **options: Unpack[PlayerOptions],
    ) -> None:
        super().__init__(game, network, trace, **options)
        self.epsilon = epsilon
        self._teacher: Any = teacher
        self._taught = False

    def _record(self, hidden: int) -> np.dtype:
        return value_dtype(self.game.spec, self.game.action_dtype, hidden)

    def _begin(self, task: SelfPlayTask, tables: int, rng: np.random.Generator) -> None:
        super()._begin(task, tables, rng)
        self._taught = isinstance(task, DmcTask) and task.taught
        if self._taught:
            self._teacher.begin(self.game, tables, rng)

    def _pick(self, asked: Asked, rng: np.random.Generator) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
        lists, values = asked.lists, asked.values
        picked = best_rows(lists.offsets, values)
        if self._taught:
            acted = self._teacher.act(asked.states, asked.tables, rng)
            wanted = self.network.stand_ins(self.game, lists, acted)
            picked = np.where(wanted >= 0, wanted, picked)
        draws = rng.random((2, len(picked)))
        explore = draws[0] < self.epsilon
        if explore.any():
            picked = np.where(explore, choose_rows(lists.offsets, draws[1]), picked)
        return picked, {"action": pack_actions(lists.rows[picked]), "q": values[picked]}

    def _aim(self, block: NDArray[np.void], returns: NDArray[np.float32]) -> None:
        if self._trace is None:
            block["target"] = returns[self._rows["round"], self._rows["player"]]
        else:
            block["target"], block["value"] = self._estimate(returns)

    def _tally(self, block: NDArray[np.void]) -> dict[str, float]:
        return {"sum/q_error": float(np.square(block["q"] - block["target"]).sum())}
