"""Divides each minibatch among several learners that train one net together. Needs no torch: buffers use it, too."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Share:
    """The part of each minibatch that one of several learners trains on.

    Attributes:
        batch: Rows of a whole minibatch.
        rank: Number of the learner, from 0.
        ranks: Number of learners.
    """

    batch: int
    rank: int
    ranks: int

    def cut(self, rows: int) -> slice:
        """The learner's rows of a minibatch of `rows` rows.

        A minibatch with fewer rows than there are learners goes to each of them as a whole, so that no learner is left
        without a row.
        """
        if rows < self.ranks:
            return slice(0, rows)
        return slice(rows * self.rank // self.ranks, rows * (self.rank + 1) // self.ranks)

    def weight(self, rows: int) -> float:
        """Weight of the mean over the learner's rows in the mean over all `rows` rows of a minibatch."""
        if rows < self.ranks:
            return 1.0 / self.ranks
        own = self.cut(rows)
        return float((own.stop - own.start) / rows)

    def of(self, rows: int) -> NDArray[np.int64]:
        """Indices of the learner's rows in consecutive minibatches of `rows` rows in all; the last may be short."""
        whole, rest = divmod(rows, self.batch)
        own = self.cut(self.batch)
        starts = np.arange(whole, dtype=np.int64) * self.batch
        places = (starts[:, None] + np.arange(own.start, own.stop)).ravel()
        own = self.cut(rest)
        return np.concatenate([places, whole * self.batch + np.arange(own.start, own.stop)])
