"""`dancfr.exploitability`: the exact exploitability of an agent on a game that has a tree."""

from collections.abc import Mapping, Sequence
from typing import Any

from dancfr.agents.by_name import make_agent
from dancfr.agents.match import rules_of_match
from dancfr.arguments import checked
from dancfr.evaluation.exploitability import evaluate_exactly
from envs.agent import Agent
from envs.game import GameBase
from envs.tree import TreePolicy
from learners.cfr.exact_evaluation import Evaluation
from learners.cfr.players_form import PlayersEvaluation


@checked
def exploitability(
    agent: str | Agent | TreePolicy,
    game: str | GameBase | None = None,
    *,
    options: Mapping[str, Any] | Sequence[str] = (),
) -> Evaluation | PlayersEvaluation:
    """Computes value, best responses, exploitability and NashConv of an agent that plays all sides, exactly.

    Exploitability is NashConv divided by the number of players. In games of more than two players, or of returns
    without a constant sum, the result has the value of each player too.

    Args:
        agent: Name of an agent, see `dancfr.agents.by_name`, or an object with a method `tree_policy`.
        game: Name of a game that has a tree, or a game; None: that of the agent.
        options: Options of the game, by name or as ``key=value``.

    Raises:
        UsageError: the game has no tree, or the agent cannot list its policy, or the policy does not fit the game.
    """
    _, rules, _ = rules_of_match(game, (agent,), options)
    made = make_agent(agent, rules) if isinstance(agent, str) else agent
    return evaluate_exactly(agent if isinstance(agent, str) else type(agent).__name__, made, rules)
