"""The beliefs of a player of GuanDan: how many cards of each rank the others hold.

``about`` is ``cards``, and ``others`` has for each other player, in turn, the ``seat``, the size of the hand,
``cards``, and ``ranks``, the expected number of cards of each rank in it: 2 to A, black joker and red joker.
"""

from typing import Any

from envs.agent import Agent
from envs.belief import Beliefs
from envs.game import GameBase, States
from envs.guandan.rules.cards import DECK_HIGH, DECK_LOW, JOKER_RANK


def belief(game: GameBase, states: States, agent: Agent, arrangements: Any) -> Beliefs:
    """See `envs.belief.TellsBelief`: each unseen card is in each place of the other hands with equal probability."""
    state = states[0]
    me = int(state["to_move"])
    low = int(DECK_LOW) - int(state["low"][me]) - sum(map(int, state["played_low"]))
    high = int(DECK_HIGH) - int(state["high"][me]) - sum(map(int, state["played_high"]))
    both = low | high << 64
    index = 4 * JOKER_RANK + 2  # of the last card of the deck, plus 1
    cards = [both >> 2 * card & 3 for card in range(index)]
    unseen = [sum(cards[4 * rank : 4 * rank + 4]) for rank in range(JOKER_RANK)] + cards[4 * JOKER_RANK :]
    others = []
    for seat in ((me + step) % 4 for step in (1, 2, 3)):
        size = int(state["left"][seat])
        others.append({"seat": seat, "cards": size, "ranks": [n * size / max(1, sum(unseen)) for n in unseen]})
    return {"about": "cards", "kind": "uniform", "others": others}


__all__ = ["belief"]
