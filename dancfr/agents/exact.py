"""`dancfr.exploitability` and `dancfr.exact_response`, on games that have a tree."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dancfr.agents.by_name import agent_for
from dancfr.agents.given import AsAgent, as_agents
from dancfr.agents.hub.fetch import commits
from dancfr.agents.match import limit_of, rules_of_match
from dancfr.agents.tables import tabular_agent
from dancfr.arguments import checked
from dancfr.evaluation.arena import name_of
from dancfr.evaluation.exploitability import evaluate_exactly, respond_exactly
from dancfr.games.registry import describe_rules
from dancfr.games.rules import noted_options
from envs.agent import Agent
from envs.game import GameBase
from envs.tree import TreePolicy
from learners.cfr.agent import TabularAgent
from learners.cfr.exact_evaluation import Evaluation
from learners.cfr.players_form import PlayersEvaluation


@checked
def exploitability(
    agent: str | Agent | TreePolicy | AsAgent,
    game: str | GameBase | None = None,
    *,
    options: Mapping[str, Any] | Sequence[str] = (),
) -> Evaluation | PlayersEvaluation:
    """Computes value, best responses, exploitability and NashConv of an agent that plays all sides, exactly.

    Exploitability is NashConv divided by the number of players. In games of more than two players, or of returns
    without a constant sum, the result has the value of each player too.

    Args:
        agent: Name of an agent, see `dancfr.agents.by_name`, an object with a method `tree_policy` or
            `probabilities` (`envs.agent.StatesPolicy`), or a solution or a run.
        game: Name of a game that has a tree, or a game; None: that of the agent.
        options: Options of the game, by name or as ``key=value``.

    Raises:
        UsageError: the game has no tree, or the agent has no probabilities to ask for, or the policy does not fit
            the game.
    """
    (given,) = as_agents((agent,))
    name, rules, chosen = rules_of_match(game, (given,), options)
    found = _evaluated(given, rules)
    told = describe_rules(name, chosen or noted_options(rules))
    return found._replace(rules=told) if isinstance(found, Evaluation) else replace(found, rules=told)


@checked
def exact_response(
    agent: str | Agent | TreePolicy | AsAgent,
    game: str | GameBase | None = None,
    *,
    options: Mapping[str, Any] | Sequence[str] = (),
) -> TabularAgent:
    """Returns an agent that answers best to another one, which it knows: in each seat to the policy of the other one.

    It wins the `best_responses` of `exploitability`. Where several actions are best, it plays the first of them.

    Args:
        agent, game, options: See `exploitability`; the game is one of two players whose returns have a constant sum.

    Raises:
        UsageError: see `exploitability`; or the game has no tree, no two players, or no constant sum.
    """
    (given,) = as_agents((agent,))
    _, rules, _ = rules_of_match(game, (given,), options)
    name = given if isinstance(given, str) else name_of(given)
    return tabular_agent(*respond_exactly(name, agent_for(given, rules), rules), f"response to {name}", rules)


def exact_result(agent: str, game: str, options: Sequence[str] = (), ply_limit: int | None = None) -> dict[str, Any]:
    """Returns the result of `dancfr evaluate --games 0 --exploitability`: `Match.as_dict` without its games.

    Raises:
        UsageError: see `exploitability`.
    """
    name, rules, chosen = rules_of_match(game, (agent,), options, ply_limit)
    found, from_hub = _evaluated(agent, rules), commits((agent,))
    return {
        "agent": agent,
        "game": name,
        "ply_limit": limit_of(rules),
        "game_options": chosen,
        "games": 0,
        **found.as_dict(),
        **({"commits": from_hub} if from_hub else {}),
    }


def _evaluated(agent: str | Agent | TreePolicy, rules: GameBase) -> Evaluation | PlayersEvaluation:
    return evaluate_exactly(agent if isinstance(agent, str) else name_of(agent), agent_for(agent, rules), rules)
