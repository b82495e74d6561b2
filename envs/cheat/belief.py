"""The beliefs of a player of Cheat: how many cards of each rank the others hold.

``about`` is ``cards``, and ``others`` has for each other player, in turn, the ``seat``, the size of the hand,
``cards``, and ``ranks``, the expected number of cards of each rank in it, from Ace.
"""

from typing import Any

import numpy as np

from envs.agent import Agent
from envs.belief import Beliefs
from envs.cheat.game import Cheat
from envs.cheat.observation import HEAD
from envs.game import States


def belief(game: Cheat, states: States, agent: Agent, arrangements: Any) -> Beliefs:
    """See `envs.belief.TellsBelief`.

    Cards known to be in a player's hand or pile count as that; the others may be anywhere that is not seen. The cards
    that a player has put into the pile since it was taken last are not known apart from those in hand.
    """
    me = int(game.to_move(states)[0])
    row = game.observe(states, game.to_move(states))[0].astype(np.int64)
    ranks, table = game.ranks, HEAD + 3 * game.ranks
    known = row[table + 3 * game.players : table + 3 * game.players + (game.players - 1) * ranks].reshape(-1, ranks)
    own = row[HEAD:table].reshape(3, ranks)  # in hand, in the pile, and picked for the next discard
    free = game.copies - own.sum(axis=0) - known.sum(axis=0)
    rank = int(states["rank"][0])
    others = []
    for step in range(1, game.players):
        size, _, put = row[table + 3 * step : table + 3 * step + 3]
        unknown = size + put - known[step - 1].sum()
        total = known[step - 1] + unknown * free / max(1, free.sum())
        in_hand = np.roll(total * size / max(1, size + put), rank)  # from Ace, not from the current rank
        others.append({"seat": (me + step) % game.players, "cards": int(size), "ranks": in_hand.tolist()})
    return {"about": "cards", "kind": "uniform", "others": others}


__all__ = ["belief"]
