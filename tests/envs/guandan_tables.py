"""Tables of GuanDan in the midst of a round, and rounds between two teams of agents, for the tests of the bots."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.rules.cards import DECK_HIGH, DECK_LOW, notation, pack, parse_action, parse_level

SEATS = 4


def table(
    hands: Sequence[str], level: str = "2", mover: int = 0, beat: Sequence[Any] | None = None, holder: int = 3
) -> States:
    """A table, `[1]` records, at which the seats hold these cards and all others have been played.

    Args:
        hands: For each seat its cards, separated by spaces.
        level: Of the round.
        mover: Who is to move.
        beat: The move to beat, as kind, rank and cards; None for a leader.
        holder: Who played it.
    """
    states = GuanDan(situation="first").start(np.zeros(1, np.uint64))
    state = states[0]
    pack(" ".join(hands).split())  # raises where a card comes more than twice
    words = [pack(hand.split()) for hand in hands]
    for seat, (low, high) in enumerate(words):
        state["low"][seat], state["high"][seat], state["left"][seat] = low, high, len(hands[seat].split())
    state["played_low"][:], state["played_high"][:] = 0, 0
    state["played_low"][0] = int(DECK_LOW) - sum(low for low, _ in words)
    state["played_high"][0] = int(DECK_HIGH) - sum(high for _, high in words)
    out = [seat for seat in range(SEATS) if not hands[seat]]
    state["order"][: len(out)], state["out"] = out, len(out)
    state["level"], state["to_move"] = parse_level(level), mover
    if beat is not None:
        move = parse_action(beat)[0]
        state["beat_low"], state["beat_high"] = move["low"], move["high"]
        state["beat_kind"], state["beat_rank"], state["beat_size"] = move["kind"], move["rank"], move["size"]
        state["holder"] = holder
    return states


def chosen(agent: Any, states: States, game: GuanDan | None = None) -> list[tuple[str, str, list[str] | str]]:
    """The actions of an agent at tables, in text form; a move must be legal."""
    game = game or GuanDan()
    rng = np.random.default_rng(0)
    agent.begin(game, len(states), rng)
    actions = agent.act(states.copy(), np.arange(len(states)), rng)
    game.step(states.copy(), actions)
    return [notation(action) for action in actions]


def team_rounds(
    game: GuanDan, agents: tuple[Any, Any], seeds: NDArray[np.uint64], seen: list[States] | None = None
) -> tuple[States, NDArray[np.int64]]:
    """Every seed is played twice, the first agent being team 0 and then team 1.

    Args:
        game: Rules.
        agents: Who plays.
        seeds: Of the tables, `uint64[n]`.
        seen: If given, takes up the states before each decision.

    Returns:
        The final states and the team of the first agent, `[2 n]`.
    """
    states = game.start(np.concatenate([seeds, seeds]))
    team = np.repeat([0, 1], len(seeds))
    rng = np.random.default_rng(1)
    for agent in agents:
        agent.begin(game, len(states), rng)
    while not game.finished(states).all():
        mover = game.to_move(states)
        if seen is not None:
            seen.append(states[mover >= 0])
        turns = [np.flatnonzero((mover >= 0) & (mover % 2 == side)) for side in (team, 1 - team)]
        for agent, games in zip(agents, turns, strict=True):
            if len(games):
                here = states[games]
                game.step(here, agent.act(here, games, rng))
                states[games] = here
    return states, team
