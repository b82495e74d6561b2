"""What Q-nets and their searches think of the choices of a position. Lists are in the order of the legal actions."""

from typing import cast

import numpy as np

from dancfr.agents.insight.beliefs import Beliefs
from dancfr.agents.insight.report import Insight, limited, listed, normalised
from envs.game import FullView, RaggedGame, Redeals, States
from learners.dmc.agent import QAgent
from learners.dmc.search import DealSearch

DEALS = 32
"""Deals of what is hidden over which the values of a critic that sees everything are averaged."""


def valued(
    agent: QAgent,
    game: RaggedGame,
    states: States,
    place: dict[bytes, int],
    rng: np.random.Generator,
    beliefs: Beliefs | None,
) -> Insight:
    """What a Q-net says of its choices."""
    actions, asked, lists, outputs = agent.decide(states)
    value, value_from = _critic_value(agent, game, states, rng)
    policy = np.zeros(len(place))
    if not len(asked):
        policy[place[actions[0].tobytes()]] = 1
        return Insight(policy.tolist(), "settled", value=value, value_from=value_from, beliefs=beliefs)
    at = [place[row.tobytes()] for row in lists.rows]
    policy[at[int(np.argmax(outputs))]] = 1
    given = np.full(len(place), np.nan)
    given[at] = outputs
    values, prior = None, None
    if agent.outputs == "logits":
        prior = normalised(np.exp(np.where(np.isnan(given), -np.inf, given) - outputs.max()))
    else:
        values = listed(given)
    if value is None and agent.outputs == "returns":
        value, value_from = limited(float(outputs.max()), game), "values"
    return Insight(
        policy.tolist(),
        "greedy",
        prior=prior,
        values=values,
        values_are=None if values is None else agent.outputs,
        value=value,
        value_from=value_from,
        beliefs=beliefs,
    )


def searched(
    agent: DealSearch,
    game: RaggedGame,
    states: States,
    place: dict[bytes, int],
    rng: np.random.Generator,
    beliefs: Beliefs | None,
) -> Insight:
    """What a search of a ragged game has found."""
    found = agent.search(states, rng)
    chosen = place[found.chosen[0].tobytes()]
    policy, prior, values = np.zeros(len(place)), np.zeros(len(place)), np.full(len(place), np.nan)
    policy[chosen] = 1
    if not len(found.searched):
        value, value_from = _critic_value(agent.agent, game, states, rng)
        return Insight(policy.tolist(), "settled", value=value, value_from=value_from, beliefs=beliefs)
    tries = np.zeros(len(place), np.int64)
    for row, before, mean, count in zip(found.actions[0], found.policy[0], found.means[0], found.tries[0], strict=True):
        if before > 0:  # otherwise the place is not used
            at = place[row.tobytes()]
            prior[at], values[at], tries[at] = before, mean, count
    if tries[chosen]:
        value, value_from = float(values[chosen]), "search"
    else:
        value, value_from = _critic_value(agent.agent, game, states, rng)
    return Insight(
        policy.tolist(),
        "search",
        prior=normalised(prior),
        values=listed(values),
        values_are="returns",
        tries=tries.tolist(),
        value=value,
        value_from=value_from,
        beliefs=beliefs,
    )


def _critic_value(
    agent: QAgent, game: RaggedGame, states: States, rng: np.random.Generator
) -> tuple[float | None, str | None]:
    """The mean value of a critic that sees all hands, over deals of those that the player does not see."""
    if agent.critic is None or not isinstance(game, Redeals) or not isinstance(game, FullView):
        return None, None
    dealt = np.repeat(states, DEALS)
    movers = game.to_move(dealt)
    cast(Redeals, game).redeal(dealt, movers, rng.integers(0, 2**64, DEALS, np.uint64))
    values = agent.critic(game.observe(dealt, movers), cast(FullView, game).observe_hidden(dealt, movers))
    return limited(float(values.mean()), game), "critic"


__all__ = ["searched", "valued"]
