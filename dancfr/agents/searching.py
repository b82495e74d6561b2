"""Search at play time as options of any agent's name: ``runs/x?search=512``, ``runs/x?ms=50&depth=8``."""

from dataclasses import replace
from difflib import get_close_matches

from dancfr.errors import UsageError, nearest
from dancfr.methods.agent_name import SEARCH, AgentName
from dancfr.runs.config import Config, apply_overrides
from envs.agent import Agent
from envs.game import GameBase
from learners.search.agent import SearchAgent
from learners.search.evaluator import Evaluator, Searchable
from learners.search.settings import RolloutSettings


class SearchOptions(RolloutSettings, Config):
    """`RolloutSettings` as options of a name."""


OPTIONS = tuple(SearchOptions.model_fields)


def split_search(wanted: AgentName) -> tuple[AgentName, RolloutSettings | None]:
    """Separates the options of a search from those of the agent that searches; None if the name asks for no search.

    Raises:
        UsageError: an option has a value of another type or out of bounds, or nearly the name of one of a search, or
            there is no budget, or there are two.
    """
    taken = [(key, value) for key, value in wanted.query if key in OPTIONS]
    if not taken:
        return wanted, None
    if sum(key in SEARCH for key, _ in taken) != 1:
        raise UsageError(f"{wanted.text}: a search needs search=ROLLOUTS or ms=MILLISECONDS, and not both")
    try:
        base = SearchOptions(search=1)
        settings = apply_overrides(base, ["search=none", *(f"{key}={value}" for key, value in taken)])
    except UsageError as error:
        raise UsageError(f"{wanted.text}: {error}") from None
    rest = tuple(pair for pair in wanted.query if pair not in taken)
    for key, _ in rest:  # the agent that searches would name its own options alone
        if get_close_matches(key, OPTIONS, 1, cutoff=0.85):
            raise UsageError(f"{wanted.text}: {nearest(key, OPTIONS, 'option')}")
    return replace(wanted, query=rest), settings


def hurried(name: str) -> str:
    """The name of the same agent with a minimal search, which suffices to compile its kernels."""
    base, mark, query = name.rpartition("?")  # there may be others in a path
    short = {"ms": "20", "search": "64"}
    parts = [part.partition("=") for part in query.split("&")]
    return base + mark + "&".join(f"{key}{equals}{short.get(key, value)}" for key, equals, value in parts)


def searching(agent: Agent, game: GameBase, settings: RolloutSettings, wanted: AgentName) -> Agent:
    """The agent with a search before each move.

    Raises:
        UsageError: the agent has no policy with values, or what is hidden in the game cannot be drawn.
    """
    if not isinstance(agent, (Searchable, Evaluator)):
        raise UsageError(
            f"{wanted.text}: a search needs an agent with a policy and a value, such as a run of policy-gradient, or a "
            f"Q-net, and {wanted.shown} is none"
        )
    try:
        if isinstance(agent, Searchable):
            return agent.with_search(game, settings)
        return SearchAgent(agent, game, settings)
    except ValueError as error:
        raise UsageError(f"{wanted.text}: {error}") from None
