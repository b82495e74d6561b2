"""Agents of chance-sampled CFR on Cheat, and their evaluation along a run."""

from dataclasses import replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from dancfr.evaluation.server import evaluation_rows, exact_row
from dancfr.methods.cheat_cfr.config import CheatEvaluation
from envs.cheat import Cheat
from learners.cfr.cheat.keys import KeyForm
from learners.cfr.cheat.strategy import CheatAgent, Strategy


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


class CheatEvaluationServer:
    """Plays matches of the newest strategies of a run against bots, and computes their exploitability.

    Args:
        game: The run's own game, the last one of its curriculum.
        keys: What infosets tell apart.
        settings: Opponents, and what is evaluated.
    """

    def __init__(self, game: Cheat, keys: KeyForm, settings: CheatEvaluation) -> None:
        self._game, self._keys = game, keys
        self._opponents = settings.opponents
        self._policies = ("average", "last") if settings.last else ("average",)
        self._form = None
        if settings.exploitability:
            from envs.tree import compile_tree
            from learners.cfr.sequence_form import sequence_form

            self._form = sequence_form(compile_tree(game))

    def take(self, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """A new strategy, in the place of the one before."""
        self._make = partial(cheat_agent, self._game, self._keys, about, arrays)

    def evaluate(self, iteration: int, games: int, seed: tuple[int, ...]) -> list[dict[str, Any]]:
        """Matches of each policy against each opponent, and their exploitability; rows for `metrics.jsonl`."""
        policies = {policy: partial(self._make, policy) for policy in self._policies}
        rows = evaluation_rows(self._game, policies, self._opponents, iteration, games, seed)
        form = self._form
        return rows + (
            [exact_row(form, iteration, policy, make()) for policy, make in policies.items()] if form else []
        )
