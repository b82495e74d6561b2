"""How often two agents act alike, with equal random draws, at the decisions of games that the first one plays."""

import copy

import numpy as np

from dancfr.evaluation.sides import sides_of
from envs.agent import Agent
from envs.game import GameBase


def agreement(game: GameBase, agent: Agent, other: Agent, games: int, rng: np.random.Generator) -> tuple[int, int]:
    """Plays games of an agent with itself and asks another one for its action at each decision.

    Args:
        game: Rules of the game.
        agent: The agent that plays.
        other: The agent that is compared with it.
        games: Number of games, all in lock step; in a game of teams each of a deal of its own.
        rng: Source of all random draws.

    Returns:
        The number of decisions, and of those in which both agents chose the same action.
    """
    chance, stream = rng.spawn(2)
    agent.begin(game, games, copy.deepcopy(stream))
    other.begin(game, games, stream)
    sides = sides_of(game)
    states, places = sides.start(games * sides.copies, chance)[:: sides.copies], np.arange(games)  # each deal once
    decisions = same = 0
    while len(states):
        actions = agent.act(states, places, copy.deepcopy(stream))
        same += int((actions == other.act(states, places, stream)).sum())
        decisions += len(states)
        sides.step(states, actions, chance)
        running = ~game.finished(states)
        states, places = states[running], places[running]
    return decisions, same
