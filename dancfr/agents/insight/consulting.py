"""Asks an agent what it thinks of one position.

`consult` asks a copy of the agent, which it first brings to the position (`bring`), so that it disturbs no game that
the agent is playing. An insight depends on nothing that is hidden from the player to move.
"""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.drawn_layouts import DrawnLayouts
from dancfr.agents.insight import ragged
from dancfr.agents.insight.beliefs import History, arrangements_belief, belief_of, hands_belief
from dancfr.agents.insight.report import Insight, limited, listed, normalised
from dancfr.agents.insight.self_play import play_itself
from dancfr.agents.without_history import WithoutHistory
from envs.agent import Recalls, StatesPolicy
from envs.game import Game, GameOver, RaggedGame, States
from envs.geister import Geister
from learners.dmc.agent import QAgent
from learners.dmc.search import DealSearch
from learners.policy_gradient.agent import SeatedAgents
from learners.search.agent import SearchAgent
from learners.search.evaluator import Evaluator

DRAWS = 256
"""Copies of a position on which an agent acts that cannot say what its policy is."""

_ZERO = np.zeros(1, np.int64)


def consult(
    agent: Any,
    game: Game | RaggedGame,
    states: States,
    history: History,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Insight:
    """Asks an agent what it thinks of a position. The agent is left as it is.

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
        GameOver: nobody is to move.
    """
    mover = int(game.to_move(states)[0])
    if mover < 0:
        raise GameOver("nobody is to move in this position")
    if isinstance(agent, WithoutHistory):
        plain = [(agent.shown(before), action) for before, action in history]
        return consult(agent.agent, agent.game, agent.shown(states), plain, rng, draws)
    if isinstance(agent, DrawnLayouts):
        if not agent.begun(states)[0]:
            count = int(game.legal(states).sum())  # type: ignore[union-attr]
            return Insight([1 / count] * count, "policy")
        begun = [(before, action) for before, action in history if agent.begun(before)[0]]
        return consult(agent.agent, agent.game, states, begun, rng, draws)
    if isinstance(agent, SeatedAgents):
        return consult(agent.agents[mover], game, states, history, rng, draws)
    if isinstance(game, RaggedGame):
        return _consult_ragged(agent, game, states, history, rng, draws)
    made, legal = bring(agent, game, history, rng), np.flatnonzero(game.legal(states)[0])
    if isinstance(made, SearchAgent):
        return _searched(made, game, states, legal, rng)
    found = play_itself(made, game, states)
    value, value_from = _value(made, game, states)
    if value is None and found is not None:
        value, value_from = found.value, "self-play"
    beliefs = belief_of(made, game, states, history) or hands_belief(found)
    if isinstance(made, StatesPolicy):
        policy, source = normalised(made.probabilities(states, _ZERO)[0, legal]), "policy"
    else:
        chosen = np.asarray(_draw(agent, game, states, history, rng, draws))
        policy, source = [float((chosen == action).mean()) for action in legal], "draws"
    drawn = draws if source == "draws" else None
    return Insight(policy, source, drawn, value=value, value_from=value_from, beliefs=beliefs)


def bring(agent: Any, game: Game | RaggedGame, history: History, rng: np.random.Generator, batch: int = 1) -> Any:
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
    agent: Any, game: Any, states: States, history: History, rng: np.random.Generator, draws: int
) -> NDArray[Any]:
    """The moves of an agent in copies of a position."""
    made = bring(agent, game, history, rng, draws)
    moves: NDArray[Any] = made.act(np.repeat(states, draws), np.arange(draws), rng)
    return moves


def _value(agent: Any, game: Game, states: States) -> tuple[float | None, str | None]:
    """The agent's value of what the player sees, if it has one."""
    if not isinstance(agent, Evaluator):
        return None, None
    mover = game.to_move(states)
    _, values = agent.evaluate(game.observe(states, mover), game.legal(states), mover)
    return limited(float(values[0]), game), "net"


def _searched(
    agent: SearchAgent, game: Game, states: States, legal: NDArray[np.int64], rng: np.random.Generator
) -> Insight:
    """What a search of a numbered game has found."""
    found = agent.search(states, _ZERO, rng)
    values, tries = np.full(game.spec.num_actions, np.nan), np.zeros(game.spec.num_actions, np.int64)
    values[found.actions[0]], tries[found.actions[0]] = found.means[0], found.tries[0]
    chosen = int(found.chosen[0])
    searched = tries[chosen] > 0
    beliefs = arrangements_belief(game, states, found.belief[0], "tracked") if isinstance(game, Geister) else None
    return Insight(
        policy=[float(action == chosen) for action in legal],
        source="search",
        prior=normalised(found.policy[0, legal]),
        values=listed(values[legal]),
        values_are="returns",
        tries=tries[legal].tolist(),
        value=float(values[chosen]) if searched else limited(float(found.value[0]), game),
        value_from="search" if searched else "net",
        beliefs=beliefs,
    )


def _consult_ragged(
    agent: Any, game: RaggedGame, states: States, history: History, rng: np.random.Generator, draws: int
) -> Insight:
    """See `consult`; actions that differ in nothing but their reading count as the one that the agent considers."""
    made, rows = bring(agent, game, history, rng), game.legal(states).rows
    place = {row.tobytes(): at for at, row in enumerate(rows)}
    beliefs = belief_of(made, game, states, history)
    if isinstance(made, DealSearch):
        return ragged.searched(made, game, states, place, rng, beliefs)
    if isinstance(made, QAgent):
        return ragged.valued(made, game, states, place, rng, beliefs)
    if isinstance(made, StatesPolicy):
        return Insight(normalised(made.probabilities(states, _ZERO)), "policy", beliefs=beliefs)
    counts = np.zeros(len(rows))
    for move in _draw(agent, game, states, history, rng, draws):
        counts[place[move.tobytes()]] += 1
    return Insight(normalised(counts), "draws", draws, beliefs=beliefs)


__all__ = ["DRAWS", "bring", "consult"]
