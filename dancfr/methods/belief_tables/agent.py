"""Agents of runs with tables of belief states."""

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.methods.agent_name import AgentName
from dancfr.methods.belief_tables.config import BeliefTablesConfig
from dancfr.methods.packed import Packed, refuse_nets
from dancfr.methods.stored import misfit, newest, trained_game
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import GameBase
from learners.belief_tables.agent import BeliefAgent
from learners.belief_tables.solver import check_game
from learners.belief_tables.strategy import BeliefStrategy
from learners.geister_beliefs.belief import Update

_OPTIONS = {"average": ("exact",)}
"""Options of the agents' names."""


class BeliefTablePolicies:
    """The newest average policy of a run during training; implements `dancfr.evaluation.server.Policies`.

    Args:
        belief: How beliefs are updated.
    """

    def __init__(self, belief: Update) -> None:
        self._belief = belief

    def add(self, iteration: int, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Replaces the strategy by that of an iteration."""
        self._strategy = BeliefStrategy.from_arrays(arrays)

    def agents(self, iteration: int) -> dict[str, Callable[[], Agent]]:
        """Returns a factory for the agent of the average policy."""
        return {"average": partial(BeliefAgent, self._strategy, self._belief, "average")}


def load_agent(run: Run, wanted: AgentName, game: GameBase) -> Agent:
    """Returns the agent of the newest strategy of a run, or of the newest one up to an iteration.

    Raises:
        UsageError: the run belongs to another game or has no strategy yet, or the file is damaged.
    """
    wanted.options(_OPTIONS)
    config = run.config_as(BeliefTablesConfig)
    trained_game(wanted.shown, config, game)
    try:
        check_game(game)
    except ValueError as error:
        raise UsageError(f"{wanted.text}: {error}") from None
    file = newest(run, wanted, None, "with its first checkpoint")
    arrays, _ = run.load_strategy(0, file.iteration)
    try:
        return BeliefAgent(BeliefStrategy.from_arrays(arrays), config.tables.belief, wanted.text)
    except ValueError as error:
        raise misfit(file, error) from None


def pack(run: Run, wanted: AgentName, nets: int | None) -> Packed:
    """The packed agent of a name: its table.

    Raises:
        UsageError: the run has no strategy yet; or a number of nets is given.
    """
    wanted.options(_OPTIONS)
    refuse_nets(wanted, nets)
    config = run.config_as(BeliefTablesConfig)
    file = newest(run, wanted, None, "with its first checkpoint")
    return Packed.of(config.model_dump(mode="json"), file, *run.load_strategy(0, file.iteration), exact=True)
