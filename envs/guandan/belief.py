"""The beliefs of a player of GuanDan: how many cards of each rank the others hold.

``about`` is ``cards``, ``kind`` is ``learned``, and ``others`` has for each other player, in turn, the ``seat``, the
size of the hand, ``cards``, and ``ranks``, the expected number of cards of each rank in it: 2 to A, black joker and red
joker. They follow from plays, passes and tributes by a net that has learned from rounds of `pretrained:guandan` against
itself, whichever agent is asked.
"""

from typing import Any

from envs.agent import Agent
from envs.belief import Beliefs
from envs.game import GameBase, States
from envs.guandan.beliefs.knowledge import BLACK, RED, WILD
from envs.guandan.beliefs.net import shipped_belief
from envs.guandan.inputs.ranks import place_of
from envs.guandan.rules.state import SEATS


def belief(game: GameBase, states: States, agent: Agent, arrangements: Any) -> Beliefs:
    """See `envs.belief.TellsBelief`."""
    state, movers = states[0], game.to_move(states)
    level = int(state["level"])
    others = []
    for step, expected in enumerate(shipped_belief().expected(states, movers)[0], start=1):
        seat = (int(movers[0]) + step) % SEATS
        ranks = [float(expected[int(place_of(rank, level))]) for rank in range(13)]
        ranks[level] += float(expected[WILD])
        ranks += [float(expected[BLACK]), float(expected[RED])]
        others.append({"seat": seat, "cards": int(state["left"][seat]), "ranks": ranks})
    return {"about": "cards", "kind": "learned", "others": others}


__all__ = ["belief"]
