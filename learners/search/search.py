"""The search: rounds of roll-outs of the likeliest actions, until the budget is used or one action is left.

`n` games in a batch, `C` candidates, `W` worlds of a round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.game import States
from envs.hidden import HiddenGame
from learners.search.belief import draw_arrangements
from learners.search.evaluator import Evaluator
from learners.search.rollouts import roll_out
from learners.search.settings import RolloutSettings


class Roots(NamedTuple):
    """The decisions to search.

    Attributes:
        states: `[n]` records; what is hidden in them is not read.
        players: The player to move in each, `int8[n]`.
        policy: The agent's policy, `float32[n, A]`.
        belief: Probability of each arrangement of what is hidden, `float64[n, K]`.
        generators: A generator for each.
    """

    states: States
    players: NDArray[np.int8]
    policy: NDArray[np.float32]
    belief: NDArray[np.float64]
    generators: Sequence[np.random.Generator]

    def part(self, at: slice) -> "Roots":
        """Some of the decisions."""
        return Roots(self.states[at], self.players[at], self.policy[at], self.belief[at], self.generators[at])


@dataclass
class Candidates:
    """The actions that are tried, and the returns of their roll-outs.

    Attributes:
        actions: In the order of their probabilities, `int64[n, C]`.
        bonus: Temperature times the logarithm of the probability, `float64[n, C]`; -inf where that is 0.
        live: Those that are still tried, `bool[n, C]`.
        returns: Returns of all rounds, `float32[n, C, N]`; NaN where a candidate was not tried.
    """

    actions: NDArray[np.int64]
    bonus: NDArray[np.float64]
    live: NDArray[np.bool_]
    returns: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        self.returns = np.zeros((*self.actions.shape, 0), np.float32)

    @classmethod
    def of(cls, policy: NDArray[np.float32], settings: RolloutSettings) -> "Candidates":
        """The actions with the highest probabilities; not more than there are roll-outs."""
        count = min(settings.candidates, settings.search or settings.candidates)
        actions = np.argsort(-policy, axis=1, kind="stable")[:, :count]
        probability = np.take_along_axis(policy, actions, axis=1).astype(np.float64)
        bonus = np.where(probability > 0, settings.temperature * np.log(np.maximum(probability, 1e-30)), -np.inf)
        return cls(actions, bonus, probability > 0)

    @property
    def open(self) -> NDArray[np.bool_]:
        """Mask of the decisions with more than one candidate left, `bool[n]`."""
        return np.asarray(self.live.sum(axis=1) > 1)

    def add(self, games: NDArray[np.int64], tried: NDArray[np.int64], returns: NDArray[np.float32]) -> None:
        """Adds a round: the returns `float32[M, W]` of candidate `tried[m]` of decision `games[m]`."""
        fresh = np.full((*self.actions.shape, returns.shape[1]), np.nan, np.float32)
        fresh[games, tried] = returns
        self.returns = np.concatenate([self.returns, fresh], axis=2)

    def give_up(self, decisions: NDArray[np.bool_], confidence: float) -> None:
        """Gives up the candidates that are clearly behind the best one.

        All candidates were tried in the same worlds with the same draws, so it is the difference of two candidates in
        each world whose standard error counts. After a single world there is none, and no candidate is given up.
        """
        if self.returns.shape[2] < 2:
            return
        games = np.flatnonzero(decisions)
        returns, live, bonus = self.returns[games], self.live[games], self.bonus[games]
        best = np.argmax(self._scores(games), axis=1)[:, None]
        ahead = np.take_along_axis(returns, best[:, :, None], axis=1) - returns  # [n, C, N]
        count = ahead.shape[2]
        error = np.sqrt(ahead.var(axis=2) / (count - 1))
        lead = ahead.mean(axis=2) + np.take_along_axis(bonus, best, axis=1) - bonus
        behind = lead > confidence * error  # never the best one, whose lead is 0
        self.live[games] = live & ~behind

    def means(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The mean return of the roll-outs of each candidate, NaN for those never tried, and their number, `[n, C]`."""
        tried = ~np.isnan(self.returns)
        count = tried.sum(axis=2)
        total = np.where(tried, self.returns, 0).sum(axis=2, dtype=np.float64)
        return np.where(count > 0, total / np.maximum(1, count), np.nan), count

    def best(self) -> NDArray[np.int64]:
        """The action with the greatest score among those that were not given up, `int64[n]`."""
        chosen = np.argmax(self._scores(np.arange(len(self.actions))), axis=1)
        return np.asarray(self.actions[np.arange(len(self.actions)), chosen])

    def _scores(self, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """Mean return plus bonus, `float64[n, C]`; -inf for candidates that were given up."""
        live, returns = self.live[games], self.returns[games]
        tried = ~np.isnan(returns)
        mean = np.where(tried, returns, 0).sum(axis=2, dtype=np.float64) / np.maximum(1, tried.sum(axis=2))
        return np.where(live, mean + np.where(live, self.bonus[games], 0), -np.inf)


def search(game: HiddenGame, agent: Evaluator, settings: RolloutSettings, roots: Roots, until: float) -> Candidates:
    """Tries the likeliest actions of each of n decisions.

    Args:
        game: The rules.
        agent: Plays the roll-outs.
        settings: See there; `ms` is not read.
        roots: The decisions.
        until: When to stop, as `time.perf_counter` counts, where the settings give no number of roll-outs.

    Returns:
        The candidates with their returns; `Candidates.best` are the actions to play.
    """
    candidates = Candidates.of(roots.policy, settings)

    def play(decisions: NDArray[np.bool_], worlds: int) -> None:
        _round(game, agent, settings, roots, candidates, decisions, worlds)

    run_rounds(candidates, settings, until, play)
    return candidates


def run_rounds(
    candidates: Candidates, settings: RolloutSettings, until: float, play: Callable[[NDArray[np.bool_], int], None]
) -> None:
    """Tries candidates in rounds until the budget of each decision is used or one candidate is left.

    Args:
        candidates: Those of n decisions.
        settings: See there; `ms` is not read.
        until: When to stop, as `time.perf_counter` counts, where the settings give no number of roll-outs.
        play: Rolls out the live candidates of a mask of decisions, `bool[n]`, in a number of worlds, the same for all
            of a decision, and adds the returns.
    """
    budget = settings.search if settings.search is not None else np.iinfo(np.int64).max
    worlds = max(1, min(settings.worlds, budget // candidates.actions.shape[1]))
    used, longest = np.zeros(len(candidates.actions), np.int64), 0.0
    while True:
        cost = candidates.live.sum(axis=1) * worlds
        decisions = candidates.open & (used + cost <= budget)
        started = perf_counter()
        if not decisions.any() or (settings.search is None and longest and started + longest > until):
            return
        play(decisions, worlds)
        candidates.give_up(decisions, settings.confidence)
        used[decisions] += cost[decisions]
        longest = max(longest, perf_counter() - started)


def _round(
    game: HiddenGame,
    agent: Evaluator,
    settings: RolloutSettings,
    roots: Roots,
    candidates: Candidates,
    decisions: NDArray[np.bool_],
    worlds: int,
) -> None:
    """Rolls out all live candidates of some decisions in the same worlds with the same draws."""
    n, depth = len(roots.states), settings.depth
    places, draws = np.zeros(n), np.zeros((depth, n, worlds), np.float32)
    for g in np.flatnonzero(decisions).tolist():
        places[g] = roots.generators[g].random()
        draws[:, g] = roots.generators[g].random((depth, worlds), np.float32)
    drawn = draw_arrangements(roots.belief, places, worlds)
    games, tried = np.nonzero(candidates.live & decisions[:, None])
    row = np.repeat(games, worlds)
    states, players = roots.states[row], roots.players[row]
    game.arrange(states, players, drawn[games].reshape(-1))
    returns = roll_out(
        game,
        agent,
        states,
        players,
        np.repeat(candidates.actions[games, tried], worlds),
        draws[:, games].reshape(depth, len(row)),
        settings.trace,
    )
    candidates.add(games, tried, returns.reshape(-1, worlds))
