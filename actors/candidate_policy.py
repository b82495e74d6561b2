"""Self-play of a policy over candidates: every seat draws its choices from the proposals of the net."""

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from actors.listed_play import Asked, ListedPlayer, PlayerOptions
from envs.game import ListedGame
from learners.listed.proposals import propose_and_draw
from learners.listed.settings import QNetworkSettings
from learners.samples import choice_dtype, pack_actions


class CandidatePolicyPlayer(ListedPlayer):
    """Draws each choice by a policy over proposals, whose logits are the outputs of the net; its samples are records of
    `choice_dtype`.

    Args:
        game, network, options: See `ListedPlayer`.
        proposals: Number of choices that the policy is over, at most.
        trace: Lambda of advantages by the critic, whose weights are among those of the net.
    """

    def __init__(
        self,
        game: ListedGame,
        network: QNetworkSettings,
        proposals: int,
        trace: float,
        **options: Unpack[PlayerOptions],
    ) -> None:
        self._proposals = proposals
        super().__init__(game, network, trace, **options)

    def _record(self, hidden: int) -> np.dtype:
        return choice_dtype(self.game.spec, self.game.action_dtype, self._proposals, hidden, self._encode.notes)

    def _pick(self, asked: Asked, rng: np.random.Generator) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
        lists = asked.lists
        proposals, count, drawn, log_probability = propose_and_draw(lists.offsets, asked.values, self._proposals, rng)
        choices = pack_actions(lists.rows[proposals.reshape(-1)]).reshape(*proposals.shape, -1)
        picked = proposals[np.arange(len(drawn)), drawn]
        return picked, {
            "choices": choices,
            "choice_notes": asked.notes.choices[proposals],
            "count": count,
            "action": drawn,
            "log_probability": log_probability,
        }

    def _aim(self, block: NDArray[np.void], returns: NDArray[np.float32]) -> None:
        block["advantage"], block["value"] = self._estimate(returns)

    def _tally(self, block: NDArray[np.void]) -> dict[str, float]:
        return {"sum/advantage_square": float(np.square(block["advantage"]).sum())}
