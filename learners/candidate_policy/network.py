"""The network of a policy over candidates. `B` states, `N` choices of them in all."""

from typing import Any

import torch
from torch import Tensor

from learners.listed.network import QWithCritic

INITIAL_SCALE = 0.3
"""Factor of the initial weights of a policy's output layer."""


class PolicyWithCritic(QWithCritic):
    """A Q-net whose values are the logits of a policy, nearly uniform at first, and a critic; see `QWithCritic`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        with torch.no_grad():
            self.q.out.weight.mul_(INITIAL_SCALE)

    def forward(self, states: Tensor, owner: Tensor, actions: Tensor, full: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Logits of choices `[N]`, see `QNet.of_choices`, and the critic's values of the states, `[B]`."""
        return self.q.of_choices(states, owner, actions), self.values(full)
