"""What a player may believe about what is hidden: the colours of ghosts in Geister, the hands in GuanDan and Cheat.

A belief depends on what the player to move sees, and has seen, alone.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.insight.self_play import SelfPlay
from envs.cheat import Cheat
from envs.cheat.observation import HEAD
from envs.game import Game, RaggedGame, States
from envs.geister import Geister
from envs.geister.rules import ghost_count, layouts
from envs.guandan import GuanDan
from envs.guandan.cards import DECK_HIGH, DECK_LOW, JOKER_RANK
from learners.search.belief import Belief
from learners.search.evaluator import Evaluator
from learners.search.settings import RolloutSettings

Beliefs = dict[str, Any]
"""A belief as JSON.

    about: ``ghosts``, ``cards`` or ``hands``.
    kind: ``tracked`` follows from the moves seen, with the agent's own policy as that of the others; ``uniform`` counts
        all that the player cannot rule out alike.
    red: Of ghosts: the probability that each ghost of the opponent is red, by its number; None for those off the board.
    others: Of cards: a dictionary for each other player, in turn, with ``seat``, ``cards``, the size of the hand, and
        ``ranks``, the expected number of cards of each rank in it: from Ace in Cheat; 2 to A, black joker and red joker
        in GuanDan.
    hands: Of hands: the probability of each hand of the opponent, by its description.
"""

History = Sequence[tuple[States, Any]]
"""Earlier decisions of the player, in the order of play: the state, `[1]`, and the action."""


@runtime_checkable
class TracksGhosts(Protocol):
    """An agent of Geister with a belief."""

    def red_probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Probability that each ghost of the opponent is red, by its number, `[n, ghosts]`."""
        ...


def belief_of(agent: Any, game: Game | RaggedGame, states: States, history: History) -> Beliefs | None:
    """Returns the belief of an agent about what is hidden from the player to move; None if the game has no such belief.

    Args:
        agent: The agent, after `begin` with one game and after `recall`.
        game: The game.
        states: The position, `[1]`.
        history: Earlier decisions of the player.
    """
    if isinstance(game, Geister):
        return _ghosts(agent, game, states, history)
    if isinstance(game, GuanDan):
        return _guandan_cards(states)
    return _cheat_cards(game, states) if isinstance(game, Cheat) else None


def arrangements_belief(game: Geister, states: States, belief: NDArray[np.floating[Any]], kind: str) -> Beliefs:
    """Returns what a probability of each arrangement, `[K]`, says of the ghosts."""
    bits = (layouts(game.size)[:, None] >> np.arange(ghost_count(game.size))) & 1
    return _red(game, states, belief @ bits / belief.sum(), kind)


def hands_belief(found: SelfPlay | None) -> Beliefs | None:
    """Returns the belief about the opponent's hand in a game with a tree."""
    if found is None or found.hands is None:
        return None
    return {"about": "hands", "kind": "tracked" if found.reached else "uniform", "hands": found.hands}


def _ghosts(agent: Any, game: Geister, states: States, history: History) -> Beliefs:
    players = game.to_move(states)
    if isinstance(agent, TracksGhosts):
        return _red(game, states, agent.red_probabilities(states, np.zeros(1, np.int64))[0], "tracked")
    possible = game.possible(states, players)[0].astype(np.float64)
    if not isinstance(agent, Evaluator):
        return arrangements_belief(game, states, possible, "uniform")
    zero = np.zeros(1, np.int64)
    belief = Belief(game, agent, 1, RolloutSettings(search=1).doubt)
    for before, action in history:
        belief.update(before, game.to_move(before), zero)
        belief.remember(before, zero, np.full(1, action))
    return arrangements_belief(game, states, belief.update(states, players, zero)[0], "tracked")


def _red(game: Geister, states: States, red: NDArray[np.floating[Any]], kind: str) -> Beliefs:
    """The belief in the form of `Beliefs`; the colours of ghosts off the board are known or do not matter."""
    squares = states["square"][0, 1 - int(game.to_move(states)[0])]
    listed = [float(p) if squares[ghost] >= 0 else None for ghost, p in enumerate(red[: ghost_count(game.size)])]
    return {"about": "ghosts", "kind": kind, "red": listed}


def _guandan_cards(states: States) -> Beliefs:
    """Each unseen card is in each place of the other hands with the same probability."""
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


def _cheat_cards(game: Cheat, states: States) -> Beliefs:
    """Cards known to be in a player's hand or pile count as that; the others may be anywhere that is not seen.

    The cards that a player has put into the pile since it was taken last are not known apart from those in hand.
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


__all__ = ["Beliefs", "History", "TracksGhosts", "arrangements_belief", "belief_of", "hands_belief"]
