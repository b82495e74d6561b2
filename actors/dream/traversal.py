"""Outcome-sampling traversals of DREAM, many games in lock step (paper 000, 4.7; Steinberger et al. 2020, algorithm 1).

A chunk is a number of games with one traverser and one seed. Its samples come in four steps:

1. Play all games (`_play`). The traverser samples actions from xi = epsilon * uniform + (1 - epsilon) * pi, the others
   from pi. Every decision is appended as a row, with the importance weight of the traverser's sampling reach.
2. Evaluate the baseline net on all rows, in large batches (`_evaluate_baseline`); playing does not need it.
3. Compute sampled advantages by the recursion from the end of each game, or take those of the baseline (`_advantages`).
4. Link each decision to the next one as transitions, the samples of the baseline net (`_transitions`).

Where a net of the average policy is trained, the policies of the other player are samples too (`_policies`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.dream.policies import Policies
from actors.dream.records import write_advantages, write_transitions
from actors.rows import Rows, join_records, take_records
from actors.warm_up import WarmUp
from envs.game import Game
from learners.dream.recursion import history_advantages, link_rows, sampled_advantages
from learners.dream.settings import SamplingSettings
from learners.networks.inference import encoder, make_forward
from learners.networks.settings import NetworkSettings, Weights
from learners.regret_matching import sample_actions
from learners.samples import advantage_dtype, pack_mask, policy_rows, transition_dtype

BASELINE_BATCH = {"cpu": 512, "cuda": 65_536}
"""Rows for which the baseline net is evaluated at a time; more would leave the second-level cache of a CPU."""


@dataclass(frozen=True)
class TraversalTask:
    """A chunk of games. The same task and weights always give the same samples.

    Attributes:
        seed: Entropy of the random generator, (run seed, iteration, chunk).
        iteration: Iteration t of DREAM, stored with every sample.
        traverser: Player whose advantages are sampled.
        games: Number of games.
    """

    seed: tuple[int, ...]
    iteration: int
    traverser: int
    games: int


@dataclass(frozen=True)
class TraversalWeights:
    """Weights of the nets of a traversal; None stands for the uniform policy or for no baseline.

    Attributes:
        version: Iteration whose fit produced these weights.
        policies: Weights of the advantage net of each player.
        baseline: Weights of the baseline net of the traverser.
    """

    version: int
    policies: tuple[Weights | None, ...]
    baseline: Weights | None


Block = dict[str, NDArray[Any]]
"""`{"advantages": advantage_dtype[n], "transitions": transition_dtype[m], "policies": policy_dtype[k]}`; each of the
last two only if there is a net to train on it."""


class Traverser(WarmUp, ABC):
    """Plays chunks of games and turns them into samples."""

    @abstractmethod
    def traverse(self, task: TraversalTask, weights: TraversalWeights) -> tuple[dict[str, Any], Block]:
        """Samples `task.games` games.

        Returns:
            Statistics of the chunk, and its samples, see `Block`.
        """


class DreamTraverser(Traverser):
    """Plays chunks of games and turns them into samples.

    Args:
        game: Batched game; it must be a zero-sum game of two players if there is a baseline.
        network: Settings of the advantage nets.
        baseline_network: Settings of the baseline nets; None disables the baseline (Q = 0) and its samples.
        sampling: Exploration and bounds.
        slots: Number of games played at the same time.
        device: Device of the nets, ``cpu`` or ``cuda``.
        policies: Whether the policies of the other player are samples too, for a net of the average policy.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        baseline_network: NetworkSettings | None,
        sampling: SamplingSettings,
        slots: int = 512,
        device: str = "cpu",
        policies: bool = False,
    ) -> None:
        self.game = game
        self.policies = policies
        self.network = network
        self.baseline_network = baseline_network
        self.sampling = sampling
        self.slots = slots
        self._device = device
        actions = game.spec.num_actions
        self._rows = Rows(
            {
                "game": (np.int32, ()),
                "actor": (np.int8, ()),
                "infostates": (np.uint8, (1 if baseline_network is None else 2, game.spec.packed_size)),
                "legal": (np.bool_, (actions,)),
                "policy": (np.float32, (actions,)),
                "action": (np.int64, ()),
                "probability": (np.float32, ()),
                "log_weight": (np.float32, ()),
                "baseline": (np.float32, (actions,)),
                "advantage": (np.float32, (actions,)),
            },
            capacity=slots * 64,
        )

    def traverse(self, task: TraversalTask, weights: TraversalWeights) -> tuple[dict[str, Any], Block]:
        """Samples `task.games` games.

        Returns:
            Statistics of the chunk, and its samples, see `Block`.
        """
        rng = np.random.default_rng(np.random.SeedSequence(task.seed))
        returns, endings = self._play(task, weights, rng)
        returned, rows = float(returns[:, task.traverser].mean()), self._rows
        if self.baseline_network is not None:  # what one player gains is what the other loses
            returns -= returns.mean(axis=1, keepdims=True)
        self._evaluate_baseline(task, weights)
        advantages, squares = self._advantages(task, returns[:, task.traverser].copy())
        transitions = self._transitions(returns) if self.baseline_network is not None else None
        block = {"advantages": advantages}
        if transitions is not None:
            block["transitions"] = transitions
        if self.policies:
            block["policies"] = self._policies(task)
        log_weight = advantages["log_weight"].astype(np.float64)
        stats = {
            "decisions": rows.length,
            "games": task.games,
            "plies": rows.length / task.games,
            "returns": returned,
            "endings": np.bincount(endings, minlength=len(self.game.spec.endings)).tolist(),
            "log_weights": log_moments(log_weight),
            "advantage_rows": len(advantages),
            "advantage_rms": (squares / max(advantages["advantage"].size, 1)) ** 0.5,
        }
        return stats, block

    def _play(
        self, task: TraversalTask, weights: TraversalWeights, rng: np.random.Generator
    ) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Plays all games and appends every decision to `self._rows`.

        Returns:
            Returns of the players, `float32[games, players]`, and endings, `int8[games]`.
        """
        game, rows = self.game, self._rows
        policies = Policies(game, self.network, weights.policies, self._device)
        players = game.spec.num_players
        explore = np.full(players, self.sampling.opponent_epsilon, np.float32)
        explore[task.traverser] = self.sampling.epsilon
        returns = np.zeros((task.games, players), np.float32)
        endings = np.zeros(task.games, np.int8)
        rows.clear()
        started = min(self.slots, task.games)
        states = game.reset(started, rng)
        ids = np.arange(started, dtype=np.int32)
        log_reach = np.zeros(started, np.float32)  # log of the traverser's sampling reach probability
        lock_step = 0
        while True:
            # Drop the finished games, also those that chance has ended before a decision; start others in their slots.
            over = game.finished(states)
            if over.any():
                ended = take_records(states, np.flatnonzero(over))
                returns[ids[over]] = game.returns(ended)
                endings[ids[over]] = game.endings(ended)
                keep = np.flatnonzero(~over)
                states, ids, log_reach = take_records(states, keep), ids[keep], log_reach[keep]
            if len(states) == 0:
                lock_step = 0
            if lock_step % players == 0:  # then all slots have the same mover in most games, and one net a step
                fresh = min(self.slots - len(states), task.games - started)
                if fresh:
                    states = join_records(states, game.reset(fresh, rng))
                    ids = np.concatenate([ids, np.arange(started, started + fresh, dtype=np.int32)])
                    log_reach = np.concatenate([log_reach, np.zeros(fresh, np.float32)])
                    started += fresh
                    continue
            if len(states) == 0:
                return returns, endings
            # Append a row for the current decision of every running game.
            mover = game.to_move(states)
            legal = game.legal(states)
            infostates = game.observe(states, mover)
            new = rows.append(len(states))
            new["game"][:] = ids
            new["actor"][:] = mover
            new["legal"][:] = legal
            new["infostates"][:, 0] = infostates
            if self.baseline_network is not None:
                new["infostates"][:, 1] = game.observe(states, 1 - mover)
            np.negative(log_reach, out=new["log_weight"])
            # Sample an action of each game, and play it.
            policies.write(mover, infostates, legal, new["policy"])
            draws = rng.random(len(states), dtype=np.float32)
            sample_actions(new["policy"], new["legal"], explore[mover], draws, new["action"], new["probability"])
            np.add(log_reach, np.log(new["probability"]), out=log_reach, where=mover == task.traverser)
            game.step(states, new["action"], rng)
            lock_step += 1

    def _evaluate_baseline(self, task: TraversalTask, weights: TraversalWeights) -> None:
        """Writes the baseline Q of the acting player for every row: for actions that the recursion uses, else 0.

        The recursion uses all legal actions of the traverser and, unless `sampling.baseline_at` or the estimator leaves
        out the other player's decisions, those of the other player with a positive policy.
        """
        rows, settings, sampling = self._rows, self.baseline_network, self.sampling
        rows["baseline"][:] = 0
        if weights.baseline is None or settings is None:
            return
        encode = encoder(self.game, settings)
        net = make_forward(settings, [weights.baseline], self._device)
        needed = rows["actor"][:, None] == task.traverser
        if sampling.baseline_at == "all" and sampling.estimator != "history":
            needed = needed | (rows["policy"] > 0)
        needed = needed & rows["legal"]
        used, rows_at_once = np.flatnonzero(needed.any(axis=1)), BASELINE_BATCH[self._device]
        for start in range(0, len(used), rows_at_once):
            at = used[start : start + rows_at_once]
            actor, other = rows["infostates"][at, 0], rows["infostates"][at, 1]
            slots = self.game.output_slots(actor, settings.outputs, other)
            values = net.action_values([encode(actor), encode(other)], slots, needed[at])[0]
            if sampling.clip_baseline:
                largest = self.game.spec.max_return
                values.clip(-largest, largest, out=values)
            rows["baseline"][at] = values

    def _advantages(self, task: TraversalTask, returns: NDArray[np.float32]) -> tuple[NDArray[np.void], float]:
        """Returns the samples of the traverser, and the sum of their squared advantages."""
        rows, sampling = self._rows, self.sampling
        if sampling.estimator == "history":
            history_advantages(
                rows["actor"], rows["policy"], rows["legal"], rows["baseline"], task.traverser, rows["advantage"]
            )
        else:
            sampled_advantages(
                rows["game"],
                rows["actor"],
                rows["action"],
                rows["probability"],
                rows["policy"],
                rows["legal"],
                rows["baseline"],
                task.traverser,
                returns,
                _bound(sampling.ratio_bound),
                _bound(sampling.inverse_bound),
                rows["advantage"],
            )
        mine = np.flatnonzero(rows["actor"] == task.traverser)
        samples = np.empty(len(mine), advantage_dtype(self.game.spec))
        squares = write_advantages(
            mine,
            rows["infostates"],
            rows["advantage"],
            pack_mask(rows["legal"][mine]),
            rows["log_weight"],
            task.iteration,
            _bound(sampling.target_clip),
            samples,
        )
        return samples, squares

    def _policies(self, task: TraversalTask) -> NDArray[np.void]:
        """Returns the policies of the other player, as samples of the average policy."""
        rows = self._rows
        at = np.flatnonzero(rows["actor"] != task.traverser)
        return policy_rows(
            self.game.spec, rows["infostates"][at, 0], rows["policy"][at], rows["legal"][at], task.iteration
        )

    def _transitions(self, returns: NDArray[np.float32]) -> NDArray[np.void]:
        """Returns every decision with its successor in the same game, as samples of the baseline net."""
        rows = self._rows
        following = np.empty(rows.length, np.int64)
        link_rows(rows["game"], len(returns), following)
        samples = np.empty(rows.length, transition_dtype(self.game.spec))
        write_transitions(
            rows["game"],
            rows["actor"],
            rows["action"],
            rows["policy"],
            rows["infostates"],
            following,
            returns,
            samples,
        )
        return samples


def _bound(bound: float | None) -> np.float32:
    return np.float32(np.inf if bound is None else bound)


def log_moments(log_weight: NDArray[np.float64]) -> tuple[int, float, float]:
    """Returns (n, log sum w, log sum w^2), from which effective sample sizes over several chunks follow."""
    if len(log_weight) == 0:
        return 0, -np.inf, -np.inf
    greatest = log_weight.max()
    weight = np.exp(log_weight - greatest)
    return (
        len(log_weight),
        float(greatest + np.log(weight.sum())),
        float(2 * greatest + np.log(np.square(weight).sum())),
    )


def effective_sample_size(moments: list[tuple[int, float, float]]) -> float:
    """Returns (sum w)^2 / (n sum w^2) over chunks: the effective share of samples under importance weighting."""
    count = sum(n for n, _, _ in moments)
    if count == 0:
        return 0.0
    first = np.logaddexp.reduce([a for _, a, _ in moments])
    second = np.logaddexp.reduce([b for _, _, b in moments])
    return float(np.exp(2 * first - second) / count)
