"""Settings of a network, which the torch module for training and the NumPy forward pass share."""

from typing import Any, Literal

from pydantic import Field

from envs.game import GameSpec
from learners.settings import Settings

Weights = dict[str, Any]
"""Arrays (`float32`) by name for `learners.networks.inference`: normalisation folded in, matrices `[in, out]`."""


class NetworkSettings(Settings):
    """Settings of an advantage, policy, baseline or value network.

    Attributes:
        trunk: ``flat`` feeds the game's flat encoding to the hidden layers; ``conv`` puts a 2x2 and a 1x1 convolution
            of 16 channels with tanh before them (paper 000, 5.2).
        width: Units of each hidden layer.
        depth: Number of hidden layers with ReLU, which have skip connections if input and output have the same size.
        norm: Normalisation before the linear output layer.
        outputs: Output layout, a key of `GameSpec.slots`.
    """

    trunk: Literal["flat", "conv"] = "flat"
    width: int = Field(128, ge=1, le=8192)
    depth: int = Field(3, ge=1, le=32)
    norm: Literal["batch", "layer", "none"] = "layer"
    outputs: str = "square"

    @property
    def encoding(self) -> str:
        """Key of `GameSpec.shapes` that this network reads."""
        return "planes" if self.trunk == "conv" else "flat"

    def check(self, spec: GameSpec) -> None:
        """Raises ValueError if the game does not provide the encoding or the outputs that this network needs."""
        if self.encoding not in spec.shapes:
            cure = (
                "use network.trunk=flat" if "flat" in spec.shapes else f"it has {', '.join(spec.shapes)}, not for nets"
            )
            raise ValueError(f"game {spec.name} has no {self.encoding} encoding: {cure}")
        if spec.num_actions > MOST_ACTIONS:
            raise ValueError(f"nets have at most {MOST_ACTIONS:,} actions; game {spec.name} has {spec.num_actions:,}")
        if self.outputs not in spec.slots:
            raise ValueError(
                f"game {spec.name} has outputs {', '.join(spec.slots)}, not {self.outputs or 'an empty name'}"
            )


MOST_ACTIONS = 1 << 15
"""Actions that fit in the records of samples, see `learners.samples`."""


def network_for(spec: GameSpec) -> NetworkSettings:
    """Default network for a game, with the layout of outputs that shares most between actions."""
    return NetworkSettings(outputs="move" if "move" in spec.slots else next(iter(spec.slots), "move"))


CONV_CHANNELS = 16
CONV_KERNEL = 2

MANY_OUTPUTS = 64
"""From this number of outputs on, computing only those of legal actions is cheaper than computing all of them."""
