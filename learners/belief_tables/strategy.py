"""A policy by belief state in the form in which it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.geister_beliefs.tables import ROWS, SLOTS


@dataclass(frozen=True)
class BeliefStrategy:
    """The policy of both players. Rows that are not listed play uniformly.

    Attributes:
        rows: The listed rows of the table, ascending, `int32[n]`.
        policy: Probability of each column in these rows, `float32[n, 8]`.

    Raises:
        ValueError: the arrays are not a policy.
    """

    rows: NDArray[np.int32]
    policy: NDArray[np.float32]

    def __post_init__(self) -> None:
        rows, policy = self.rows, self.policy
        if rows.dtype != np.int32 or policy.dtype != np.float32 or policy.shape != (len(rows), SLOTS):
            raise ValueError(f"rows must be int32[n] and policies float32[n, {SLOTS}]")
        if len(rows) and not (rows[0] >= 0 and rows[-1] < ROWS and (np.diff(rows) > 0).all()):
            raise ValueError(f"rows must ascend within 0 to {ROWS - 1}")
        if not (np.isfinite(policy).all() and (policy >= 0).all() and np.allclose(policy.sum(1), 1, atol=1e-3)):
            raise ValueError("a row holds no policy: its probabilities must be at least 0 and add up to 1")

    @classmethod
    def of_sums(cls, sums: NDArray[np.float64]) -> "BeliefStrategy":
        """The average policy, from strategy sums `float64[ROWS, 8]`."""
        rows = np.flatnonzero(sums.any(axis=1))
        listed = sums[rows]
        return cls(rows.astype(np.int32), (listed / listed.sum(axis=1, keepdims=True)).astype(np.float32))

    def table(self) -> NDArray[np.float64]:
        """Probabilities of all rows, `float64[ROWS, 8]`; 0 in rows that are not listed."""
        table = np.zeros((ROWS, SLOTS))
        table[self.rows] = self.policy
        return table

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The strategy as arrays for a file."""
        return {"rows": self.rows, "policy": self.policy}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "BeliefStrategy":
        """Restores a strategy from its `arrays`.

        Raises:
            ValueError: the arrays are not a strategy.
        """
        if arrays.keys() != {"rows", "policy"}:
            raise ValueError(f"a strategy by belief state has rows and policy, not {', '.join(sorted(arrays))}")
        return cls(arrays["rows"], arrays["policy"])
