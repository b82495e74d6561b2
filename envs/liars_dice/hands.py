"""The hands of liar's dice: all multisets of dice, their probabilities, and the dice that count for each face."""

from itertools import combinations_with_replacement
from math import factorial, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Hands(NamedTuple):
    """The `H` hands that a player can roll, in lexicographic order of their sorted dice.

    Attributes:
        dice: The faces of each hand from 0, sorted, `uint8[H, dice]`.
        probability: Multinomial probability of each hand, `float64[H]`.
        matching: Number of dice of each hand that count for a bid on each face, wild dice included, `uint8[H, faces]`.
    """

    dice: NDArray[np.uint8]
    probability: NDArray[np.float64]
    matching: NDArray[np.uint8]


def all_hands(dice: int, faces: int) -> Hands:
    """Lists the hands of `dice` dice with `faces` faces, the highest of which is wild."""
    rolls = np.array(list(combinations_with_replacement(range(faces), dice)), np.uint8)
    counts = (rolls[:, :, None] == np.arange(faces)).sum(axis=1)
    orders = [factorial(dice) // prod(factorial(int(count)) for count in row) for row in counts]
    wild = np.where(np.arange(faces) < faces - 1, counts[:, -1:], 0)
    return Hands(rolls, np.array(orders) / float(faces**dice), (counts + wild).astype(np.uint8))


__all__ = ["Hands", "all_hands"]
