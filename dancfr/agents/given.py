"""Agents as calls from Python are given them: by name, as objects, or as the results that they come from.

An agent that was made for a game says so in its attribute `made_for`, as those of solutions, of runs and of
`policy_agent` do. It is checked against the game that it is to play like an agent by name; bots play any rules.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

from dancfr.agents.adapted import AdaptedAgent, adapter_of
from dancfr.arguments import AsAgent
from dancfr.errors import UsageError
from dancfr.evaluation.arena import name_of
from dancfr.games.registry import rules_made_with
from dancfr.games.rules import check_rules
from envs.extensive import FactoredGame
from envs.game import Game, GameBase, ListedGame, numbered
from learners.cfr.agent import TabularAgent

T = TypeVar("T")

_NOTE = "made_for"


def as_agents(given: Sequence[object]) -> list[Any]:
    """Returns names and agents as they are given, and for results their agents: one for a result given twice."""
    made = {id(each): each.as_agent() if isinstance(each, AsAgent) else each for each in given}
    return [made[id(each)] for each in given]


def note_game(agent: T, game: GameBase) -> T:
    """Notes in an agent the game that it was made for, and returns the agent."""
    with suppress(AttributeError, TypeError):  # a class with slots
        object.__setattr__(agent, _NOTE, game)
    return agent


def game_noted(agent: object) -> GameBase | None:
    """Returns the game that an agent was made for; None if it does not say."""
    found = getattr(agent, _NOTE, None)
    return found if isinstance(found, (Game, ListedGame)) else None


def require_rules(agent: object, game: GameBase) -> None:
    """Checks that an agent was made for the rules of a game, unless it does not say which these were.

    Raises:
        UsageError: it was made for another game, or for other rules.
    """
    made_for = game_noted(agent)
    if made_for is None or made_for is game:
        return
    name, here, there = name_of(agent), game.spec.name, made_for.spec.name
    if there != here:
        raise UsageError(f"{name} was made for {there}, not for {here}")
    exact = isinstance(agent, TabularAgent) and isinstance(game, FactoredGame)  # a table has no rows for other rules
    check_rules(name, made_for, game, () if exact else None)


def fitted(agent: T, game: GameBase) -> T | AdaptedAgent:
    """Returns an agent for a game: itself, or if it was made for another variant, one that adapts it.

    Raises:
        UsageError: see `require_rules`; or the game has no adapter that fits.
    """
    made_for = game_noted(agent)
    if made_for is not None and made_for.spec.name == game.spec.name:
        adapter = adapter_of(name_of(agent), game, rules_made_with(made_for))
        if adapter is not None:
            return AdaptedAgent(fitted(agent, adapter.game), adapter, numbered(game))  # type: ignore[arg-type]
    require_rules(agent, game)
    return agent


__all__ = ["AsAgent", "as_agents", "fitted", "game_noted", "note_game", "require_rules"]
