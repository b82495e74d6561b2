"""The objective of proximal policy optimisation."""

import torch
from torch import Tensor


def ppo_loss(moved: Tensor, advantage: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """PPO's clipped objective as a loss (Schulman et al. 2017, eq. 7).

    Args:
        moved: log pi(a) - log pi_played(a), `[B]`.
        advantage: Advantage of the action, `[B]`.
        clip: Epsilon.

    Returns:
        The loss of each row, `[B]`, and which rows have no gradient, `bool[B]`.
    """
    ratio = moved.exp()
    bounded = ratio.clamp(1 - clip, 1 + clip)
    loss = -torch.minimum(ratio * advantage, bounded * advantage)
    return loss, (ratio * advantage > bounded * advantage)
