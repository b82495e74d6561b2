"""Agents of chance-sampled CFR on Cheat."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from dancfr.methods.agent_name import AgentName
from dancfr.methods.cheat_cfr.config import CheatCfrConfig
from dancfr.methods.packed import Packed, refuse_last, refuse_nets
from dancfr.methods.stored import misfit, newest, trained_game
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.cheat import Cheat
from envs.game import GameBase
from learners.cheat_cfr.keys import KeyForm
from learners.cheat_cfr.strategy import CheatAgent, Strategy

_OPTIONS = {"average": ("exact", "last")}
"""Options of the agents' names."""


class CheatPolicies:
    """The newest strategies of a run during training; implements `dancfr.evaluation.server.Policies`.

    Args:
        game: The run's own game, the last one of its curriculum.
        keys: Form of the infoset keys.
        last: Evaluate the current strategy in addition to the average strategy.
    """

    def __init__(self, game: Cheat, keys: KeyForm, last: bool) -> None:
        self._game, self._keys = game, keys
        self._policies = ("average", "last") if last else ("average",)

    def add(self, iteration: int, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Replaces the strategies by those of an iteration."""
        self._make = partial(cheat_agent, self._game, self._keys, about, arrays)

    def agents(self, iteration: int) -> dict[str, Callable[[], Agent]]:
        """Returns a factory for the agent of each policy, by the policy's name."""
        return {policy: partial(self._make, policy) for policy in self._policies}


def load_agent(run: Run, wanted: AgentName, game: GameBase) -> Agent:
    """Returns the agent of the newest strategy of a run, or of the newest one up to an iteration.

    The option ``average`` of its name is ``exact`` for the average strategy or ``last`` for the current one.

    Raises:
        UsageError: the run belongs to another game or has no strategy yet, or the file is damaged.
    """
    options = wanted.options(_OPTIONS)
    config = run.config_as(CheatCfrConfig)
    trained_on = trained_game(wanted.shown, config, game)
    assert isinstance(trained_on, Cheat)
    file = newest(run, wanted, None, "with its first checkpoint")
    arrays, about = run.load_strategy(0, file.iteration)
    policy = "last" if options.get("average") == "last" else "average"
    try:
        return cheat_agent(trained_on, config.key_form, about, arrays, policy, wanted.text)
    except ValueError as error:
        raise misfit(file, error) from None


def pack(run: Run, wanted: AgentName, nets: int | None) -> Packed:
    """The packed agent of a name: its average strategy and its current one.

    Raises:
        UsageError: the run has no strategy yet, or the name asks for the current one; or a number of nets is given.
    """
    options = wanted.options(_OPTIONS)
    refuse_nets(wanted, nets)
    refuse_last(wanted, options.get("average"))
    config = run.config_as(CheatCfrConfig)
    file = newest(run, wanted, None, "with its first checkpoint")
    return Packed.of(config.model_dump(mode="json"), file, *run.load_strategy(0, file.iteration), exact=True)


def cheat_agent(
    game: Cheat, keys: KeyForm, about: dict[str, Any], arrays: dict[str, NDArray[Any]], policy: str, name: str = ""
) -> CheatAgent:
    """Returns the agent of a stored strategy, for the game with the number of health points that it was trained on.

    Raises:
        ValueError: the strategy is damaged, or does not fit the game and the keys.
    """
    health = about.get("health")
    if not isinstance(health, int) or isinstance(health, bool):
        raise ValueError("its metadata lacks the number of health points")
    return CheatAgent(replace(game, health=health), keys, Strategy.from_arrays(arrays), policy, name)
