"""Workers that produce training samples of a value function by solving the bottom of a game."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from actors.warm_up import WarmUp
from envs.game import GameBase
from learners.networks.settings import Weights
from learners.value_functions.limit import Limit
from learners.value_functions.network import NetValues, RangeValueNet
from learners.value_functions.parts import split_game
from learners.value_functions.samples import asked_plans, random_plans, solve_samples
from learners.value_functions.settings import ValueNetSettings, ValueSolving


@dataclass(frozen=True)
class ValueTask:
    """A chunk of policies of the trunk.

    Attributes:
        seed: Seed of all random numbers: the run's seed, the iteration, the chunk.
        strategies: Number of policies.
        asked: Whether the policies are those that DL-CFR+ visits with the current net, or random ones.
    """

    seed: tuple[int, int, int]
    strategies: int
    asked: bool

    @property
    def kind(self) -> str:
        """``asked`` or ``random``."""
        return "asked" if self.asked else "random"

    @property
    def shard(self) -> str:
        """Name that distinguishes the samples from others of the same seed, which depend on the number of policies."""
        return f"{self.kind}{self.strategies}"


class ValueSolver(WarmUp):
    """Produces samples of a value function in a process of its own.

    Args:
        game: The game.
        limit: Where the game is cut.
        network: Settings of the net that `asked` tasks use.
        settings: Settings of the policies and of solving.
    """

    def __init__(self, game: GameBase, limit: Limit, network: ValueNetSettings, settings: ValueSolving) -> None:
        torch.set_num_threads(1)
        self._split = split_game(game, limit)
        self._network, self._settings = network, settings

    def solve(self, task: ValueTask, weights: Weights | None = None) -> tuple[dict[str, float], NDArray[np.void]]:
        """Produces the samples of one chunk.

        Args:
            task: The chunk.
            weights: Weights of the net, see `RangeValueNet.load`; `asked` tasks need them.

        Returns:
            Metrics: ``rows``, ``seconds``, and ``gap``, the largest gain of a best response, as a share of the largest
            return; and rows of `learners.samples.range_value_dtype`, policy by policy.

        Raises:
            ValueError: an `asked` task comes without weights.
        """
        started = perf_counter()
        rng = np.random.default_rng(np.random.SeedSequence(task.seed))
        if not task.asked:
            plans = random_plans(self._split, task.strategies, self._settings, rng)
        elif weights is None:
            raise ValueError("an asked task needs the weights of a net, got None")
        else:
            function = NetValues(self._split, RangeValueNet.load(self._split.encoding, self._network, weights))
            plans = asked_plans(self._split, function, task.strategies, self._settings, rng)
        rows, gap = solve_samples(self._split, plans, self._settings, rng)
        return {"rows": len(rows), "gap": gap, "seconds": perf_counter() - started}, rows
