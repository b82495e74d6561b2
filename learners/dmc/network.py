"""The Q-network, which maps a state and an action to a value. `B` pairs, `F` features of a state, `A` of an action."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from envs.game import GameSpec
from envs.sparse import Sparse
from learners.dmc.critic import NAME
from learners.dmc.settings import DmcTrainingSettings, QNetworkSettings
from learners.networks.modules import tanh
from learners.networks.settings import Weights


class QNet(nn.Module):
    """`depth` hidden layers over state and action side by side, and one linear output (paper 004, IV-A).

    With a tower, `tower` hidden layers over the state alone take the place of the state.

    Args:
        settings: Settings of the network.
        spec: Constants of the game.

    Raises:
        ValueError: the game lacks what the network needs.
    """

    def __init__(self, settings: QNetworkSettings, spec: GameSpec) -> None:
        super().__init__()
        settings.check(spec)
        self.settings = settings
        self.state_inputs, self.action_inputs = settings.inputs(spec)
        joined = settings.joined(spec)
        sizes = [joined + self.action_inputs] + [settings.width] * settings.depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.out = nn.Linear(settings.width, 1)
        tower = [self.state_inputs] + [settings.tower_width] * settings.tower
        self.tower = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(tower))

    def forward(self, pairs: Tensor) -> Tensor:
        """Values `[B]` of pairs of state and action, `[B, F + A]`."""
        squash = tanh if self.settings.activation == "tanh" else torch.relu
        x = pairs
        if self.tower:
            x = pairs[:, : self.state_inputs]
            for layer in self.tower:
                x = squash(layer(x))
            x = torch.cat([x, pairs[:, self.state_inputs :]], dim=1)
        for layer in self.hidden:
            x = squash(layer(x))
        return self.out(x)[:, 0]

    def tensors(self, states: NDArray[np.float32], actions: Sparse) -> Tensor:
        """States `float32[B, F]` with one action each as the input of `forward`, on the network's device."""
        device = self.out.weight.device
        place, value = (torch.from_numpy(array).to(device, non_blocking=True) for array in actions)
        pairs = torch.zeros(len(states), self.state_inputs + self.action_inputs, device=device)
        pairs[:, : self.state_inputs] = torch.from_numpy(states).to(device, non_blocking=True)
        return pairs.scatter_add_(1, place.long() + self.state_inputs, value)

    def inference_weights(self) -> Weights:
        """Arrays for `learners.networks.q_inference`: matrices `[in, out]`, the first one split between state (or
        the end of its tower) and action (``state.w [F, H]``, ``action.w [A, H]``)."""
        weights: Weights = {}
        for i, layer in enumerate(self.tower):
            weights |= {f"tower{i}.w": _matrix(layer.weight), f"tower{i}.b": _array(layer.bias)}
        for i, layer in enumerate(self.hidden):
            weights |= {f"hidden{i}.w": _matrix(layer.weight), f"hidden{i}.b": _array(layer.bias)}
        first = weights.pop("hidden0.w")
        at = len(first) - self.action_inputs
        weights["state.w"], weights["action.w"] = first[:at].copy(), first[at:].copy()
        return weights | {"out.w": _matrix(self.out.weight), "out.b": _array(self.out.bias)}


class QWithCritic(nn.Module):
    """A Q-net, which learns advantages, and a critic.

    Args:
        settings: Settings of the Q-net.
        training: Size of the critic.
        spec: Constants of the game.
        inputs: Inputs of the critic, `F`.

    Raises:
        ValueError: the game lacks what the network needs.
    """

    def __init__(self, settings: QNetworkSettings, training: DmcTrainingSettings, spec: GameSpec, inputs: int) -> None:
        super().__init__()
        self.q = QNet(settings, spec)
        sizes = [inputs] + [training.critic_width] * training.critic_depth
        self.critic = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.value = nn.Linear(training.critic_width, 1)

    def forward(self, pairs: Tensor, full: Tensor) -> Tensor:
        """The Q-net's values of pairs of state and action, and the critic's values of states `[B, F]`: `[B, 2]`."""
        x = full
        for layer in self.critic:
            x = tanh(layer(x))
        return torch.stack([self.q(pairs), self.value(x)[:, 0]], dim=1)

    def tensors(self, *arguments: Any) -> Tensor:
        """See `QNet.tensors`."""
        return self.q.tensors(*arguments)

    def inference_weights(self) -> Weights:
        """The arrays of the Q-net, and under its name those of the critic."""
        weights = self.q.inference_weights()
        for i, layer in enumerate([*self.critic, self.value]):
            weights |= {f"{NAME}.{i}.w": _matrix(layer.weight), f"{NAME}.{i}.b": _array(layer.bias)}
        return weights


def _array(tensor: Any) -> NDArray[np.float32]:
    return tensor.detach().cpu().float().numpy().copy()


def _matrix(weight: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(_array(weight).T)
