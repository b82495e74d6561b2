"""Agents of chance-sampled CFR on Cheat."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from dancfr.methods.agent_name import AgentName
from dancfr.methods.cheat_cfr.config import CheatCfrConfig
from dancfr.methods.stored import misfit, newest, trained_game
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.cheat import Cheat
from learners.cfr.cheat.keys import KeyForm
from learners.cfr.cheat.strategy import CheatAgent, Strategy


class CheatPolicies:
    """The newest strategy of a growing run: the average and, where it is wanted, the last one.

    Args:
        game: The run's own game, the last one of its curriculum.
        keys: What infosets tell apart.
        last: Evaluate the last strategy too.
    """

    def __init__(self, game: Cheat, keys: KeyForm, last: bool) -> None:
        self._game, self._keys = game, keys
        self._policies = ("average", "last") if last else ("average",)

    def add(self, iteration: int, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Takes a new strategy in the place of the one before."""
        self._make = partial(cheat_agent, self._game, self._keys, about, arrays)

    def agents(self, iteration: int) -> dict[str, Callable[[], Agent]]:
        """What makes the agent of each policy."""
        return {policy: partial(self._make, policy) for policy in self._policies}


def load_agent(run: Run, wanted: AgentName, game: Any) -> Agent:
    """The agent of the strategy that a run had after an iteration, or of the newest one stored before it.

    Option of its name: ``average=exact`` or ``average=last``.

    Raises:
        UsageError: the run is of another game or has no strategy yet, or the file is damaged.
    """
    options = wanted.options({"average": ("exact", "last")})
    config = run.config_as(CheatCfrConfig)
    trained_on: Any = trained_game(wanted.base, config, game)
    file = newest(run, wanted, None, "with its first checkpoint")
    arrays, about = run.load_strategy(0, file.iteration)
    policy = "last" if options.get("average") == "last" else "average"
    try:
        return cheat_agent(trained_on, config.keys, about, arrays, policy, wanted.text)
    except ValueError as error:
        raise misfit(file, error) from None


def cheat_agent(
    game: Cheat, keys: KeyForm, about: dict[str, Any], arrays: dict[str, NDArray[Any]], policy: str, name: str = ""
) -> CheatAgent:
    """The agent of a stored strategy, for the game with the health points that it was made for.

    Raises:
        ValueError: the strategy is damaged, or does not fit the game and the keys.
    """
    health = about.get("health")
    if not isinstance(health, int) or isinstance(health, bool):
        raise ValueError("it does not say for how many health points it is")
    return CheatAgent(replace(game, health=health), keys, Strategy.from_arrays(arrays), policy, name)
