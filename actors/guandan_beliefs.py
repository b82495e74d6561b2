"""Positions of rounds of GuanDan between two agents, from which beliefs about hands are learnt and measured."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent
from envs.game import States
from envs.guandan.game import GuanDan
from envs.guandan.rules.state import PLAY

TABLES = 512
"""Tables in lock step."""


class Positions(NamedTuple):
    """Positions in which cards are played, `n` of them.

    Attributes:
        states: `[n]` records.
        rounds: Number of the round of each, `int64[n]`.
        agents: Which agent is to move, 0 or 1, `int64[n]`.
        returns: Return of the round to the player to move, `float32[n]`.
    """

    states: States
    rounds: NDArray[np.int64]
    agents: NDArray[np.int64]
    returns: NDArray[np.float32]


def play_rounds(
    game: GuanDan, agents: Sequence[Agent], rounds: int, rng: np.random.Generator, kept: float = 1.0
) -> Positions:
    """Plays rounds between two teams, which change seats from one round to the next.

    Args:
        game: The rules; its games are single rounds.
        agents: The two agents, which may be one.
        rounds: Number of rounds.
        rng: Source of all random draws.
        kept: Probability that a position is kept.
    """
    for agent in dict.fromkeys(agents):
        agent.begin(game, min(TABLES, rounds), rng)
    states = game.reset(min(TABLES, rounds), rng)
    place, number = np.arange(len(states)), np.arange(len(states))
    begun = len(states)
    returns = np.zeros((rounds, game.spec.num_players), np.float32)
    found: list[tuple[States, NDArray[np.int64], NDArray[np.int64]]] = []
    while len(states):
        turn = (game.to_move(states) + number) % 2
        keep = (states["phase"] == PLAY) & (rng.random(len(states)) < kept)
        found.append((states[keep], number[keep], turn[keep]))
        actions = np.empty(len(states), game.action_dtype)
        for which, agent in enumerate(agents):
            at = np.flatnonzero(turn == which)
            if len(at):
                actions[at] = agent.act(states[at], place[at], rng)
        game.step(states, actions)
        over = np.flatnonzero(game.finished(states))
        returns[number[over]] = game.round_returns(states[over])
        fresh = over[: rounds - begun]
        if len(fresh):
            states[fresh] = game.reset(len(fresh), rng)
            number[fresh] = begun + np.arange(len(fresh))
            begun += len(fresh)
        left = np.ones(len(states), np.bool_)
        left[over[len(fresh) :]] = False
        states, place, number = states[left], place[left], number[left]
    kept_states, numbers, turns = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Positions(kept_states, numbers, turns, returns[numbers, kept_states["to_move"]])


__all__ = ["Positions", "play_rounds"]
