"""Workers that solve the bottom of a game for the samples of a value function."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from envs.game import Game
from learners.networks.settings import Weights
from learners.value_function.limit import Limit
from learners.value_function.network import NetValues, RangeValueNet
from learners.value_function.parts import split_game
from learners.value_function.samples import asked_plans, random_plans, solve_samples
from learners.value_function.settings import ValueNetSettings, ValueSolving


@dataclass(frozen=True)
class ValueTask:
    """A chunk of strategies of the trunk.

    Attributes:
        seed: Of everything random in it: that of the run, the iteration, the chunk.
        strategies: How many.
        asked: Whether they are such as DL-CFR+ plays with the net of the moment, or random ones.
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
        """What tells its samples from others of the same seed: as many more strategies are other ones."""
        return f"{self.kind}{self.strategies}"


class ValueSolver:
    """Makes samples of a value function, in a process of its own.

    Args:
        game: The game.
        limit: Where it is cut.
        network: The net of the strategies that are asked for.
        settings: How bottoms are solved.
    """

    def __init__(self, game: Game, limit: Limit, network: ValueNetSettings, settings: ValueSolving) -> None:
        torch.set_num_threads(1)
        self._split = split_game(game, limit)
        self._network, self._settings = network, settings

    def solve(self, task: ValueTask, weights: Weights | None = None) -> tuple[dict[str, float], NDArray[np.void]]:
        """Samples of one chunk.

        Args:
            task: What is asked for.
            weights: Of the net, see `RangeValueNet.load`; needed where strategies are asked for.

        Returns:
            ``rows``, ``gap``: the largest gain of a best response, as a share of the largest return, and ``seconds``;
            rows of `learners.samples.range_value_dtype`, strategy by strategy.

        Raises:
            ValueError: strategies are asked for without a net.
        """
        started = perf_counter()
        rng = np.random.default_rng(np.random.SeedSequence(task.seed))
        if not task.asked:
            plans = random_plans(self._split, task.strategies, self._settings, rng)
        elif weights is None:
            raise ValueError("there is no net yet that could ask for values")
        else:
            function = NetValues(self._split, RangeValueNet.load(self._split.encoding, self._network, weights))
            plans = asked_plans(self._split, function, task.strategies, self._settings, rng)
        rows, gap = solve_samples(self._split, plans, self._settings, rng)
        return {"rows": len(rows), "gap": gap, "seconds": perf_counter() - started}, rows
