"""The belief about the hidden state: Bayes' rule over all arrangements, by the moves of the opponent.

`B` games, `n` of them at a time, `K` arrangements.
"""

import numpy as np
from numpy.typing import NDArray

from envs.game import Packed, States
from envs.hidden import HiddenGame
from learners.search.evaluator import Evaluator


class Belief:
    """The probability of each arrangement in each game of a batch.

    The likelihood of what happened since the agent's last move is that of the opponent's answer under the agent's own
    policy, mixed with a share of uniform moves. Which answer that was follows from what the agent observes: every legal
    answer is tried in every arrangement, and those count that lead to the observation at hand. Before its own first
    move, the agent has seen the first move of the opponent if that one began. If no answer leads to the observation,
    moves were played that the agent has not seen, and its belief restarts at even odds.

    Args:
        game: The rules.
        agent: Whose policy the opponent is assumed to play.
        batch: Number of games.
        doubt: Share of uniform moves.
    """

    def __init__(self, game: HiddenGame, agent: Evaluator, batch: int, doubt: float) -> None:
        self._game, self._agent, self._doubt = game, agent, doubt
        self._chance = np.random.default_rng(0)  # `Game.step` asks for a generator, but there is no chance
        self._start = start = game.reset(1, self._chance)
        self._moved = np.zeros(batch, np.bool_)  # whether the agent has moved in the game yet
        self._states = np.zeros(batch, start.dtype)  # where it moved last
        self._actions = np.zeros(batch, np.int64)  # and what it played there
        self._log = np.zeros((batch, game.possible(start, game.to_move(start)).shape[1]))

    def update(self, states: States, players: NDArray[np.int8], games: NDArray[np.int64]) -> NDArray[np.float64]:
        """Updates the belief by the moves since the last call of `remember`.

        Args:
            states: The games in which the agent is to move, `[n]` records.
            players: The agent's seat in each, `int8[n]`.
            games: Their indices in the batch, `int64[n]`.

        Returns:
            The probability of each arrangement, `float64[n, K]`.
        """
        possible = self._game.possible(states, players)
        moved = self._moved[games]
        at = np.flatnonzero(moved)
        if len(at):
            seen = self._game.observe(states[at], players[at])
            self._log[games[at]] += self._log_likelihood(games[at], players[at], possible[at], seen)
        began = self._game.to_move(self._start)[0]
        at = np.flatnonzero(~moved & (players != began))
        if len(at):
            self._log[games[at]] = self._log_first(states[at], players[at], possible[at])
        log = np.where(possible, self._log[games], -np.inf)
        unseen = np.isneginf(log).all(axis=1)
        log[unseen] = np.where(possible[unseen], 0.0, -np.inf)
        log -= log.max(axis=1, keepdims=True)
        self._log[games] = log
        weight = np.exp(log)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def remember(self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Keeps the agent's own moves, whose consequences `update` works out when the opponent has answered."""
        if not self._moved.any():
            self._states = np.zeros(len(self._moved), states.dtype)
        self._states[games], self._actions[games], self._moved[games] = states, actions, True

    def _log_first(self, states: States, players: NDArray[np.int8], possible: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Logarithm of the probability of the opponent's first move under each arrangement, `float64[n, K]`."""
        game, count = self._game, possible.shape[1]
        seen = game.observe(states, players)
        # The starting position of this game, with the agent's own arrangement, which is found by trying each.
        row, own = np.nonzero(game.possible(states, 1 - players))
        tried = states[row]
        game.arrange(tried, 1 - players[row], own)
        same = (game.observe(tried, players[row]) == seen[row]).all(axis=1)
        row, first = np.unique(row[same], return_index=True)
        starts = np.repeat(self._start, len(row))
        game.arrange(starts, 1 - players[row], own[same][first])
        found = np.full((len(states), count), -np.inf)
        if not len(row):
            return found
        at, arrangement = np.nonzero(possible[row])
        worlds = starts[at]
        game.arrange(worlds, players[row[at]], arrangement)
        found[row] = self._log_answers(worlds, at, arrangement, players[row], seen[row], count)
        return found

    def _log_likelihood(
        self,
        games: NDArray[np.int64],
        players: NDArray[np.int8],
        possible: NDArray[np.bool_],
        seen: NDArray[np.uint8],
    ) -> NDArray[np.float64]:
        """Logarithm of the probability of the opponent's answer under each arrangement, `float64[n, K]`."""
        game = self._game
        # Every world that is still possible, after the agent's last move.
        row, arrangement = np.nonzero(possible & np.isfinite(self._log[games]))
        worlds = self._states[games[row]]
        game.arrange(worlds, players[row], arrangement)
        game.step(worlds, self._actions[games[row]], self._chance)
        return self._log_answers(worlds, row, arrangement, players, seen, possible.shape[1])

    def _log_answers(
        self,
        worlds: States,
        row: NDArray[np.int64],
        arrangement: NDArray[np.int64],
        players: NDArray[np.int8],
        seen: Packed,
        count: int,
    ) -> NDArray[np.float64]:
        """Logarithm of the probability of the opponent's answer in each world, `float64[n, K]`; -inf without one.

        Args:
            worlds: Before the answer, `[m]` records; `row` and `arrangement`, `int64[m]`, say which.
            players: The agent's seat in each of the games, `int8[n]`.
            seen: What the agent observes after the answer, `uint8[n, P]`.
            count: Number of arrangements.
        """
        game = self._game
        running = ~game.finished(worlds)
        row, arrangement, worlds = row[running], arrangement[running], worlds[running]
        # The opponent's policy in each world, and where each of the legal answers leads.
        movers = game.to_move(worlds)
        legal = game.legal(worlds)
        policy, _ = self._agent.evaluate(game.observe(worlds, movers), legal, movers)
        mixed = (1 - self._doubt) * policy + self._doubt * legal / legal.sum(axis=1, keepdims=True)
        world, answer = np.nonzero(legal)
        after = worlds[world]
        game.step(after, answer, self._chance)
        found = (game.observe(after, players[row[world]]) == seen[row[world]]).all(axis=1)
        likelihood = np.zeros((len(seen), count))
        np.add.at(likelihood, (row[world[found]], arrangement[world[found]]), mixed[world[found], answer[found]])
        with np.errstate(divide="ignore"):
            return np.log(likelihood)


def draw_arrangements(belief: NDArray[np.float64], draws: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Draws arrangements by systematic sampling: each appears `count` times its probability, rounded up or down.

    Args:
        belief: Probability of each arrangement, `float64[n, K]`.
        draws: One uniform draw from [0, 1) per row, `float64[n]`.
        count: Number of arrangements `W` of each row.

    Returns:
        Their indices, `int64[n, W]`.
    """
    limits = np.cumsum(belief, axis=1)
    limits /= limits[:, -1:]
    places = (draws[:, None] + np.arange(count)) / count
    return np.asarray((limits[:, None, :-1] <= places[:, :, None]).sum(axis=2), np.int64)
