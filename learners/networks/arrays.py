"""Types of the arrays that networks take and return, on CPUs and GPUs alike."""

import numpy as np
from numpy.typing import NDArray

from envs.sparse import Sparse

Floats = NDArray[np.float32]
View = Floats | Sparse
"""Encoded infostates: `float32[T, m, *shape]`, or `float32[1, m, *shape]` or `Sparse` of m rows for all networks."""

__all__ = ["Floats", "View"]
