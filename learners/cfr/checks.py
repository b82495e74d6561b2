"""Checks of arrays that Python passes to compiled functions, which do not check bounds."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.tree import Tree


def check_array(name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: Any = None) -> None:
    """Raises a ValueError that names the array unless it has this shape and, if `dtype` is given, this type."""
    if array.shape != shape or (dtype is not None and array.dtype != dtype):
        expected = f"{np.dtype(dtype or array.dtype)}{list(shape)}"
        raise ValueError(f"{name} must be {expected}, got {array.dtype}{list(array.shape)}")


def check_policy(tree: Tree, policy: NDArray[np.float64]) -> None:
    """Checks that a policy of both players, `float64[S]`, is a distribution at every infoset.

    Raises:
        ValueError: the shape is wrong, or a distribution is not; the message names the first such infoset.
    """
    check_array(f"a policy of {tree.name}", policy, (tree.num_slots,))
    sums = np.add.reduceat(policy, tree.slots[:-1])
    wrong = (policy < -1e-9) | ~np.isfinite(policy) | (np.abs(sums - 1) > 1e-6)[tree.slot_infoset]
    if wrong.any():
        infoset = int(tree.slot_infoset[np.flatnonzero(wrong)[0]])
        found = policy[tree.slots[infoset] : tree.slots[infoset + 1]]
        raise ValueError(
            f"the policy is not a distribution at infoset {infoset} of {tree.name}: {np.round(found, 6).tolist()}"
        )


def check_weight(weight: float) -> None:
    """Raises ValueError unless the weight of a warm start is positive and finite."""
    if not 0 < weight < math.inf:
        raise ValueError(f"weight must be positive and finite, got {weight}")


__all__ = ["check_array", "check_policy", "check_weight"]
