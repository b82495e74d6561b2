"""Compares the decisions of two agents by situation, and judges the differences by play-outs of many deals.

`n` decisions, `D` deals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.evaluation.arena import MatchResult, play
from dancfr.evaluation.statistics import Summary, stratified
from envs.agent import Agent
from envs.capabilities import Situations
from envs.game import GameBase, ListedGame, States

ROWS = 8192
"""Play-outs in lock step, about."""


@dataclass(frozen=True)
class Judged:
    """Gain of the first agent's actions over the other agent's in the decisions of a situation, in returns.

    Attributes:
        situation: Name of the situation.
        decisions: Decisions of the first agent with more than one legal action.
        differ: Those in which the other agent would have acted differently.
        gains: By the agent that plays the rest of the round on all seats: mean over the decisions that differ, by
            those that were judged, with its interval; None without two of these.
    """

    situation: str
    decisions: int
    differ: int
    gains: dict[str, Summary | None]


@dataclass(frozen=True)
class Example:
    """A decision that was judged.

    Attributes:
        situation: Name of the situation.
        picture: What the player saw.
        own, other: The actions of both agents.
        gain: Mean advantage of the agent's action over the other one, across deals and continuation policies.
        error: Its standard error over the deals.
    """

    situation: str
    picture: str
    own: str
    other: str
    gain: float
    error: float


@runtime_checkable
class SituatedGame(ListedGame, Situations, Protocol):
    """A game of listed actions that sorts decisions by situation."""


class Beside:
    """Plays as the first agent, and records the second one's choices. Satisfies `envs.agent.Agent`.

    Args:
        agent: Agent that plays.
        other: Agent that is compared.
    """

    def __init__(self, agent: Agent, other: Agent) -> None:
        self.name = agent.name
        self._agent, self._other = agent, other
        self.states: list[States] = []
        self.actions: list[tuple[NDArray[np.void], NDArray[np.void]]] = []

    def begin(self, game: ListedGame, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`."""
        self._game = game
        self._agent.begin(game, batch, rng)
        self._other.begin(game, batch, rng)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """See `Agent.act`."""
        own, other = self._agent.act(states, games, rng), self._other.act(states, games, rng)
        free = (np.diff(self._game.choices(states).offsets) > 1) & ~self._game.scripted(states)
        self.states.append(states[free].copy())
        self.actions.append((own[free], other[free]))
        return np.asarray(own)


def require_situations(game: GameBase) -> SituatedGame:
    """Returns a game as one that sorts decisions by situation.

    Raises:
        UsageError: it does not.
    """
    if not isinstance(game, SituatedGame):
        raise UsageError(
            f"decisions are compared in games that sort them by situation, such as guandan, not in {game.spec.name}"
        )
    return game


def compare_decisions(
    game: GameBase, pair: Sequence[Agent], other: Agent, rounds: int, most: int, deals: int, rng: np.random.Generator
) -> tuple[MatchResult, list[Judged], list[Example]]:
    """Plays a match, and judges the decisions in which the second agent would have acted differently from the first.

    Each of both actions is played in the same `deals` deals of what the player does not see, all of them alike likely,
    and one of the agents plays the rest of the round on all seats.

    Args:
        game: A game of rounds whose hidden part can be dealt again.
        pair: Two agents that play the match.
        other: The second agent again, who is asked about the decisions of the first one.
        rounds: Games of the match.
        most: Decisions that are judged of each situation; drawn at random where there are more.
        deals: Deals of each.
        rng: Source of all draws.

    Returns:
        The match, a row for each situation and one for all of them, and the judged decisions, the worst ones first.

    Raises:
        UsageError: the game does not say what the situations are.
    """
    game = require_situations(game)
    recorder = Beside(pair[0], other)
    match = play(game, (recorder, pair[1]), rounds, rng)
    states = np.concatenate(recorder.states)
    own, others = (np.concatenate([each[i] for each in recorder.actions]) for i in (0, 1))
    differ, situation = np.asarray(own != others), game.situation_of(states)
    rows, examples = [], []
    gains: dict[str, list[tuple[float, list[float]]]] = {pair[0].name: [], pair[1].name: []}
    for number, name in enumerate(game.situations):
        at = np.flatnonzero(differ & (situation == number))
        if len(at) > most:
            at = np.sort(rng.choice(at, most, replace=False))
        seeds = rng.integers(0, 2**64, (len(at), deals), np.uint64)
        found = {
            agent.name: _gains(game, agent, states[at], own[at], others[at], seeds, rng) for agent in pair if len(at)
        }
        counts = int((situation == number).sum()), int((differ & (situation == number)).sum())
        means = {who: gain.mean(axis=1).tolist() for who, gain in found.items()}  # a decision counts once
        for who, values in means.items():
            gains[who].append((counts[1], values))
        rows.append(Judged(name, *counts, {who: stratified([(1, values)]) for who, values in means.items()}))
        examples += [
            Example(
                name,
                game.picture(states[i]),
                game.describe(own[i]),
                game.describe(others[i]),
                float(np.mean([gain[k] for gain in found.values()])),
                float(np.mean([gain[k].std(ddof=1) for gain in found.values()]) / deals**0.5),
            )
            for k, i in enumerate(at.tolist())
        ]
    everywhere = {who: stratified(parts) for who, parts in gains.items()}
    rows.append(Judged("all", len(states), int(differ.sum()), everywhere))
    return match, rows, sorted(examples, key=lambda each: each.gain)


def _gains(
    game: SituatedGame,
    agent: Agent,
    states: States,
    own: NDArray[np.void],
    others: NDArray[np.void],
    seeds: NDArray[np.uint64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return of the first action minus that of the second one in each deal, `float64[n, D]`."""
    deals = seeds.shape[1]
    gains, step = np.empty(seeds.shape), max(1, ROWS // (2 * deals))
    for first in range(0, len(states), step):
        part = slice(first, first + step)
        repeated = states[part].repeat(deals)
        game.redeal(repeated, game.to_move(repeated), seeds[part].reshape(-1))
        both = np.concatenate([repeated, repeated])
        actions = np.concatenate([own[part].repeat(deals), others[part].repeat(deals)])
        returns = _play_on(game, agent, both, actions, rng).reshape(2, -1, deals)
        gains[part] = returns[0] - returns[1]
    return gains


def _play_on(
    game: ListedGame, agent: Agent, states: States, actions: NDArray[np.void], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Plays an action in each state and the rest of the round by an agent; gives its player's return of that round."""
    players, before = game.to_move(states), game.rounds(states)
    returns, rows = np.zeros(len(states)), np.arange(len(states))
    agent.begin(game, len(states), rng)
    while len(states):
        game.step(states, actions)
        over = game.rounds(states) > before[rows]
        ended = rows[over]
        returns[ended] = game.round_returns(states[over])[np.arange(len(ended)), players[ended]]
        states, rows = states[~over], rows[~over]
        if len(states):
            actions = agent.act(states, rows, rng)
    return returns
