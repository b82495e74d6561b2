"""How several learners that train one net together divide each minibatch. No torch: buffers read it, too."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Share:
    """What one of several learners, its rank, trains on: a part of each minibatch.

    Attributes:
        batch: Rows of a whole minibatch.
        rank: Which of the learners, from 0.
        ranks: How many there are.
    """

    batch: int
    rank: int
    ranks: int

    def cut(self, rows: int) -> slice:
        """The rank's rows of a minibatch of so many. One that has fewer rows than there are ranks is given to all of
        them, so that none is left without."""
        if rows < self.ranks:
            return slice(0, rows)
        return slice(rows * self.rank // self.ranks, rows * (self.rank + 1) // self.ranks)

    def weight(self, rows: int) -> float:
        """What the mean over the rank's rows of a minibatch weighs in the mean over all of its rows."""
        if rows < self.ranks:
            return 1.0 / self.ranks
        own = self.cut(rows)
        return (own.stop - own.start) / rows

    def of(self, rows: int) -> NDArray[np.int64]:
        """Places of the rank's rows among `rows` in a row, which begin with a minibatch; the last may be short."""
        whole, rest = divmod(rows, self.batch)
        own = self.cut(self.batch)
        starts = np.arange(whole, dtype=np.int64) * self.batch
        places = (starts[:, None] + np.arange(own.start, own.stop)).ravel()
        own = self.cut(rest)
        return np.concatenate([places, whole * self.batch + np.arange(own.start, own.stop)])
