"""Asks an agent for its thoughts about one position.

`consult` asks a copy of the agent, which it first brings to the position (`bring`), so that it disturbs no game that
the agent is playing. An insight depends on nothing that is hidden from the player to move.
"""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.adapted import AdaptedAgent
from dancfr.agents.insight.beliefs import History, belief_of, hands_belief
from dancfr.agents.insight.self_play import play_itself
from envs.agent import Agent, Recalls, Seated, StatesPolicy
from envs.game import Game, GameBase, GameOver, ListedGame, States, numbered
from envs.insight import Insight, Thinks, limited, normalised
from learners.search.evaluator import Evaluator

DRAWS = 256
"""Copies of a position on which an agent acts that cannot state its policy."""

_ZERO = np.zeros(1, np.int64)


def consult(
    agent: Agent,
    game: GameBase,
    states: States,
    history: History,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Insight:
    """Asks an agent for its thoughts about a position. The agent is left as it is.

    Nets are for one thread at a time: do not let the agent play in another thread meanwhile.

    Args:
        agent: From `dancfr.agents.by_name.make_agent`.
        game: The game that the agent was made for.
        states: The position, `[1]`.
        history: Earlier decisions of the player to move, in the order of play: the states, `[1]` each, with what was
            played. Agents with a memory need all of them.
        rng: Source of all random draws.
        draws: Moves from which a policy is estimated that the agent cannot state.

    Raises:
        GameOver: no player is to move.
    """
    mover = int(game.to_move(states)[0])
    if mover < 0:
        raise GameOver("no player is to move: the game is over")
    if isinstance(agent, AdaptedAgent):
        adapter = agent.adapter
        if not adapter.asks(states)[0]:
            count = int(numbered(game).legal(states).sum())
            return Insight([1 / count] * count, "policy")
        plain = [(adapter.shown(before), action) for before, action in history if adapter.asks(before)[0]]
        return consult(agent.agent, adapter.game, adapter.shown(states), plain, rng, draws)
    if isinstance(agent, Seated):
        return consult(agent.at_seat(mover), game, states, history, rng, draws)
    made = bring(agent, game, history, rng)
    if isinstance(made, Thinks):
        found = made.think(states, rng)
        return replace(found, beliefs=belief_of(made, game, states, history, found.arrangements))
    if isinstance(game, ListedGame):
        return _consult_listed(agent, made, game, states, history, rng, draws)
    return _consult_numbered(agent, made, numbered(game), states, history, rng, draws)


def _consult_numbered(
    agent: Agent, made: Agent, game: Game, states: States, history: History, rng: np.random.Generator, draws: int
) -> Insight:
    """See `consult`; `made` is a copy of the agent that has been brought to the position."""
    legal = np.flatnonzero(game.legal(states)[0])
    beliefs = belief_of(made, game, states, history)
    found = None if beliefs else play_itself(made, game, states)
    value, value_from = _value(made, game, states)
    if value is None and found is not None:
        value, value_from = found.value, "self-play"
    beliefs = beliefs or hands_belief(found)
    if isinstance(made, StatesPolicy):
        policy, source = normalised(made.probabilities(states, _ZERO)[0, legal]), "policy"
    else:
        chosen = np.asarray(_draw(agent, game, states, history, rng, draws))
        policy, source = [float((chosen == action).mean()) for action in legal], "draws"
    drawn = draws if source == "draws" else None
    return Insight(policy, source, drawn, value=value, value_from=value_from, beliefs=beliefs)


def bring(agent: Agent, game: GameBase, history: History, rng: np.random.Generator, batch: int = 1) -> Agent:
    """Returns a copy of an agent that plays a batch of games from a position on, in which it has seen `history`.

    Args:
        agent: From `dancfr.agents.by_name.make_agent`; left as it is.
        game: The game.
        history: See `consult`; only agents that implement `envs.agent.Recalls` need it.
        rng: Source of all random draws.
        batch: Number of games, all in that position.
    """
    made = copy(agent)
    made.begin(game, batch, rng)
    if isinstance(made, Recalls):
        for states, action in history:
            actions = np.repeat(np.asarray(action).reshape(1), batch)
            made.recall(np.repeat(states, batch), np.arange(batch), actions, rng)
    return made


def _draw(
    agent: Agent, game: GameBase, states: States, history: History, rng: np.random.Generator, draws: int
) -> NDArray[Any]:
    """The moves of an agent in copies of a position."""
    made = bring(agent, game, history, rng, draws)
    return made.act(np.repeat(states, draws), np.arange(draws), rng)


def _value(agent: Agent, game: Game, states: States) -> tuple[float | None, str | None]:
    """The agent's value of the player's infostate, if it has one, with the `Evaluator.offset` that it leaves out."""
    if not isinstance(agent, Evaluator):
        return None, None
    mover = game.to_move(states)
    _, values = agent.evaluate(game.observe(states, mover), game.legal(states), mover)
    return limited(float(values[0]) + agent.offset, game), "net"


def _consult_listed(
    agent: Agent, made: Agent, game: ListedGame, states: States, history: History, rng: np.random.Generator, draws: int
) -> Insight:
    """See `_consult_numbered`."""
    rows = game.legal(states).rows
    place = {row.tobytes(): at for at, row in enumerate(rows)}
    beliefs = belief_of(made, game, states, history)
    if isinstance(made, StatesPolicy):
        return Insight(normalised(made.probabilities(states, _ZERO)), "policy", beliefs=beliefs)
    counts = np.zeros(len(rows))
    for move in _draw(agent, game, states, history, rng, draws):
        counts[place[move.tobytes()]] += 1
    return Insight(normalised(counts), "draws", draws, beliefs=beliefs)


__all__ = ["DRAWS", "bring", "consult"]
