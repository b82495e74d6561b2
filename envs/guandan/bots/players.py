"""The bots of GuanDan: `random`, `greedy`, `planner`, `counter` and `reader`.

`greedy` plays the weakest action that beats the last move, even its partner's, and passes only if there is none. It
plays bombs after all other actions, and actions with wild cards after those without. As a leader it plays all cards of
its weakest rank with fewer than four cards. Like the others it chooses tributes by
`tribute.tribute_choice`; `random` chooses them at random.

The bots use only what their seat knows: its hand, the cards played, the number of cards of the others, the level, and
the move to beat.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from envs.agent import ListedAgent, Named
from envs.compiled import kernel
from envs.game import ListedGame, States
from envs.guandan.bots.bot import GuanDanBot
from envs.guandan.bots.counter import CounterBot, ReaderBot
from envs.guandan.bots.planner import PlannerBot
from envs.guandan.inputs.tribute import tribute_choice
from envs.guandan.rules.cards import JOKER_RANK, PASS, TRIPS, count_of
from envs.guandan.rules.comparison import NOT_A_BOMB, bomb_class, value_of
from envs.guandan.rules.state import NOBODY, PLAY
from envs.ragged import choose_rows


@kernel
def _size_of_group(low, high, rank, level):
    """Counts the natural cards of a rank, or the cards of a joker."""
    if rank >= JOKER_RANK:
        return count_of(low, high, 39 + rank)
    total = np.int64(0)
    for suit in range(4):
        if suit > 0 or rank != level:
            total += count_of(low, high, 4 * rank + suit)
    return total


@kernel
def _effort(action, low, high, level, leads):
    """Returns the rank of an action in the preference of `greedy`, which plays the lowest.

    The highest are, in this order: a pass; a leader's sequences and full houses; a leader's plays of a part of a rank.
    Then come the class of a bomb, the number of wild cards, and the value.
    """
    kind, rank, size = np.int64(action.kind), np.int64(action.rank), np.int64(action.size)
    if kind == PASS:
        return np.int64(1) << 40
    strength = bomb_class(kind, size)
    effort = (strength - NOT_A_BOMB) << 16 | count_of(action.low, action.high, 4 * level) << 8
    if leads and strength == NOT_A_BOMB:
        if kind > TRIPS:
            return np.int64(1) << 30
        effort |= np.int64(size != _size_of_group(low, high, rank, level)) << 28
    return effort | value_of(kind, rank, level)


@kernel
def choose_greedy(states, offsets, rows):
    """Returns the rows of `GuanDan.choices` that `greedy` plays, `int64[B]`; -1 outside of the playing phase."""
    chosen = np.full(states.shape[0], -1, np.int64)
    for b in range(states.shape[0]):
        state = states[b]
        if state.to_move == NOBODY or state.phase != PLAY:
            continue
        low, high, level = state.low[state.to_move], state.high[state.to_move], np.int64(state.level)
        least = np.int64(1) << 50
        for n in range(offsets[b], offsets[b + 1]):
            effort = _effort(rows[n], low, high, level, state.beat_kind == PASS)
            if effort < least:
                chosen[b], least = n, effort
    return chosen


class RandomBot(Named):
    """Plays a uniformly random legal action of any `ListedGame`. Implements `envs.agent.ListedAgent`."""

    name = "random"

    def __init__(self) -> None:
        self._game: ListedGame | None = None

    def begin(self, game: ListedGame, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        legal = self._begun(self._game).legal(states)
        return np.asarray(legal.rows[choose_rows(legal.offsets, rng.random(len(states)))])

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `envs.agent.StatesPolicy`."""
        counts = np.diff(self._begun(self._game, "probabilities").legal(states).offsets)
        return np.repeat(1 / np.maximum(counts, 1), counts)


class GreedyBot(GuanDanBot):
    """Plays the weakest action that beats the last move, bombs only if nothing else does.

    Deterministic; implements `envs.agent.ListedAgent`.

    Raises:
        ValueError: `begin` is called with a game other than GuanDan.
    """

    name = "greedy"

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        choices = self.game.choices(states)
        chosen = choose_greedy(states, *choices)
        return choices.rows[np.where(chosen < 0, tribute_choice(states, choices), chosen)]


BOTS: dict[str, Callable[[], ListedAgent]] = {
    "random": RandomBot,
    "greedy": GreedyBot,
    "planner": PlannerBot,
    "counter": CounterBot,
    "reader": ReaderBot,
}
"""The bots of GuanDan by their names on the command line."""

__all__ = ["BOTS", "CounterBot", "GreedyBot", "PlannerBot", "RandomBot", "ReaderBot", "choose_greedy"]
