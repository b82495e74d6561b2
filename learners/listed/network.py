"""The Q-network, which maps a state and an action to a value. `B` pairs, `F` features of a state, `A` of an action."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from envs.game import GameSpec
from envs.sparse import Sparse
from learners.devices import send
from learners.listed.critic import NAME, without_critic
from learners.listed.settings import ListedTrainingSettings, QNetworkSettings
from learners.networks.modules import linear_arrays, load_linear, tanh
from learners.networks.settings import Weights
from learners.storage import arrays_under

CPU_ROWS = 1024
"""Rows of a minibatch whose gradient is computed at a time on a CPU. The outputs of all layers then stay in the
third-level cache, which made the paper's minibatch of 32,768 a tenth faster. Fewer rows slow matrix products down."""


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
        found: Tensor = self.out(x)[:, 0]
        return found

    def of_choices(self, states: Tensor, owner: Tensor, actions: Tensor) -> Tensor:
        """Values of several actions of each state, `[N]`; layers that see the state alone run once for each.

        Args:
            states: `[B, F]`.
            owner: The state of each action, `int64[N]`.
            actions: Features of the actions, `[N, A]`.
        """
        squash = tanh if self.settings.activation == "tanh" else torch.relu
        x = states
        for layer in self.tower:
            x = squash(layer(x))
        first: Any = self.hidden[0]
        at = first.in_features - self.action_inputs
        base = nn.functional.linear(x, first.weight[:, :at], first.bias)
        x = squash(base[owner] + nn.functional.linear(actions, first.weight[:, at:]))
        for layer in self.hidden[1:]:
            x = squash(layer(x))
        found: Tensor = self.out(x)[:, 0]
        return found

    def tensors(self, states: NDArray[np.float32], actions: Sparse) -> Tensor:
        """States `float32[B, F]` with one action each as the input of `forward`, on the network's device."""
        device = self.out.weight.device
        place, value = (send(array, device) for array in actions)
        pairs = torch.zeros(len(states), self.state_inputs + self.action_inputs, device=device)
        pairs[:, : self.state_inputs] = send(states, device)
        return pairs.scatter_add_(1, place.long() + self.state_inputs, value)

    def inference_weights(self) -> Weights:
        """Arrays for `learners.networks.q_inference`: matrices `[in, out]`, the first one split between state (or
        the end of its tower) and action (``state.w [F, H]``, ``action.w [A, H]``)."""
        weights: Weights = {}
        for i, layer in enumerate(self.tower):
            weights |= linear_arrays(f"tower{i}", layer)
        for i, layer in enumerate(self.hidden):
            weights |= linear_arrays(f"hidden{i}", layer)
        first = weights.pop("hidden0.w")
        at = len(first) - self.action_inputs
        weights["state.w"], weights["action.w"] = first[:at].copy(), first[at:].copy()
        return weights | linear_arrays("out", self.out)

    def load_inference_weights(self, weights: Weights) -> None:
        """Reverse of `inference_weights`.

        Raises:
            ValueError: the arrays are of another network.
        """
        arrays = dict(weights)
        if "state.w" in arrays and "action.w" in arrays:
            arrays["hidden0.w"] = np.concatenate([arrays.pop("state.w"), arrays.pop("action.w")])
        layers: dict[str, Any] = {f"tower{i}": layer for i, layer in enumerate(self.tower)}
        layers |= {f"hidden{i}": layer for i, layer in enumerate(self.hidden)} | {"out": self.out}
        load_linear(layers, arrays)


class QWithCritic(nn.Module):
    """A Q-net, which learns advantages or logits, and a critic.

    Args:
        settings: Settings of the Q-net.
        training: Size of the critic.
        spec: Constants of the game.
        inputs: Inputs of the critic, `F`.

    Raises:
        ValueError: the game lacks what the network needs.
    """

    def __init__(
        self, settings: QNetworkSettings, training: ListedTrainingSettings, spec: GameSpec, inputs: int
    ) -> None:
        super().__init__()
        self.q = QNet(settings, spec)
        sizes = [inputs] + [training.critic_width] * training.critic_depth
        self.critic = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.value = nn.Linear(training.critic_width, 1)

    def forward(self, pairs: Tensor, full: Tensor) -> Tensor:
        """The Q-net's values of pairs of state and action, and the critic's values of states `[B, F]`: `[B, 2]`."""
        return torch.stack([self.q(pairs), self.values(full)], dim=1)

    def values(self, full: Tensor) -> Tensor:
        """The critic's values of states `[B, F]`: `[B]`."""
        x = full
        for layer in self.critic:
            x = tanh(layer(x))
        value: Tensor = self.value(x)[:, 0]
        return value

    def tensors(self, *arguments: Any) -> Tensor:
        """See `QNet.tensors`."""
        return self.q.tensors(*arguments)

    def inference_weights(self) -> Weights:
        """The arrays of the Q-net, and under its name those of the critic."""
        weights = self.q.inference_weights()
        for i, layer in enumerate([*self.critic, self.value]):
            weights |= linear_arrays(f"{NAME}.{i}", layer)
        return weights

    def load_inference_weights(self, weights: Weights) -> None:
        """Reverse of `inference_weights`; without arrays of a critic, that of this network stays.

        Raises:
            ValueError: the arrays are of another network.
        """
        self.q.load_inference_weights(without_critic(weights))
        critic = arrays_under(weights, NAME)
        if critic:
            load_linear({str(i): layer for i, layer in enumerate([*self.critic, self.value])}, critic)
