"""Outcome-sampling traversals of DREAM, many games in lock step (paper 000, 4.7; Steinberger et al. 2020, algorithm 1).

A chunk is a number of games with one traverser and one seed. The traverser samples from
xi = epsilon * uniform + (1 - epsilon) * pi, the other player from pi; the baseline net is not needed for that and is
evaluated on all decisions of the chunk afterwards, in large batches.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.rows import Rows
from envs.game import Game
from learners.dream.recursion import link_rows, sampled_advantages
from learners.dream.regret_matching import match_regrets, sample_actions, uniform_policy
from learners.dream.settings import SamplingSettings
from learners.networks.inference import Inference, action_values
from learners.networks.settings import NetworkSettings, Weights
from learners.samples import advantage_dtype, pack_mask, transition_dtype

BASELINE_BATCH = 1024  # larger ones leave the second-level cache


@dataclass(frozen=True)
class TraversalTask:
    """One chunk of games. `seed` makes it repeatable: the same task and weights give the same samples.

    Attributes:
        seed: Entropy, (run seed, iteration, chunk).
        iteration: t, stored with every sample.
        traverser: Player whose advantages are sampled.
        games: Number of games.
    """

    seed: tuple[int, ...]
    iteration: int
    traverser: int
    games: int


@dataclass(frozen=True)
class TraversalWeights:
    """What a traversal plays by; None stands for the uniform policy, or for no baseline.

    Attributes:
        version: Iteration after which these weights were made.
        policies: Advantage net of each player.
        baseline: Baseline net of the traverser.
    """

    version: int
    policies: tuple[Weights | None, Weights | None]
    baseline: Weights | None


Block = dict[str, NDArray]
"""`{"advantages": advantage_dtype[n], "transitions": transition_dtype[m]}`"""


class DreamTraverser:
    """Plays chunks of games and turns them into samples.

    Args:
        game: Batched game of two players.
        network: Advantage nets.
        baseline_network: Baseline nets; None leaves out the baseline (Q = 0) and its samples.
        sampling: Exploration and bounds.
        slots: Games played at the same time.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        baseline_network: NetworkSettings | None,
        sampling: SamplingSettings,
        slots: int = 512,
    ) -> None:
        self.game = game
        self.network = network
        self.baseline_network = baseline_network
        self.sampling = sampling
        self.slots = slots
        actions = game.spec.num_actions
        self._rows = Rows(
            {
                "game": (np.int32, ()),
                "actor": (np.int8, ()),
                "infostates": (np.uint8, (2, game.spec.packed_size)),
                "legal": (np.bool_, (actions,)),
                "policy": (np.float32, (actions,)),
                "action": (np.int64, ()),
                "probability": (np.float32, ()),
                "log_weight": (np.float32, ()),
            },
            capacity=slots * 64,
        )

    def traverse(self, task: TraversalTask, weights: TraversalWeights) -> tuple[dict[str, Any], Block]:
        """Samples `task.games` games.

        Returns:
            Statistics of the chunk, and its samples.
        """
        rng = np.random.default_rng(np.random.SeedSequence(task.seed))
        returns, endings = self._play(task, weights, rng)
        rows = self._rows
        baseline = self._baseline_values(weights)
        advantages = self._advantages(task, baseline, returns[:, task.traverser].copy())
        transitions = self._transitions(returns) if self.baseline_network is not None else None
        block = {"advantages": advantages}
        if transitions is not None:
            block["transitions"] = transitions
        log_weight = advantages["log_weight"].astype(np.float64)
        stats = {
            "decisions": rows.length,
            "games": task.games,
            "plies": rows.length / task.games,
            "returns": float(returns[:, task.traverser].mean()),
            "endings": np.bincount(endings, minlength=len(self.game.spec.endings)).tolist(),
            "log_weights": _log_moments(log_weight),
            "advantage_rows": len(advantages),
            "advantage_rms": _root_mean_square(advantages["advantage"]),
        }
        return stats, block

    def _play(
        self, task: TraversalTask, weights: TraversalWeights, rng: np.random.Generator
    ) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Plays all games, filling `self._rows`; returns and endings by game."""
        game, rows = self.game, self._rows
        nets = [None if w is None else Inference(self.network, [w]) for w in weights.policies]
        explore = np.full(2, self.sampling.opponent_epsilon, np.float32)
        explore[task.traverser] = self.sampling.epsilon
        returns = np.zeros((task.games, 2), np.float32)
        endings = np.zeros(task.games, np.int8)
        rows.clear()
        started = min(self.slots, task.games)
        states = game.reset(started, rng)
        ids = np.arange(started, dtype=np.int32)
        log_reach = np.zeros(started, np.float32)  # log of the traverser's own sampling reach
        lock_step = 0
        while len(states):
            mover = game.to_move(states)
            new = rows.append(len(states))
            new["game"][:] = ids
            new["actor"][:] = mover
            new["legal"][:] = game.legal(states)
            new["infostates"][:, 0] = game.observe(states, mover)
            new["infostates"][:, 1] = game.observe(states, (1 - mover).astype(np.int8))
            new["log_weight"][:] = -log_reach
            self._policies(nets, new)
            draws = rng.random(len(states), dtype=np.float32)
            sample_actions(new["policy"], new["legal"], explore[mover], draws, new["action"], new["probability"])
            log_reach += np.where(mover == task.traverser, np.log(new["probability"]), np.float32(0))
            game.step(states, new["action"], rng)
            lock_step += 1
            over = game.finished(states)
            if over.any():
                returns[ids[over]] = game.returns(states[over])
                endings[ids[over]] = game.endings(states[over])
                keep = np.flatnonzero(~over)
                states, ids, log_reach = states[keep], ids[keep], log_reach[keep]
            if len(states) == 0:
                lock_step = 0
            if lock_step % game.spec.num_players == 0:  # so that in most games all slots have the same mover
                fresh = min(self.slots - len(states), task.games - started)
                if fresh:
                    states = np.concatenate([states, game.reset(fresh, rng)])
                    ids = np.concatenate([ids, np.arange(started, started + fresh, dtype=np.int32)])
                    log_reach = np.concatenate([log_reach, np.zeros(fresh, np.float32)])
                    started += fresh
        return returns, endings

    def _policies(self, nets: list[Inference | None], new: dict[str, NDArray]) -> None:
        """Writes the policy of each new row by its actor's net."""
        for player, net in enumerate(nets):
            at: Any = np.flatnonzero(new["actor"] == player)
            if len(at) == 0:
                continue
            if len(at) == len(new["actor"]):
                at = slice(None)  # all rows at once need no copies
            legal, policy = new["legal"][at], new["policy"][at]
            if net is None:
                uniform_policy(legal, policy)
            else:
                packed = np.ascontiguousarray(new["infostates"][at, 0])
                outputs = net([self.game.encode(packed, self.network.encoding)[None]])
                slots = self.game.output_slots(packed, self.network.outputs)
                action_values(outputs, slots, legal, policy[None])
                match_regrets(policy[None], legal, policy[None])
            new["policy"][at] = policy

    def _baseline_values(self, weights: TraversalWeights) -> NDArray[np.float32]:
        """Q of the actor at every row, `float32[N, A]`."""
        rows, settings = self._rows, self.baseline_network
        values = np.zeros((rows.length, self.game.spec.num_actions), np.float32)
        if weights.baseline is None or settings is None:
            return values
        net = Inference(settings, [weights.baseline])
        for start in range(0, rows.length, BASELINE_BATCH):
            batch = slice(start, start + BASELINE_BATCH)
            part = rows["infostates"][batch]
            actor, other = np.ascontiguousarray(part[:, 0]), np.ascontiguousarray(part[:, 1])
            outputs = net([self.game.encode(one, settings.encoding)[None] for one in (actor, other)])
            slots = self.game.output_slots(actor, settings.outputs, other)
            action_values(outputs, slots, rows["legal"][batch], values[None, batch])
        return values

    def _advantages(
        self, task: TraversalTask, baseline: NDArray[np.float32], returns: NDArray[np.float32]
    ) -> NDArray[np.void]:
        rows, sampling = self._rows, self.sampling
        advantage = np.empty((rows.length, self.game.spec.num_actions), np.float32)
        sampled_advantages(
            rows["game"],
            rows["actor"],
            rows["action"],
            rows["probability"],
            rows["policy"],
            rows["legal"],
            baseline,
            task.traverser,
            returns,
            np.float32(np.inf if sampling.ratio_bound is None else sampling.ratio_bound),
            np.float32(np.inf if sampling.inverse_bound is None else sampling.inverse_bound),
            advantage,
        )
        mine = np.flatnonzero(rows["actor"] == task.traverser)
        samples = np.empty(len(mine), advantage_dtype(self.game.spec))
        samples["infostate"] = rows["infostates"][mine, 0]
        samples["advantage"] = advantage[mine]
        if sampling.target_clip is not None:
            np.clip(samples["advantage"], -sampling.target_clip, sampling.target_clip, out=samples["advantage"])
        samples["legal"] = pack_mask(rows["legal"][mine])
        samples["iteration"] = task.iteration
        samples["log_weight"] = rows["log_weight"][mine]
        return samples

    def _transitions(self, returns: NDArray[np.float32]) -> NDArray[np.void]:
        rows = self._rows
        following = np.empty(rows.length, np.int64)
        link_rows(rows["game"], len(returns), following)
        last = following < 0
        following = np.maximum(following, 0)
        actor = rows["actor"]
        samples = np.empty(rows.length, transition_dtype(self.game.spec))
        samples["infostates"] = rows["infostates"]
        samples["next_infostates"] = rows["infostates"][following]
        samples["next_policy"] = rows["policy"][following]
        samples["reward"] = np.where(last, returns[rows["game"], actor], np.float32(0))
        samples["action"] = rows["action"]
        samples["next_sign"] = np.where(last, 0, np.where(actor[following] == actor, 1, -1))
        return samples


def _root_mean_square(values: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.square(values).sum(dtype=np.float64) / max(values.size, 1)))


def _log_moments(log_weight: NDArray[np.float64]) -> tuple[int, float, float]:
    """(n, log sum w, log sum w^2): enough to add up effective sample sizes over chunks."""
    if len(log_weight) == 0:
        return 0, -np.inf, -np.inf
    return len(log_weight), float(np.logaddexp.reduce(log_weight)), float(np.logaddexp.reduce(2 * log_weight))


def effective_sample_size(moments: list[tuple[int, float, float]]) -> float:
    """(sum w)^2 / (n sum w^2) over chunks: the share of samples that importance weights would leave effective."""
    count = sum(n for n, _, _ in moments)
    if count == 0:
        return 0.0
    first = np.logaddexp.reduce([a for _, a, _ in moments])
    second = np.logaddexp.reduce([b for _, _, b in moments])
    return float(np.exp(2 * first - second) / count)
