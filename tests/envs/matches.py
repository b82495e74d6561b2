"""Games between two agents in lock step, for the tests of rules and bots."""

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent
from envs.game import Game, States


def play(game: Game, agents: tuple[Agent, Agent], batch: int, rng: np.random.Generator) -> tuple[States, NDArray]:
    """Plays `batch` games to the end; in odd ones the second agent has the first seat.

    Returns:
        The final states and the seat of the first agent, `int8[batch]`.
    """
    states = game.reset(batch, rng)
    seat = (np.arange(batch) % 2).astype(np.int8)
    for agent in agents:
        agent.begin(game, batch, rng)
    while not game.finished(states).all():
        to_move = game.to_move(states)
        turns = [np.flatnonzero((to_move == s) & (to_move >= 0)) for s in (seat, 1 - seat)]
        for agent, games in zip(agents, turns, strict=True):
            if len(games):
                mover_states = states[games]
                game.step(mover_states, agent.act(mover_states, games, rng), rng)
                states[games] = mover_states
    return states, seat


def results(game: Game, states: States, seat: NDArray) -> tuple[float, float, float]:
    """Shares of games that the first agent won, drew and lost."""
    value = game.returns(states)[np.arange(len(states)), seat]
    return float((value > 0).mean()), float((value == 0).mean()), float((value < 0).mean())
