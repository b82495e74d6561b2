"""Measures of beliefs about hands on positions whose true hands are known. `n` positions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from envs.game import States
from envs.guandan.beliefs.evidence import observe
from envs.guandan.beliefs.knowledge import MOST, OTHERS, PLACES, Knowledge, hands_by_place
from envs.guandan.beliefs.net import HandsBelief, count_chances, expected_cards
from envs.guandan.beliefs.placements import STEPS, score_deals

BINS = 10
PART = 4096
"""Positions at a time."""


class Found(NamedTuple):
    """A belief beside the true hands.

    Attributes:
        loss: Logarithmic loss of the true deal, card by card, in nats, `float64[n]`.
        right: Expected number of unseen cards that a deal drawn from the belief places right, `float64[n]`.
        predicted, observed, events: By bins of ten percent: the sum of the predicted probabilities that a hand holds at
            least 1, 2, 3, ... of a place's cards, how often it did, and the number of such events, `float64[BINS]`.
    """

    loss: NDArray[np.float64]
    right: NDArray[np.float64]
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    events: NDArray[np.float64]


def judged(belief: HandsBelief | None, states: States) -> Found:
    """Measures a belief, or without one the knowledge of the tributes alone, as the mover of each position has it."""
    parts = [_judged(belief, states[start : start + PART]) for start in range(0, len(states), PART)]
    loss, right = (np.concatenate([part[i] for part in parts]) for i in range(2))
    return Found(loss, right, *(np.sum([part[i] for part in parts], axis=0) for i in range(2, 5)))


def _judged(belief: HandsBelief | None, states: States) -> Found:
    movers = states["to_move"].astype(np.int64)
    by_seat, by_table, known = observe(states, movers)
    zeros = np.zeros((len(states), OTHERS, PLACES, STEPS))
    scores = zeros if belief is None else belief.scores(by_seat, by_table)
    held, logs = hands_by_place(states, movers), np.empty(len(states))
    score_deals(known.free, known.room, known.known, known.most, scores, held, logs, np.empty_like(scores))
    chances = count_chances(known, scores)
    expected = expected_cards(known, chances)
    free = np.maximum(known.free, 1)[:, None, :]  # a known card is placed right, the free ones of a place are alike
    right = (known.known + (held - known.known) * (expected - known.known) / free).sum(axis=(1, 2))
    return Found(-logs, right, *_reliability(known, chances, held))


def _reliability(
    known: Knowledge, chances: NDArray[np.float64], held: NDArray[np.uint8]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The sums of `Found` over bins of predicted probabilities."""
    at_least = chances[..., ::-1].cumsum(axis=-1)[..., ::-1][..., 1:]  # [n, 3, 16, MOST]
    number = np.arange(1, MOST + 1)
    true = (held - known.known)[..., None] >= number
    open_ones = (known.free[:, None, :, None] >= number) & (known.most - known.known > 0)[..., None]
    chance, happened = at_least[open_ones], true[open_ones]
    bins = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    predicted = np.bincount(bins, chance, BINS).astype(np.float64)
    observed = np.bincount(bins, happened.astype(np.float64), BINS).astype(np.float64)
    return predicted, observed, np.bincount(bins, minlength=BINS).astype(np.float64)


def uniform(states: States) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The loss and the cards placed right by uniform deals, and the number of unseen cards, each `float64[n]`."""
    seats = (states["to_move"][:, None].astype(np.int64) + np.arange(1, OTHERS + 1)) % (OTHERS + 1)
    sizes = np.take_along_axis(states["left"], seats, axis=1).astype(np.float64)
    cards = sizes.sum(axis=1)
    loss = gammaln(cards + 1) - gammaln(sizes + 1).sum(axis=1)
    return loss, (sizes**2).sum(axis=1) / cards, cards


__all__ = ["BINS", "Found", "judged", "uniform"]
