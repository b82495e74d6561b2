"""The network of a policy gradient as a torch module: logits of actions and the value of an infostate."""

import torch

from envs.game import GameSpec
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings

INITIAL_SCALE = 0.01
"""Factor of the output layer's initial weights: the first policies are nearly uniform, and values nearly 0."""


def policy_net(network: NetworkSettings, spec: GameSpec) -> ValueNet:
    """A fresh net; its last output is the value, see `learners.policy_gradient.outputs`.

    Raises:
        ValueError: the game lacks what the network needs.
    """
    net = ValueNet(network, spec, more=1)
    with torch.no_grad():
        net.out.weight.mul_(INITIAL_SCALE)
        net.out.bias.zero_()
    return net
