"""Agents of value nets, and their evaluation: errors on held-out samples, and exploitability of the trunk strategy that
DL-CFR+ finds (paper 003)."""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.methods.agent_name import AgentName
from dancfr.methods.packed import Packed, refuse_nets
from dancfr.methods.stored import newest, trained_game
from dancfr.methods.value_functions.config import ValueFunctionConfig
from dancfr.methods.value_functions.solving import cut_game, load_net, trunk_of
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import GameBase
from learners.cfr.agent import TabularAgent
from learners.networks.settings import Weights
from learners.samples import range_value_dtype
from learners.storage import ForeignState, load_state, save_state
from learners.value_functions.completion import complete
from learners.value_functions.exploitability import TrunkEvaluator
from learners.value_functions.learner import validation_losses
from learners.value_functions.limit import Limit
from learners.value_functions.network import NetValues, RangeValueNet
from learners.value_functions.parts import split_game
from learners.value_functions.settings import ValueNetSettings
from learners.value_functions.solver import DepthLimitedSolver
from learners.value_functions.trunks import plans_of

POLICY = "trunk"
"""Name of the evaluated policy in the record."""


class ValueEvaluationServer:
    """Evaluates the newest net; holds the held-out samples.

    Args:
        game: The game.
        limit: Depth limit.
        network: Architecture of the net.
        iterations: Number of iterations of DL-CFR+.
    """

    def __init__(self, game: GameBase, limit: Limit, network: ValueNetSettings, iterations: int) -> None:
        self._split = split_game(game, limit)
        self._evaluator = TrunkEvaluator(self._split)
        self._network, self._iterations = network, iterations
        self._held: list[NDArray[np.void]] = []
        self._seen: set[tuple[int, ...]] = set()
        self._iteration, self._weights = 0, Weights()

    def hold(self, chunk: tuple[int, ...], rows: NDArray[np.void]) -> None:
        """Adds the held-out samples of a chunk, unless they were added before."""
        if chunk not in self._seen:
            self._seen.add(chunk)
            self._held.append(rows)

    def add(self, iteration: int, *nets: Weights) -> None:
        """Replaces the net by that of an iteration."""
        self._iteration, (self._weights,) = iteration, nets

    def evaluate(self, iteration: int, games: int, seed: tuple[int, ...]) -> list[dict[str, Any]]:
        """Computes errors on the held-out samples and exploitability of the trunk; returns a row for `metrics.jsonl`.

        Args:
            iteration: Iteration of the newest net.
            games, seed: Not used, since nothing is played or drawn.

        Raises:
            ValueError: the newest net belongs to another iteration.
        """
        if self._iteration != iteration:
            raise ValueError(f"cannot evaluate iteration {iteration}: the newest net is of {self._iteration}")
        started = perf_counter()
        net = RangeValueNet.load(self._split.encoding, self._network, self._weights).eval()
        row: dict[str, Any] = {"kind": "exploitability", "iteration": iteration, "policy": POLICY}
        held = np.concatenate(self._held) if self._held else np.zeros(0, range_value_dtype(self._split.encoding.width))
        if len(held):
            row |= {f"validation/{name}": value for name, value in validation_losses(net, held).items()}
        solver = DepthLimitedSolver(self._split, NetValues(self._split, net))
        solver.run(self._iterations)
        found = self._evaluator.evaluate(plans_of(self._split.trunk, solver.average_policies()))
        exploitability = max(float(found.exploitability[0]), 0.0)
        largest = self._split.tree.max_utility
        row |= {
            "exploitability": exploitability,
            "nash_conv": 2 * exploitability,
            "normalised_exploitability": exploitability / (largest or 1.0),
            "max_utility": largest,
        }
        return [row | {"time/exploitability_s": perf_counter() - started}]

    def save(self, path: str) -> None:
        """Writes the held-out samples to a file."""
        rows = np.concatenate(self._held) if self._held else np.zeros(0, range_value_dtype(self._split.encoding.width))
        save_state(path, {"rows": rows}, {"chunks": sorted(map(list, self._seen))})

    def load(self, path: str) -> None:
        """Restores the samples that `save` has written.

        Raises:
            DamagedFile: the file is incomplete or damaged.
            ForeignState: the file contains other samples.
        """
        arrays, meta = load_state(path)
        wanted = range_value_dtype(self._split.encoding.width)
        if "rows" not in arrays or arrays["rows"].dtype != wanted or "chunks" not in meta:
            raise ForeignState(f"{path} does not contain samples of this game")
        self._held = [arrays["rows"]] if len(arrays["rows"]) else []
        self._seen = {tuple(chunk) for chunk in meta["chunks"]}


def load_agent(run: Run, wanted: AgentName, game: GameBase) -> Agent:
    """Returns the agent of a run: the trunk strategy that DL-CFR+ finds with the newest net up to an iteration, and
    below the depth limit a solution of the subgames for the ranges of this strategy.

    Raises:
        UsageError: the run belongs to another game or has no net yet, or the file is damaged.
    """
    wanted.options({}, searches=False)
    config = run.config_as(ValueFunctionConfig)
    trained_game(wanted.shown, config, game)
    file = newest(run, wanted, "exploitability", f"at iteration {config.evaluation.every}")
    split = cut_game(config.game, config.game_options, str(config.cut))
    function = load_net(run, config, split, file.iteration)
    policy = complete(split, trunk_of(split, function, config.evaluation.iterations))
    try:
        return TabularAgent(split.tree.observed, split.tree.to_table(policy), wanted.text)
    except ValueError as error:  # players know more than `observe` shows
        raise UsageError(str(error)) from None


def pack(run: Run, wanted: AgentName, nets: int | None) -> Packed:
    """The packed agent of a name: its value net, with which each of its agents solves the game again.

    Raises:
        UsageError: the run has no net yet; or a number of nets is given.
    """
    wanted.options({}, searches=False)
    refuse_nets(wanted, nets)
    config = run.config_as(ValueFunctionConfig)
    file = newest(run, wanted, "exploitability", f"at iteration {config.evaluation.every}")
    return Packed.of(config.model_dump(mode="json"), file, *run.load_strategy(0, file.iteration), exact=True)
