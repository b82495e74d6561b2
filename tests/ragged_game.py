"""A small game with lists of actions of which everything is known: a heap of cards, and who takes the last one wins.

A player takes one, two or three cards in a move, of a suit that means nothing: actions that differ in their suit alone
have the same vector. With `m` cards left for the opponent, taking was right if and only if `m` is a multiple of 4.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from envs.game import GameSpec, IllegalAction, Packed, Ragged, States
from envs.sparse import Sparse
from learners.samples import pack_actions, value_dtype

MOST, SUITS = 3, 2
STATE = np.dtype([("heap", np.int8), ("mover", np.int8)])
ACTION = np.dtype([("take", np.uint8), ("suit", np.uint16)], align=True)  # with a byte between the fields

Choose = Callable[[States, Ragged], tuple[NDArray[np.int64], NDArray[np.float32]]]
"""Rows of the lists that are played, and the value of each as the chooser sees it."""


@dataclass(frozen=True)
class HeapGame:
    """Satisfies `envs.game.ListedGame`.

    Attributes:
        largest: The heap has 1 .. `largest` cards at the start, all alike likely.
        scripted_at: Heap at which the decision is left to a heuristic, which takes as many as it can; 0 is none.
    """

    largest: int = 7
    scripted_at: int = 0
    spec: GameSpec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        spec = GameSpec(
            name="heap",
            num_players=2,
            num_actions=MOST * SUITS,
            packed_size=1,
            shapes={"flat": (self.largest,), "square": (self.largest, 1), "number": (1,)},
            slots={},
            endings=("running", "over"),
            max_plies=self.largest,
            action_features=4,
        )
        object.__setattr__(self, "spec", spec)

    @property
    def action_dtype(self) -> np.dtype[np.void]:
        return ACTION

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        states = np.zeros(batch, STATE)
        states["heap"] = rng.integers(1, self.largest + 1, batch)
        return states

    def to_move(self, states: States) -> NDArray[np.int8]:
        return np.where(states["heap"] > 0, states["mover"], np.int8(-1))

    def legal(self, states: States) -> Ragged:
        return _listed(states, SUITS)

    def choices(self, states: States) -> Ragged:
        return _listed(states, 1)

    def step(self, states: States, actions: NDArray[np.void]) -> None:
        running = states["heap"] > 0
        take = actions["take"].astype(np.int8)
        if ((take < 1) | (take > np.minimum(states["heap"], MOST)))[running].any():
            raise IllegalAction("more cards than there are, or none, or too many in a move")
        states["heap"] -= np.where(running, take, np.int8(0))
        states["mover"] ^= running

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        return states["heap"].astype(np.uint8)[:, None]

    def encode(self, packed: Packed, encoding: str) -> NDArray[np.float32]:
        if encoding == "number":
            return packed.astype(np.float32) / self.largest
        return (packed == np.arange(1, self.largest + 1)).astype(np.float32)

    def encode_actions(self, actions: NDArray[np.void]) -> Sparse:
        """Entry 0 is how many cards, entries 1 .. 3 say it one-hot."""
        place, value = np.zeros((len(actions), 4), np.int16), np.zeros((len(actions), 4), np.float32)
        value[:, 0], place[:, 2], value[:, 2] = actions["take"] / MOST, actions["take"], 1
        return Sparse(place, value)

    def finished(self, states: States) -> NDArray[np.bool_]:
        return states["heap"] == 0

    def returns(self, states: States) -> NDArray[np.float32]:
        first = np.where(states["mover"] == 1, 1, -1) * self.finished(states)
        return np.stack([first, -first], axis=1).astype(np.float32)

    def endings(self, states: States) -> NDArray[np.int8]:
        return self.finished(states).astype(np.int8)

    def rounds(self, states: States) -> NDArray[np.int64]:
        return self.finished(states).astype(np.int64)

    def round_returns(self, states: States) -> NDArray[np.float32]:
        return self.returns(states)

    def scripted(self, states: States) -> NDArray[np.bool_]:
        return (states["heap"] == self.scripted_at) & (states["heap"] > 0)

    def script(self, states: States, choices: Ragged) -> NDArray[np.int64]:
        return choices.offsets[1:] - 1

    def positions(self) -> tuple[Packed, NDArray[np.int64], NDArray[np.void]]:
        """Every heap that one can move at, packed, with the lists of its choices."""
        states = np.zeros(self.largest, STATE)
        states["heap"] = np.arange(1, self.largest + 1)
        offsets, rows = self.choices(states)
        return self.observe(states, self.to_move(states)), offsets, rows

    def optimal_values(self) -> NDArray[np.float32]:
        """Value of each choice of `positions` if both play as well as can be."""
        packed, offsets, rows = self.positions()
        left = np.repeat(packed[:, 0], np.diff(offsets)) - rows["take"]
        return np.where(left % 4 == 0, 1, -1).astype(np.float32)

    def uniform_values(self) -> NDArray[np.float32]:
        """Value of each choice of `positions` if both then choose at random."""
        state = [-1.0]  # to the player who moves: of an empty heap, the last card was the other's
        for heap in range(1, self.largest + 1):
            state.append(float(np.mean([-state[heap - take] for take in range(1, min(heap, MOST) + 1)])))
        packed, offsets, rows = self.positions()
        left = np.repeat(packed[:, 0], np.diff(offsets)) - rows["take"]
        return -np.array(state, np.float32)[left]


def _listed(states: States, suits: int) -> Ragged:
    counts = np.minimum(states["heap"], MOST).astype(np.int64) * suits
    offsets = np.concatenate([[0], np.cumsum(counts)])
    number = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    rows = np.empty(len(number), ACTION)
    rows["take"], rows["suit"] = number // suits + 1, number % suits
    return Ragged(offsets, rows)


def choose_uniformly(rng: np.random.Generator) -> Choose:
    """A chooser that knows no values: it gives 0 for all."""

    def choose(states: States, choices: Ragged) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return rng.integers(choices.offsets[:-1], choices.offsets[1:]), np.zeros(len(states), np.float32)

    return choose


def play(game: HeapGame, batch: int, choose: Choose, version: int, rng: np.random.Generator) -> NDArray[np.void]:
    """Self-play of `batch` games to their ends: a `value_dtype` row for every decision."""
    states = game.reset(batch, rng)
    blocks, who = [], []
    while len(running := np.flatnonzero(~game.finished(states))):
        part = states[running]
        mover, listed = game.to_move(part), game.choices(part)
        chosen, values = choose(part, listed)
        block = np.zeros(len(running), value_dtype(game.spec, game.action_dtype))
        block["infostate"], block["q"], block["version"] = game.observe(part, mover), values, version
        block["action"] = pack_actions(listed.rows[chosen])
        game.step(part, listed.rows[chosen])
        states[running] = part
        blocks.append(block)
        who.append((running, mover))
    returns = game.returns(states)
    for block, (games, mover) in zip(blocks, who, strict=True):
        block["target"] = returns[games, mover]
    return np.concatenate(blocks)
