"""A net's belief about the hidden hands of GuanDan, on a CPU: expected cards, and deals drawn from it.

The net is that of `learners.guandan_beliefs.network`; its weights come with the program.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from envs.game import States
from envs.guandan.beliefs.evidence import SEAT_INPUTS, TABLE_INPUTS, observe
from envs.guandan.beliefs.knowledge import MOST, OTHERS, PLACES, Knowledge
from envs.guandan.beliefs.placements import STEPS, deal_into, write_chances

FILE = Path(__file__).with_name("hands.safetensors")
"""The weights that come with the program, in half precision."""

Weights = Mapping[str, NDArray[np.float32]]


class HandsBelief:
    """A belief about the three other hands, as scores of deals (see `placements`).

    Args:
        weights: ``NAME.w``, `[inputs, outputs]`, and ``NAME.b`` of the layers ``seat``, ``table``, ``hidden``, ``out``.

    Raises:
        ValueError: the weights are not those of such a net.
    """

    def __init__(self, weights: Weights) -> None:
        self._layers = {}
        for name in ("seat", "table", "hidden", "out"):
            if f"{name}.w" not in weights or f"{name}.b" not in weights:
                raise ValueError(f"the weights of a belief about hands have a layer {name}, but these do not")
            self._layers[name] = tuple(np.ascontiguousarray(weights[f"{name}.{x}"], np.float32) for x in "wb")
        seat, table, out = (self._layers[name][0] for name in ("seat", "table", "out"))
        width = OTHERS * seat.shape[1] + TABLE_INPUTS
        if (seat.shape[0], table.shape[0], out.shape[1]) != (SEAT_INPUTS, width, PLACES * STEPS):
            raise ValueError("the weights are those of a belief with other inputs: train it again")

    def scores(self, by_seat: NDArray[np.uint8], by_table: NDArray[np.uint8]) -> NDArray[np.float64]:
        """The scores of `placements`, `float64[B, 3, 16, STEPS]`, from the inputs of `evidence.observe`."""
        seats = self._relu("seat", by_seat.reshape(-1, SEAT_INPUTS).astype(np.float32))
        width = seats.shape[1]
        x = self._relu("table", np.hstack([seats.reshape(-1, OTHERS * width), by_table]).astype(np.float32))
        x = self._relu("hidden", x) + x
        w, b = self._layers["out"]
        shared = x @ w[width:] + b
        scores = (seats @ w[:width]).reshape(len(x), OTHERS, -1) + shared[:, None]
        return scores.reshape(len(x), OTHERS, PLACES, STEPS).astype(np.float64)

    def judge(self, states: States, players: NDArray[Any]) -> tuple[Knowledge, NDArray[np.float64]]:
        """The knowledge and the scores of players, `[B]`, at their tables, `[B]` records."""
        by_seat, by_table, knowledge = observe(states, players)
        return knowledge, self.scores(by_seat, by_table)

    def expected(self, states: States, players: NDArray[Any]) -> NDArray[np.float64]:
        """The expected number of cards of each place in the hands of the next seat, the partner and the previous seat,
        `float64[B, 3, 16]`."""
        knowledge, scores = self.judge(states, players)
        return expected_cards(knowledge, count_chances(knowledge, scores))

    def deal(self, states: States, players: NDArray[Any], seeds: NDArray[np.uint64]) -> None:
        """Deals the cards that players do not see again, in place; a seed, `uint64[B]`, determines a deal."""
        knowledge, scores = self.judge(states, players)
        deal_into(states, np.ascontiguousarray(players, np.int64), knowledge, scores, np.asarray(seeds, np.uint64))

    def _relu(self, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
        w, b = self._layers[name]
        out: NDArray[np.float32] = x @ w
        out += b
        np.maximum(out, 0, out=out)
        return out


def count_chances(knowledge: Knowledge, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of each number of cards of each place that are not known, `float64[B, 3, 16, MOST + 1]`."""
    chances = np.empty((*scores.shape[:3], MOST + 1))
    write_chances(knowledge.free, knowledge.room, knowledge.known, knowledge.most, scores, chances)
    return chances


def expected_cards(knowledge: Knowledge, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The expected number of cards of each place in each hand, `float64[B, 3, 16]`, from those of `count_chances`."""
    found: NDArray[np.float64] = knowledge.known.astype(np.float64) + chances @ np.arange(MOST + 1.0)
    return found


@cache
def shipped_belief() -> HandsBelief:
    """The belief that comes with the program, learnt from rounds of `pretrained:guandan` against itself."""
    return HandsBelief(load_file(FILE))


__all__ = ["FILE", "HandsBelief", "count_chances", "expected_cards", "shipped_belief"]
