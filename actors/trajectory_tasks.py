"""Chunks of games for a policy gradient: the parties in their seats, the nets that play, and how the games ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.settings import NoiseSettings

LEARNER = 0
"""The party that learns; frozen opponents are 1, 2, ..., and rivals follow them."""
NOISE = -1
"""The party that plays in place of others where actions are random, see `NoiseSettings`."""


@dataclass(frozen=True)
class TrajectoryTask:
    """A chunk of games. The same task and weights always give the same samples.

    Attributes:
        seed: Entropy of the random generators, (run seed, iteration, chunk).
        tables: Number of games, and the party in each of their seats, see `LEARNER`.
    """

    seed: tuple[int, ...]
    tables: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def games(self) -> int:
        """Number of games in all."""
        return sum(games for games, _ in self.tables)


@dataclass(frozen=True)
class Rival:
    """Nets that play against the learner.

    Attributes:
        name: Name of the policy; no other rival has it.
        version: Number that no other nets of this name have.
        nets: Weights of the net of all players, or of each player's net.
        learns: Whether its decisions give samples, too, under its name.
        wins: What a win (`envs.game.outcomes_of`) is worth to it, by index of `GameSpec.endings`, in units of the
            largest return; wins by other endings are worth their return.
    """

    name: str
    version: int
    nets: tuple[Weights, ...]
    learns: bool = False
    wins: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TrajectoryWeights:
    """The nets that play.

    Attributes:
        version: Number that no other nets of the run have; 0 for new nets.
        network: Settings of the nets.
        nets: Weights of the net of all players, or of each player's net.
        rivals: Opponents that play by nets.
        threshold: Measured games leave out actions with less than this fraction of the highest probability.
    """

    version: int
    network: NetworkSettings
    nets: tuple[Weights, ...]
    rivals: tuple[Rival, ...] = ()
    threshold: float = 0.0


def draw_noise(
    noise: NoiseSettings | None, seats: NDArray[np.int8], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Number of random plies that each game begins with, `int64[games]`, and the probability of a random action of each
    player after these, `float64[games, players]`."""
    if noise is None:
        return np.zeros(len(seats), np.int64), np.zeros(seats.shape)
    plies = rng.integers(1, noise.opening_plies, len(seats), endpoint=True)
    opened = rng.random(len(seats)) < noise.openings
    rate = noise.tremble_rate * rng.random(seats.shape)
    trembles = (rng.random(seats.shape) < noise.tremble) & (seats == LEARNER)
    return np.where(opened, plies, 0), np.where(trembles, rate, 0.0)


def seats_of(task: TrajectoryTask) -> NDArray[np.int8]:
    """Party in each seat of each game, `int8[games, players]`."""
    return np.concatenate([np.tile(np.array(each, np.int8), (games, 1)) for games, each in task.tables])


def results_of(seats: NDArray[np.int8], returns: NDArray[np.float32], rewards: NDArray[np.float32]) -> dict[str, float]:
    """Games against each opponent, and the sum of the learner's returns in them, of a game the mean over its seats, and
    of what they were worth to the opponent: ``games/1``, ``return/1``, ``reward/1``, ..."""
    results = {}
    for party in np.unique(seats[seats != LEARNER]).tolist():
        games = (seats == party).any(axis=1)
        own, theirs = seats[games] == LEARNER, seats[games] == party
        results[f"games/{party}"] = float(games.sum())
        results[f"return/{party}"] = float(((returns[games] * own).sum(axis=1) / np.maximum(own.sum(axis=1), 1)).sum())
        results[f"reward/{party}"] = float(((rewards[games] * theirs).sum(axis=1) / theirs.sum(axis=1)).sum())
    return results
