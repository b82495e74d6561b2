"""The network of a policy gradient as a torch module: logits of actions and the value of an infostate."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from envs.game import GameSpec
from learners.networks.arrays import View
from learners.networks.modules import Inputs, ValueNet
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.critic import NAME, policy_alone

INITIAL_SCALE = 0.01
"""Factor of the output layer's initial weights: the first policies are nearly uniform, and values nearly 0."""


class PolicyWithCritic(nn.Module):
    """A policy net and a critic of the same size, whose input is the infostates of all players.

    Args:
        network: Settings of both nets.
        spec: Constants of the game.

    Raises:
        ValueError: the game lacks what the network needs.
    """

    def __init__(self, network: NetworkSettings, spec: GameSpec) -> None:
        super().__init__()
        self.policy = _scaled(ValueNet(network, spec, more=1))
        self.critic = ValueNet(network, spec, views=spec.num_players)
        self.critic.out = nn.Linear(network.width, 1)
        _scaled(self.critic)

    def forward(self, views: Sequence[Inputs], slots: Tensor, needed: Tensor) -> Tensor:
        """The outputs of the policy net, `[B, A + 1]` as those of `ValueNet.forward`, and the critic's value behind
        them; `views` are those of all players, the mover's first."""
        return torch.cat([self.policy(views[:1], slots, needed), self.critic(views).to(torch.float32)], dim=1)

    def tensors(self, views: Sequence[View]) -> list[Inputs]:
        """See `ValueNet.tensors`."""
        return self.policy.tensors(views)

    def inference_weights(self) -> Weights:
        """The arrays of both nets, those of the critic under its name."""
        critic = self.critic.inference_weights()
        return self.policy.inference_weights() | {f"{NAME}.{name}": array for name, array in critic.items()}

    def load_inference_weights(self, weights: Weights) -> None:
        """Sets the policy net; the critic stays as it is.

        Raises:
            ValueError: the arrays are of another network.
        """
        self.policy.load_inference_weights(policy_alone(weights))


def policy_net(network: NetworkSettings, spec: GameSpec, critic: bool = False) -> ValueNet | PolicyWithCritic:
    """A fresh net; its output behind the actions is the value, see `learners.policy_gradient.outputs`.

    Raises:
        ValueError: the game lacks what the network needs.
    """
    return PolicyWithCritic(network, spec) if critic else _scaled(ValueNet(network, spec, more=1))


def _scaled(net: ValueNet) -> ValueNet:
    with torch.no_grad():
        net.out.weight.mul_(INITIAL_SCALE)
        net.out.bias.zero_()
    return net
