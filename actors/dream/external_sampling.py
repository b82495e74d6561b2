"""External-sampling traversals, batched breadth-first by tree depth (Lanctot et al. 2009; Deep CFR: Brown et al. 2019).

All actions of the traverser are followed; one action of the other player and one outcome of chance are sampled. The
values of the traverser's actions are therefore unbiased with a low variance, without baselines or importance weights.

A chunk descends level by level: the states of one level are the successors of all followed actions of the level above.
Then values ascend from the ends of the games to the first decisions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.dream.policies import Policies
from actors.dream.traversal import Block, TraversalTask, TraversalWeights, Traverser, log_moments
from actors.explained import Explained
from actors.rows import take_records
from envs.game import Game, Packed, States
from learners.networks.settings import NetworkSettings
from learners.regret_matching import sample_actions
from learners.samples import advantage_dtype, advantage_rows, policy_dtype, policy_rows

MOST_NODES = 5_000_000
"""Maximum number of decisions in a chunk: games with many decisions are too large for following every action."""


class TooManyNodes(Explained):
    """A game is too large for external sampling."""


@dataclass
class _Level:
    """The `n` decisions of one depth.

    Attributes:
        mine: Whether the traverser moves, `bool[n]`.
        infostates: Infostates of the players to move, `uint8[n, P]`.
        legal: Legal actions, `bool[n, A]`.
        followed: Actions whose successors are on the next level, `bool[n, A]`.
        policy: Policy of the player to move, `float32[n, A]`.
        values: Value of each followed action for the traverser, `float32[n, A]`; written by `_ascend`.
        above: Decision and action of the level above that led to each decision, two `int64[n]`.
    """

    mine: NDArray[np.bool_]
    infostates: Packed
    legal: NDArray[np.bool_]
    followed: NDArray[np.bool_]
    policy: NDArray[np.float32]
    values: NDArray[np.float32]
    above: tuple[NDArray[np.int64], NDArray[np.int64]]


class ExternalTraverser(Traverser):
    """Plays chunks of games and turns them into samples: advantages of the traverser, policies of the other player.

    Args:
        game: Batched game of two players.
        network: Settings of the advantage nets.
        device: Device of the nets.
    """

    def __init__(self, game: Game, network: NetworkSettings, device: str = "cpu") -> None:
        self.game = game
        self.network = network
        self._device = device

    def traverse(self, task: TraversalTask, weights: TraversalWeights) -> tuple[dict[str, Any], Block]:
        """Samples `task.games` games.

        Returns:
            Statistics of the chunk, and its samples: ``advantages`` of the traverser, ``policies`` of the other player.

        Raises:
            TooManyNodes: the chunk has more than `MOST_NODES` decisions.
        """
        rng = np.random.default_rng(np.random.SeedSequence(task.seed))
        policies = Policies(self.game, self.network, weights.policies, self._device)
        levels, roots, endings = self._descend(task, policies, rng)
        self._ascend(levels, roots)
        spec = self.game.spec  # there may be no decision
        advantages, samples = np.empty(0, advantage_dtype(spec)), np.empty(0, policy_dtype(spec))
        advantages = np.concatenate([advantages, *(self._advantages(level, task.iteration) for level in levels)])
        samples = np.concatenate([samples, *(self._policies(level, task.iteration) for level in levels)])
        decisions = sum(len(level.mine) for level in levels)
        stats = {
            "decisions": decisions,
            "games": task.games,
            "plies": decisions / task.games,
            "returns": float(roots.mean()),
            "endings": endings.tolist(),
            "log_weights": log_moments(advantages["log_weight"].astype(np.float64)),
            "advantage_rows": len(advantages),
            "advantage_rms": float(np.sqrt(np.square(advantages["advantage"]).mean())) if len(advantages) else 0.0,
        }
        return stats, {"advantages": advantages, "policies": samples}

    def _descend(
        self, task: TraversalTask, policies: Policies, rng: np.random.Generator
    ) -> tuple[list[_Level], NDArray[np.float32], NDArray[np.int64]]:
        """Plays all followed actions to the ends of the games.

        Returns:
            The levels, with the returns of finished games in `values`; the values of the games, `float32[games, 1]`,
            so far of those that chance has ended before a decision; and the number of each ending.
        """
        game, traverser = self.game, task.traverser
        states = game.reset(task.games, rng)
        above = np.arange(task.games), np.zeros(task.games, np.int64)
        levels: list[_Level] = []
        roots = np.zeros((task.games, 1), np.float32)
        endings = np.zeros(len(game.spec.endings), np.int64)
        nodes = 0
        while len(states):
            over = game.finished(states)
            if over.any():
                ended = take_records(states, np.flatnonzero(over))
                endings += np.bincount(game.endings(ended), minlength=len(endings))
                values = levels[-1].values if levels else roots
                values[above[0][over], above[1][over]] = game.returns(ended)[:, traverser]
                states = take_records(states, np.flatnonzero(~over))
                above = above[0][~over], above[1][~over]
            if len(states) == 0:
                break
            nodes += len(states)
            if nodes > MOST_NODES:
                raise TooManyNodes(
                    f"external sampling has more than {MOST_NODES:,} decisions in a chunk of {task.games} games of "
                    f"{game.spec.name}: lower chunk, or use sampling.method=outcome"
                )
            levels.append(self._level(states, above, policies, traverser, rng))
            rows, actions = np.nonzero(levels[-1].followed)
            states, above = take_records(states, rows), (rows, actions)
            game.step(states, actions, rng)
        return levels, roots, endings

    def _level(
        self,
        states: States,
        above: tuple[NDArray[np.int64], NDArray[np.int64]],
        policies: Policies,
        traverser: int,
        rng: np.random.Generator,
    ) -> _Level:
        """Evaluates the decisions of one depth: all legal actions of the traverser, one sampled action of the other."""
        game, count = self.game, len(states)
        mover, legal = game.to_move(states), game.legal(states)
        infostates = game.observe(states, mover)
        policy = np.empty(legal.shape, np.float32)
        policies.write(mover, infostates, legal, policy)
        sampled, probability = np.empty(count, np.int64), np.empty(count, np.float32)
        draws = rng.random(count, dtype=np.float32)
        sample_actions(policy, legal, np.zeros(count, np.float32), draws, sampled, probability)
        mine = mover == traverser
        chosen = np.arange(legal.shape[1]) == sampled[:, None]
        followed = np.where(mine[:, None], legal, chosen)
        return _Level(mine, infostates, legal, followed, policy, np.zeros(legal.shape, np.float32), above)

    def _ascend(self, levels: list[_Level], roots: NDArray[np.float32]) -> None:
        """Writes the values of decisions into the levels above, and of the first level into `roots`."""
        for depth in range(len(levels) - 1, -1, -1):
            level = levels[depth]
            weight = np.where(level.mine[:, None], level.policy, level.followed)
            value = (weight * level.values).sum(axis=1, dtype=np.float32)
            (levels[depth - 1].values if depth else roots)[level.above] = value

    def _advantages(self, level: _Level, iteration: int) -> NDArray[np.void]:
        """Returns the samples of the traverser: value of each action minus value of the policy."""
        at = np.flatnonzero(level.mine)
        values, policy = level.values[at], level.policy[at]
        advantages = values - (policy * values).sum(axis=1, keepdims=True)
        return advantage_rows(self.game.spec, level.infostates[at], advantages, level.legal[at], iteration)

    def _policies(self, level: _Level, iteration: int) -> NDArray[np.void]:
        """Returns the policies of the other player, samples of the average policy."""
        at = np.flatnonzero(~level.mine)
        return policy_rows(self.game.spec, level.infostates[at], level.policy[at], level.legal[at], iteration)


__all__ = ["MOST_NODES", "ExternalTraverser", "TooManyNodes"]
