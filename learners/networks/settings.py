"""How a network is built: one description for the torch module that learns and the NumPy pass that plays."""

from typing import Any, Literal

from pydantic import Field

from envs.game import GameSpec
from learners.settings import Settings

Weights = dict[str, Any]
"""Named arrays (`float32`) ready for `learners.networks.inference`: normalisation folded, matrices `[in, out]`."""


class NetworkSettings(Settings):
    """Description of an advantage or baseline network.

    Attributes:
        trunk: ``flat`` feeds the game's flat encoding to the hidden layers; ``conv`` puts a 2x2 and a 1x1 convolution
            of 16 channels with tanh before them (paper 000, 5.2).
        width: Units of each hidden layer.
        depth: Number of hidden layers, ReLU, with a skip connection where input and output agree.
        norm: Normalisation before the linear output.
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
        """Raises ValueError where the game lacks what this network needs."""
        if self.encoding not in spec.shapes:
            raise ValueError(f"game {spec.name} has no {self.encoding} encoding: use network.trunk=flat")
        if self.outputs not in spec.slots:
            raise ValueError(f"game {spec.name} has outputs {', '.join(spec.slots)}, not {self.outputs}")


CONV_CHANNELS = 16
CONV_KERNEL = 2
