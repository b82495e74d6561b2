"""Self-play with beliefs, and depth-limited external sampling below the belief states that occur in it, as batches
(paper 002, Algorithms 2 and 3)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.rows import join_records, take_records
from actors.warm_up import WarmUp
from envs.game import Packed, States
from envs.geister import Geister
from learners.belief_search.policies import BeliefPolicies, BeliefWeights
from learners.belief_search.settings import SearchSettings
from learners.belief_search.tracker import BeliefTracker
from learners.belief_search.view import BeliefGeister
from learners.geister_beliefs.arrangements import Arrangements, Beliefs
from learners.networks.settings import NetworkSettings
from learners.regret_matching import sample_actions
from learners.samples import advantage_rows, infostate_value_dtype, policy_rows


@dataclass(frozen=True)
class BeliefTask:
    """A chunk of games. The same task and weights always give the same samples.

    Attributes:
        seed: Entropy of the random generator, (run seed, iteration, chunk).
        iteration: Iteration t, the weight of the samples.
        games: Number of games.
        states: Maximum number of belief states to search below.
        uniform: Player who plays uniformly at random; None for neither. Only the other player is then a traverser,
            and only belief states in which that player moves are searched.
    """

    seed: tuple[int, ...]
    iteration: int
    games: int
    states: int
    uniform: int | None = None


@dataclass
class _BeliefStates:
    """The `N` belief states of self-play.

    Attributes:
        states: States of the games, `[N]` records.
        beliefs: Beliefs of both players, `float32[N, 2, K]`.
        infostates: Infostates of the players to move, `uint8[N, P]`.
        games: Game that each belief state belongs to, `int64[N]`.
        returns: Returns of each game, `float32[games, 2]`.
    """

    states: States
    beliefs: Beliefs
    infostates: Packed
    games: NDArray[np.int64]
    returns: NDArray[np.float32]


@dataclass
class _Level:
    """The `n` decisions of one depth.

    Attributes:
        mine: Whether the traverser moves, `bool[n]`.
        averaged: Whether the policies of the other player are samples of the average policy.
        infostates: Infostates of the players to move, `uint8[n, P]`.
        legal: Legal actions, `bool[n, A]`.
        policy: Policy of the player to move, `float32[n, A]`.
        weight: Weight of each action in the value of the decision, `float32[n, A]`.
        values: Value of each followed action for the traverser, `float32[n, A]`; written by `_search` and `_ascend`.
        above: Decision and action of the level above that led to each decision, two `int64[n]`.
    """

    mine: NDArray[np.bool_]
    averaged: bool
    infostates: Packed
    legal: NDArray[np.bool_]
    policy: NDArray[np.float32]
    weight: NDArray[np.float32]
    values: NDArray[np.float32]
    above: tuple[NDArray[np.int64], NDArray[np.int64]]


class BeliefSampler(WarmUp):
    """Plays chunks of games and searches below their belief states, with each player as the traverser.

    Args:
        game: Geister or Mini Geister.
        network: Settings of the advantage and policy nets.
        value_network: Settings of the value net.
        search: Settings of self-play and search.
        device: Device of the nets.
    """

    def __init__(
        self,
        game: Geister,
        network: NetworkSettings,
        value_network: NetworkSettings,
        search: SearchSettings,
        device: str = "cpu",
    ) -> None:
        self.game = BeliefGeister.of(game)
        self.network, self.value_network = network, value_network
        self.search = search
        self._device = device
        self._arrangements = Arrangements(game.size, search.belief)

    def sample(self, task: BeliefTask, weights: BeliefWeights) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plays `task.games` games and searches below `task.states` of their belief states.

        Returns:
            Statistics of the chunk, and its samples: ``advantages`` of the traversers, ``policies`` of the other
            players, and ``values`` of belief states.
        """
        rng = np.random.default_rng(np.random.SeedSequence(task.seed))
        policies = BeliefPolicies(self.game, self.network, self.value_network, weights, self._device)
        tracker = BeliefTracker(self.game, self._arrangements, policies, self.search.doubt)
        met = self._play(task, tracker, rng)
        learnt = np.flatnonzero(self.game.to_move(met.states) != task.uniform)
        chosen = rng.permutation(learnt)[: task.states]
        levels = self._search(met, np.sort(chosen), tracker, rng, task.uniform)
        self._ascend(levels)
        advantages = np.concatenate([self._advantages(level, task.iteration) for level in levels])
        block = {
            "advantages": advantages,
            "policies": np.concatenate([self._policies(level, task.iteration) for level in levels]),
            "values": np.concatenate([*map(self._values, levels), *self._returns(met, learnt)]),
        }
        stats = {
            "decisions": sum(len(level.mine) for level in levels) + len(met.states),
            "games": task.games,
            "plies": len(met.states) / task.games,
            "states": len(chosen),
            "advantage_rms": float(np.sqrt(np.square(advantages["advantage"]).mean())) if len(advantages) else 0.0,
            "first_wins": float((met.returns[:, 0] > 0).mean()),
            "net_rows": policies.rows,
            "rows": {part: len(rows) for part, rows in block.items()},
        }
        return stats, block

    def _play(self, task: BeliefTask, tracker: BeliefTracker, rng: np.random.Generator) -> _BeliefStates:
        """Plays games by the average policy, mixed with the uniform one."""
        game = self.game
        states = game.reset(task.games, rng)
        beliefs = self._arrangements.even(task.games)
        ids = np.arange(task.games)
        returns = np.zeros((task.games, 2), np.float32)
        met: list[tuple[States, Beliefs, Packed, NDArray[np.int64]]] = []
        while len(states):
            mover, legal = game.to_move(states), game.legal(states)
            infostates = tracker.observe(states, mover, beliefs)
            met.append((states.copy(), beliefs.copy(), infostates, ids))
            policy = tracker.policies.average(infostates, legal)
            if task.uniform is not None:
                policy = _uniform_where(mover == task.uniform, policy, legal)
            actions = _draw(policy, legal, self.search.epsilon, rng)
            tracker.play(states, beliefs, actions)
            over = game.finished(states)
            if over.any():
                returns[ids[over]] = game.returns(states[over])
                keep = np.flatnonzero(~over)
                states, beliefs, ids = take_records(states, keep), beliefs[keep], ids[keep]
        parts = [np.concatenate([each[i] for each in met]) for i in range(1, 4)]
        joined = met[0][0]
        for each in met[1:]:
            joined = join_records(joined, each[0])
        return _BeliefStates(joined, parts[0], parts[1], parts[2], returns)

    def _search(
        self,
        met: _BeliefStates,
        chosen: NDArray[np.int64],
        tracker: BeliefTracker,
        rng: np.random.Generator,
        uniform: int | None = None,
    ) -> list[_Level]:
        """Runs external sampling below the chosen belief states, level by level, with each player as the traverser. If
        one player plays uniformly, only the other one is a traverser.

        Within a search, beliefs stay those of the root, except for the colours of captured ghosts: a few moves change
        little, and updating the belief after a move would cost a forward pass for each arrangement.
        """
        game, limit = self.game, self.search.depth
        roots, beliefs = take_records(met.states, chosen), met.beliefs[chosen]
        drawn = np.flatnonzero(rng.random(len(chosen)) < self.search.epsilon_belief)
        if len(drawn) and self.search.belief != "none":
            self._arrangements.regenerate(roots, beliefs, drawn, self.search.spread, rng)
        traversers = np.array([0, 1] if uniform is None else [1 - uniform], np.int8)
        of = np.tile(np.arange(len(chosen)), len(traversers))
        traverser = np.repeat(traversers, len(chosen))
        states = take_records(roots, of)
        above = of, of
        levels: list[_Level] = []
        for depth in range(limit + 1):
            over = game.finished(states)
            if over.any():
                won = game.returns(states[over])[np.arange(over.sum()), traverser[over]]
                levels[-1].values[above[0][over], above[1][over]] = won
                keep = np.flatnonzero(~over)
                states, of, traverser = take_records(states, keep), of[keep], traverser[keep]
                above = above[0][keep], above[1][keep]
            mover = game.to_move(states)
            infostates = tracker.observe(states, mover, beliefs, of)
            mine = mover == traverser
            if depth == limit:
                levels[-1].values[above] = self._leaves(tracker, infostates, mine)
                break
            legal = game.legal(states)
            policy = tracker.policies.current(infostates, legal)
            if uniform is not None:
                policy = _uniform_where(~mine, policy, legal)
            sampled = _draw(policy, legal, 0.0, rng)
            one = np.arange(legal.shape[1]) == sampled[:, None]
            followed = np.where(mine[:, None], legal, one)
            weight = np.where(mine[:, None], policy, one).astype(np.float32)
            levels.append(
                _Level(
                    mine, uniform is None, infostates, legal, policy, weight, np.zeros(legal.shape, np.float32), above
                )
            )
            rows, actions = np.nonzero(followed)
            states, of, traverser, above = take_records(states, rows), of[rows], traverser[rows], (rows, actions)
            game.step(states, actions)
            if not len(states):
                break
        return levels

    def _leaves(self, tracker: BeliefTracker, infostates: Packed, mine: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Returns the values for the traverser at the depth limit, `float32[n]`."""
        if self.search.leaves == "mover":
            value = tracker.policies.value(infostates)
            return np.where(mine, value, -value)
        found = np.zeros(len(mine), np.float32)
        found[mine] = tracker.policies.value(infostates[mine])
        return found

    def _ascend(self, levels: list[_Level]) -> None:
        """Writes the values of decisions into the levels above, from the leaves up."""
        for level, below in zip(levels[-2::-1], levels[:0:-1], strict=True):
            level.values[below.above] = _expected(below)

    def _advantages(self, level: _Level, iteration: int) -> NDArray[np.void]:
        """Returns the samples of the traverser: value of each action minus value of the policy."""
        at = np.flatnonzero(level.mine)
        advantages = level.values[at] - _expected(level)[at, None]
        return advantage_rows(self.game.spec, level.infostates[at], advantages, level.legal[at], iteration)

    def _policies(self, level: _Level, iteration: int) -> NDArray[np.void]:
        """Returns the policies of the other player, samples of the average policy."""
        at = np.flatnonzero(~level.mine & level.averaged)
        return policy_rows(self.game.spec, level.infostates[at], level.policy[at], level.legal[at], iteration)

    def _values(self, level: _Level) -> NDArray[np.void]:
        """Returns samples of the value net: the values of the search at the traverser's belief states."""
        at = np.flatnonzero(level.mine)
        samples = np.zeros(len(at), infostate_value_dtype(self.game.spec))
        samples["infostate"] = level.infostates[at]
        samples["value"] = _expected(level)[at]
        return samples

    def _returns(self, met: _BeliefStates, learnt: NDArray[np.int64]) -> list[NDArray[np.void]]:
        """Returns samples of the value net: the returns of self-play at the belief states `learnt`."""
        if not self.search.returns:
            return []
        samples = np.zeros(len(learnt), infostate_value_dtype(self.game.spec))
        samples["infostate"] = met.infostates[learnt]
        samples["value"] = met.returns[met.games, self.game.to_move(met.states)][learnt]
        return [samples]


def _expected(level: _Level) -> NDArray[np.float32]:
    """Returns the value of each decision for the traverser, `float32[n]`."""
    value: NDArray[np.float32] = (level.weight * level.values).sum(axis=1, dtype=np.float32)
    return value


def _uniform_where(
    which: NDArray[np.bool_], policy: NDArray[np.float32], legal: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Returns the policy with the rows `which` replaced by the uniform policy over the legal actions."""
    return np.where(which[:, None], legal / legal.sum(axis=1, keepdims=True), policy).astype(np.float32)


def _draw(
    policy: NDArray[np.float32], legal: NDArray[np.bool_], epsilon: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draws an action per row from the policy mixed with the uniform one, `int64[n]`."""
    actions, probability = np.empty(len(policy), np.int64), np.empty(len(policy), np.float32)
    explore = np.full(len(policy), epsilon, np.float32)
    sample_actions(policy, legal, explore, rng.random(len(policy), dtype=np.float32), actions, probability)
    return actions
