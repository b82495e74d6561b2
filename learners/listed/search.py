"""Search at play time for Q-nets: each candidate is played out in random deals of the hidden cards.

`n` decisions in a batch, `C` candidates, `W` deals of a round, `M` roll-outs in lock step.
"""

from copy import copy
from time import perf_counter
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named, copy_with
from envs.capabilities import Redeals, redeal_by_belief
from envs.game import GameBase, ListedGame, States
from envs.insight import Insight, normalised, with_gaps
from learners.listed.agent import QAgent, places
from learners.listed.proposals import propose
from learners.listed.rollouts import roll_out
from learners.search.search import Candidates, run_rounds
from learners.search.settings import RolloutSettings

ROWS = 4096
"""Roll-outs in lock step, about; of more decisions than that, some are searched after the others."""


@runtime_checkable
class RedealtGame(ListedGame, Redeals, Protocol):
    """A game whose hidden part can be dealt again."""


class DealsSearched(NamedTuple):
    """The findings of a search in n decisions with C candidates each; m of the decisions were unclear without a search.

    Attributes:
        chosen: The actions to play, `[n]` records.
        searched: Which decisions were searched, `int64[m]`.
        actions: The candidates, `[m, C]` records.
        policy: Their probabilities before the search, `float32[m, C]`; 0 for places that are not used.
        means: Mean return of the roll-outs of each, `float64[m, C]`; NaN where there was none.
        tries: Number of these roll-outs, `int64[m, C]`.
    """

    chosen: NDArray[np.void]
    searched: NDArray[np.int64]
    actions: NDArray[np.void]
    policy: NDArray[np.float32]
    means: NDArray[np.float64]
    tries: NDArray[np.int64]


