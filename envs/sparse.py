"""Sparse form of flat encodings: only the nonzero inputs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel


class Sparse(NamedTuple):
    """`B` rows of a flat encoding, each with at most `K` nonzero inputs.

    Attributes:
        place: Indices of the inputs, `int16[B, K]`; `K` is a multiple of 4.
        value: Their values, `float32[B, K]`; 0 is padding.
    """

    place: NDArray[np.int16]
    value: NDArray[np.float32]


@kernel
def dense(place, value, out):
    """Writes the dense encoding into `out`, `float32[B, inputs]`."""
    for b in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[b, i] = 0
        for k in range(place.shape[1]):
            out[b, place[b, k]] += value[b, k]


__all__ = ["Sparse", "dense"]
