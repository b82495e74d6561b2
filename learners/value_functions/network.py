"""The value net over public states and ranges (paper 003, Encoding of Inputs and Outputs), and its use as a value
function.

`B` rows, `S` public states, `W` places of both players' ranges together.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from learners.value_functions.parts import Pair, Split
from learners.value_functions.public import Encoding
from learners.value_functions.settings import ValueNetSettings
from learners.value_functions.trunks import normalise, sums_by_public

_TINY = 1e-30
"""Reach probability below which a public state counts as one that no player reaches."""


class RangeValueNet(nn.Module):
    """Maps a public state and both ranges, of the form `ValueNetSettings.ranges`, to the counterfactual values of both
    players.

    Hidden layers are linear with ReLU. Outputs in places that do not belong to the public state are 0. With `zero_sum`,
    the sum of ranges times values, which should be 0, is subtracted from each player's values in equal shares (Moravčík
    et al. 2017).

    Args:
        encoding: Public states and places.
        settings: Size and form.
        scale: Value of an output of 1, in the game's unit.
    """

    features: Tensor
    mask: Tensor
    scale: Tensor
    gain: Tensor

    def __init__(self, encoding: Encoding, settings: ValueNetSettings, scale: float) -> None:
        super().__init__()
        self.settings, self.split_at = settings, encoding.widths[0]
        sizes = [encoding.inputs] + [settings.width] * settings.depth
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], encoding.width))
        mask = torch.from_numpy(encoding.mask().astype(np.float32))
        self.register_buffer("features", torch.from_numpy(encoding.features), persistent=False)
        self.register_buffer("mask", mask, persistent=False)
        self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32))
        # Ranges of many places have small entries. Where they sum to 1, the gain makes their sum of squares like that
        # of one-hot features.
        counts = torch.stack([mask[:, : self.split_at].sum(1), mask[:, self.split_at :].sum(1)], 1).mean(0)
        gain = torch.cat([counts[0].sqrt().repeat(encoding.widths[0]), counts[1].sqrt().repeat(encoding.widths[1])])
        self.register_buffer("gain", gain, persistent=False)

    def forward(self, public: Tensor, ranges: Tensor) -> Tensor:
        """Values in units of `scale`, `[B, W]`, of public states `int64[B]` and ranges `float32[B, W]`."""
        mask = self.mask[public]
        values = self.layers(torch.cat([self.features[public], ranges * self.gain], dim=1)) * mask
        if self.settings.zero_sum:
            share = 0.5 if self.settings.normalises else 1 / ranges.sum(dim=1, keepdim=True).clamp_min(_TINY)
            values = values - share * (values * ranges).sum(dim=1, keepdim=True) * mask
        found: Tensor = values
        return found

    def inference_weights(self) -> dict[str, NDArray[np.float32]]:
        """The weights for `load`, by name."""
        return {name: value.detach().cpu().numpy().copy() for name, value in self.state_dict().items()}

    @classmethod
    def load(cls, encoding: Encoding, settings: ValueNetSettings, weights: dict[str, Any]) -> "RangeValueNet":
        """Makes a net with these weights.

        Raises:
            ValueError: the weights belong to another net.
        """
        net = cls(encoding, settings, 1.0)
        wanted = net.state_dict()
        for name in [*wanted, *(name for name in weights if name not in wanted)]:
            shapes = [tuple(held[name].shape) if name in held else None for held in (weights, wanted)]
            if shapes[0] != shapes[1]:
                raise ValueError(f"these weights belong to another net: {name} must be {shapes[1]}, got {shapes[0]}")
        net.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in weights.items()})
        return net.eval()


class NetValues:
    """A net as a value function of one game, see `learners.value_functions.solver.ValueFunction`.

    Counterfactual values have degree 1 in the opponent's range and 0 in the player's range. So ranges may be scaled to
    sum to 1 and the net's outputs scaled back, which is exact. A player who does not reach a public state has a uniform
    range there. Nets of reach probabilities get them as they are; where the other player's are 0, so are the values.

    Args:
        split: The game.
        net: The net.
    """

    def __init__(self, split: Split, net: RangeValueNet) -> None:
        self.split, self.net = split, net.eval()

    def values(self, ranges: Pair) -> Pair:
        """Counterfactual values of each player's histories for both players' ranges, `[H, K]` of each player."""
        encoding, batch = self.split.encoding, ranges[0].shape[1]
        if self.net.settings.normalises:
            scaled, factors = normalise(self.split, ranges)
        else:
            first, second = (sums_by_public(self.split, player, ranges[player]) > 0 for player in (0, 1))
            scaled, factors = ranges, (first, second)
        inputs = rows_of(encoding, (scaled[0].astype(np.float32), scaled[1].astype(np.float32)))
        public = torch.arange(encoding.num_public).repeat_interleave(batch)
        with torch.inference_mode():
            found = self.net(public, torch.from_numpy(inputs)).numpy() * float(self.net.scale)
        found = found.reshape(encoding.num_public, batch, encoding.width)
        values = []
        for player in (0, 1):
            own = found[:, :, encoding.columns(player)].transpose(0, 2, 1)
            values.append(encoding.gather(player, own) * factors[1 - player][encoding.public[player]])
        return values[0], values[1]


def rows_of(encoding: Encoding, amounts: Pair) -> NDArray[Any]:
    """Arranges values by history, `[H, K]` of each player, as rows of a net's inputs or outputs, `[S * K, W]`."""
    parts = [encoding.spread(player, amounts[player]).transpose(0, 2, 1) for player in (0, 1)]
    return np.concatenate(parts, axis=2).reshape(-1, encoding.width)


__all__ = ["NetValues", "RangeValueNet", "rows_of"]