class DealSearch(Named):
    """Improves the choices of a Q-net by roll-outs before each move. Satisfies `envs.agent.Agent` for ragged games.

    All candidates of a decision are tried in the same deals, which agree with all that the player sees. In a roll-out
    every seat plays by the net. After `depth` moves stands the value of the critic, which sees the deal, averaged with
    a quick play-out where the game has one (`playouts`); an agent without a critic plays each deal to its end. Each
    decision draws one number from `rng`, from which all its other draws follow, so a batch of games is played like its
    games one by one, unless a clock ends the search.

    Args:
        agent: The net that proposes and that plays the roll-outs.
        game: The rules.
        settings: How to search. Deals follow the game's belief, if it has one; with a `doubt` of 1 they do not.

    Raises:
        ValueError: the hidden part of the game cannot be dealt again.
    """

    def __init__(self, agent: QAgent, game: GameBase, settings: RolloutSettings) -> None:
        self.name = agent.name
        self.agent, self.settings = agent, settings
        self._enter(game)

    def __copy__(self) -> "DealSearch":
        return copy_with(self, agent=copy(self.agent))

    def begin(self, game: ListedGame, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`.

        Raises:
            ValueError: the hidden part of the game cannot be dealt again.
        """
        self._enter(game)
        self.agent.begin(game, batch, rng)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """Actions for n states in which this agent is to move, `[n]` action records.

        Raises:
            GameOver: One of the games has ended.
        """
        return self.search(states, rng).chosen

    def search(self, states: States, rng: np.random.Generator) -> DealsSearched:
        """Decides like `act`, and returns the findings of the search.

        Raises:
            GameOver: One of the games has ended.
        """
        started, settings = perf_counter(), self.settings
        actions, asked, lists, logits = self.agent.decide(states)
        seeds = rng.integers(2**63, size=len(states))
        step = max(1, ROWS // (settings.worlds * settings.candidates))
        count = np.empty(len(asked), np.int64)
        proposals = np.empty((len(asked), settings.candidates), np.int64)
        propose(lists.offsets, logits, proposals, count)
        listed = np.arange(settings.candidates) < count[:, None]
        policy = np.where(listed, np.exp(logits[proposals] - logits[proposals[:, :1]]), 0).astype(np.float32)
        policy /= policy.sum(axis=1, keepdims=True)
        means = np.full(policy.shape, np.nan)
        tries = np.zeros(policy.shape, np.int64)
        for first in range(0, len(asked), step):
            part = slice(first, first + step)
            at = asked[part]
            until = started + (settings.ms or 0.0) / 1000 * min(first + step, len(asked))
            candidates = Candidates.of(policy[part], settings)
            self._search(states[at], lists.rows[proposals[part]], candidates, seeds[at], until)
            actions[at] = lists.rows[proposals[part][np.arange(len(at)), candidates.best()]]
            mean, count = candidates.means()  # by probability, not by proposal
            np.put_along_axis(means[part], candidates.actions, mean, axis=1)
            np.put_along_axis(tries[part], candidates.actions, count, axis=1)
        return DealsSearched(actions, asked, lists.rows[proposals], policy, means, tries)

    def _search(
        self,
        states: States,
        actions: NDArray[np.void],
        candidates: Candidates,
        seeds: NDArray[np.int64],
        until: float,
    ) -> None:
        """Rounds of roll-outs, see `learners.search.search.run_rounds`.

        Args:
            states: `[n]` records; what is hidden in them is not read.
            actions: The candidates' actions, `[n, C]` records.
            candidates: Which of them are tried; takes in their returns.
            seeds: Seed of each decision, `int64[n]`.
            until: When to stop, as `time.perf_counter` counts, where the settings give no number of roll-outs.
        """
        generators = [np.random.Generator(np.random.Philox(key=int(seed))) for seed in seeds]

        def play(decisions: NDArray[np.bool_], worlds: int) -> None:
            deals = np.zeros((len(states), worlds), np.uint64)
            for g in np.flatnonzero(decisions).tolist():
                deals[g] = generators[g].integers(0, 2**64, worlds, np.uint64)
            games, tried = np.nonzero(candidates.live & decisions[:, None])
            first = actions[games, candidates.actions[games, tried]]
            row = np.repeat(games, worlds)
            returns = self._roll_out(states[row], np.repeat(first, worlds), deals[games].reshape(-1))
            candidates.add(games, tried, returns.reshape(-1, worlds))

        run_rounds(candidates, self.settings, until, play)

    def _roll_out(self, states: States, actions: NDArray[np.void], deals: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Plays an action in each of M states under a deal, continues with the net, and gives the return of the round;
        see `learners.listed.rollouts.roll_out`."""
        game, settings = self._game, self.settings
        players = game.to_move(states)
        if settings.doubt < 1:
            redeal_by_belief(game, states, players, deals)
        else:
            game.redeal(states, players, deals)
        return roll_out(game, self.agent, states, players, actions, settings.depth, settings.trace, settings.playouts)

    def think(self, states: States, rng: np.random.Generator) -> Insight:
        """See `envs.insight.Thinks`; `QAgent.think`."""
        place, found = places(self._game, states), self.search(states, rng)
        chosen = place[found.chosen[0].tobytes()]
        policy, prior, values = np.zeros(len(place)), np.zeros(len(place)), np.full(len(place), np.nan)
        policy[chosen] = 1
        if not len(found.searched):
            value, value_from = self.agent.critic_value(states, rng)
            return Insight(policy.tolist(), "settled", value=value, value_from=value_from)
        tries = np.zeros(len(place), np.int64)
        for row, before, mean, count in zip(
            found.actions[0], found.policy[0], found.means[0], found.tries[0], strict=True
        ):
            if before > 0:  # otherwise the place is not used
                at = place[row.tobytes()]
                prior[at], values[at], tries[at] = before, mean, count
        in_returns = not self.agent.win_bonus
        if tries[chosen] and in_returns:
            value, value_from = float(values[chosen]), "search"
        else:
            value, value_from = self.agent.critic_value(states, rng)
        return Insight(
            policy.tolist(),
            "search",
            prior=normalised(prior),
            values=with_gaps(values) if in_returns else None,
            values_are="returns" if in_returns else None,
            tries=tries.tolist(),
            value=value,
            value_from=value_from,
        )

    def _enter(self, game: GameBase) -> None:
        if not isinstance(game, RedealtGame):
            raise ValueError(f"search has to deal the hidden cards, which {game.spec.name} cannot do")
        self._game: RedealtGame = game
