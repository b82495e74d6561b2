"""The driver of DREAM (Steinberger, Lerer and Brown 2020, Algorithm 1; paper 000, 5.3).

On Ray, calls of actors return immediately: the baseline net of a player is fitted during the other player's iteration,
and evaluations run in parallel with the training. Inline runs have the same data dependencies, so they give the same
nets for the same seed.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from actors.buffer import BufferServer
from actors.dream.traversal import TraversalTask, TraversalWeights, Traverser, effective_sample_size
from actors.learning import LearnerServer
from actors.remote import Ref
from dancfr.evaluation.server import Evaluations
from dancfr.methods.dream import METHOD
from dancfr.methods.dream.actors import DreamActors
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.loop import Loop, Row, timed
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.streams import Stream
from dancfr.runs.checkpoints import reading
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.networks.settings import Weights

TINY = 1e-9
"""Added to a sum of shares before it is rounded down, so that 10 chunks of 0.3 are 3."""


class Dream(Loop):
    """A DREAM training: the nets that play, counts of samples, and pending baseline fits."""

    method = METHOD

    def __init__(
        self, run: Run, config: DreamConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        self.config = config
        self.actors = DreamActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, self.actors)
        self.samples = Counter(advantages=0, transitions=0, decisions=0)
        self.policies: list[Weights | None] = [None] * config.players  # iteration 1 plays uniformly
        self.baselines: list[Weights | None] = [None] * config.players
        self._baseline_fits: dict[int, tuple[Ref, Ref]] = {}  # by player: metrics, weights
        self._fitted: dict[int, tuple[Row, Weights]] = {}  # by player: finished fits that have not been used yet

    def learn(self) -> None:
        """In each iteration t, each player whose turn it is samples traversals as the traverser, by outcome sampling
        with baselines. Its baseline net is fitted to the transitions, and its advantage net to the sampled advantages
        of all iterations, or of this one and to the last net (`config.bootstrap`). The new advantage net is published;
        regret matching turns it into the policy of iteration t + 1. With `config.baseline_games`, as in ESCHER, the
        baseline net comes first and is fitted to games by the newest policies and to former traversals."""
        for t, row in self.iterations():
            parts: list[Row] = []
            for players in self.config.turns(t):
                if self.config.baseline_games:
                    self.sample_transitions(t, players)
                    self.start_baseline_fits(t, players)
                parts += [self.traverse(t, traverser) for traverser in players]
                if not self.config.baseline_games:
                    self.start_baseline_fits(t, players)
                nets, metrics = self.fit_advantages(t, players)
                parts.append(metrics)
                self.publish(t, players, nets)
            if self.evaluation_due(t):
                self.evaluate(t)
            updated = self.config.updated_players(t)
            row |= ({"player": updated[0]} if len(updated) == 1 else {}) | _joined(parts)
            row |= {f"samples/{name}": self.samples[key] for name, key in SAMPLES.items()}

    def traverse(self, t: int, traverser: int) -> Row:
        """Samples traversals, and adds their samples to the buffers; returns their metrics, and those of the baseline
        net if it is new."""
        config, row = self.config, Row()
        self.progress.phase("traversal")
        started = perf_counter()
        with timed(row, "traversal"):
            if config.bootstrap != "none":  # the last net stands for the samples of former iterations
                self.get(self.actors.buffers["advantages", traverser].call(BufferServer.clear))
            stats = self._play(t, traverser, config.traversals, 0, self._newest_baseline(traverser, row))
        self.samples["advantages"] += sum(each["advantage_rows"] for each in stats)
        decisions = sum(each["decisions"] for each in stats)
        row |= {
            "traversal/decisions_per_second": decisions / (perf_counter() - started),
            "traversal/effective_sample_size": effective_sample_size([each["log_weights"] for each in stats]),
            "traversal/mean_plies": decisions / config.traversals,
            "traversal/advantage_rms": sum(each["advantage_rms"] for each in stats) / len(stats),
        }
        return row

    def sample_transitions(self, t: int, players: tuple[int, ...]) -> None:
        """Plays games by the policies that are about to be traversed, for transitions alone."""
        self.progress.phase("traversal")
        first = len(_chunk_sizes(self.config.traversals, self.config.chunk))  # chunks of the traversals come before
        for traverser in players:
            self._play(t, traverser, self.config.baseline_games, first, None, ("transitions",))

    def _play(
        self,
        t: int,
        traverser: int,
        games: int,
        first: int,
        baseline: Weights | None,
        parts: tuple[str, ...] = ("advantages", "transitions", "policies"),
    ) -> list[dict[str, Any]]:
        """Plays games in chunks, which are numbered from `first`, and adds these parts of their samples to the buffers.

        Returns:
            The statistics of each chunk.
        """
        config, actors = self.config, self.actors
        count, sizes = config.own_count(t), _chunk_sizes(games, config.chunk)
        weights = self._weights_by_chunk(t, traverser, len(sizes), baseline)
        tasks = [
            (TraversalTask((config.seed, t, traverser, first + chunk), count, traverser, size), weights[chunk])
            for chunk, size in enumerate(sizes)
        ]
        added, stats = [], []
        for task, found, block in actors.workers.run(Traverser.traverse, tasks):
            stats.append(found)
            chunk_id = (t, *task[0].seed[2:])
            for (part, owner), buffer in actors.buffers.items():
                player = 1 - traverser if part == "policies" else traverser  # of the samples
                if part in parts and owner == player:
                    added.append(buffer.call(BufferServer.add, chunk_id, block, task[0].seed))
        self.get(added)
        decisions = sum(each["decisions"] for each in stats)
        self.samples["transitions"] += decisions if config.baseline else 0
        self.samples["decisions"] += decisions
        return stats

    def start_baseline_fits(self, t: int, players: tuple[int, ...]) -> None:
        """Starts the baseline fits; each is awaited before the player's next traversal."""
        if not self.config.baseline:
            return
        learner = self.actors.learners["transitions"]
        for player in players:
            buffer, seed = self.actors.buffers["transitions", player], (self.config.seed, t, player, Stream.FIT)
            self._baseline_fits[player] = learner.call_pair(
                LearnerServer.fit, player, self.config.own_count(t), buffer, seed
            )

    def fit_advantages(self, t: int, players: tuple[int, ...]) -> tuple[list[Weights], Row]:
        """Fits the players' advantage nets to their reservoirs; returns the new nets and the metrics of the fits."""
        self.progress.phase("training")
        nets, row = self._fit("advantages", players, t, Stream.ADVANTAGE_FIT, "advantage")
        return nets, row | {"buffer/advantage_fill": self._fill("advantages", players[0])}

    def publish(self, t: int, players: tuple[int, ...], nets: Sequence[Weights]) -> None:
        """Stores the players' new nets, and lets opponents and evaluations play by them from now on."""
        for player, weights in zip(players, nets, strict=True):
            self.policies[player] = weights
            self.run.save_strategy(player, t, weights, {"count": self.config.own_count(t)})
            if self.actors.evaluation:
                self.actors.evaluation.call(Evaluations.add, t, player, weights)

    def prepare_evaluation(self, t: int) -> None:
        """Fits the average-policy nets of Deep CFR, if any, to the policies of all iterations."""
        if not self.config.policy_net:
            return
        self.progress.phase("training of the average")
        players = tuple(range(self.config.players))
        nets, metrics = self._fit("policies", players, t, Stream.AVERAGE_FIT, "policy")
        self._carried |= metrics
        for player, weights in enumerate(nets):
            self.run.save_strategy(player, t, weights, self._final, average=True)
            self.run.discard_final_strategy_before(t, player, average=True)
            if self.actors.evaluation:
                self.actors.evaluation.call(Evaluations.add, t, player, weights, True)

    def _fit(self, part: str, players: tuple[int, ...], t: int, stream: Stream, kind: str) -> tuple[list[Weights], Row]:
        """Fits one net of each player to its buffer of a part, all at the same time; returns the new nets, and the
        metrics of the fits as those of a `kind`."""
        count, seed = self.config.own_count(t), self.config.seed
        learner, buffers = self.actors.learners[part], self.actors.buffers
        fits = [
            learner.call_pair(LearnerServer.fit, player, count, buffers[part, player], (seed, t, player, stream))
            for player in players
        ]
        results = [self.get(list(fit)) for fit in fits]
        return [weights for _, weights in results], _joined([_fit_metrics(kind, metrics) for metrics, _ in results])

    def _fill(self, part: str, player: int) -> float:
        fill: float = self.actors.runtime.get(self.actors.buffers[part, player].call(BufferServer.stats))["fill"]
        return fill

    def _weights_by_chunk(self, t: int, traverser: int, chunks: int, baseline: Weights | None) -> list[Ref]:
        """Returns the nets of each chunk: first the newest nets, then former nets of the opponents (a fraction
        `config.history` of the chunks), then no nets of the opponents, who play uniformly (`config.uniform`). Parts of
        chunks are carried over to the player's next iteration."""
        config, put = self.config, self.actors.runtime.put
        others = [other for other in range(config.players) if other != traverser]

        def against(nets: Sequence[Weights | None]) -> Ref:
            policies = list(self.policies)
            for other, net in zip(others, nets, strict=True):
                policies[other] = net
            return put(TraversalWeights(t - 1, tuple(policies), baseline))

        former = {o: [f.iteration for f in self.run.list_strategies(o) if f.iteration < t] for o in others}
        historic, uniform = shares_of_chunks(config.history, config.uniform, config.own_count(t), chunks)
        historic = historic if all(former.values()) else 0
        rng = np.random.default_rng(np.random.SeedSequence((config.seed, t, traverser, Stream.OPPONENTS)))
        drawn = [draw_former(former[other], historic, config.history_power, rng) for other in others]
        count = chunks - historic - uniform
        refs = [against([self.policies[other] for other in others])] * count if count else []
        for iterations in zip(*drawn, strict=True):
            refs.append(against([self.run.load_strategy(o, i)[0] for o, i in zip(others, iterations, strict=True)]))
        return refs + ([against([None] * len(others))] * uniform if uniform else [])

    def _newest_baseline(self, player: int, row: Row) -> Weights | None:
        """Waits for the fit of a player's baseline net, adds its metrics to the row, and returns the net."""
        self._finish_baseline_fit(player)
        if player in self._fitted:
            metrics, self.baselines[player] = self._fitted.pop(player)
            row |= metrics
        return self.baselines[player]

    def _finish_baseline_fit(self, player: int) -> None:
        if player in self._baseline_fits:
            metrics, weights = self.get(list(self._baseline_fits.pop(player)))
            fill = {"buffer/baseline_fill": self._fill("transitions", player)}
            self._fitted[player] = _fit_metrics("baseline", metrics) | fill, weights

    def warm_up(self) -> None:
        """Compiles the kernels of the workers by a traversal of one game for each player."""
        nets = tuple(self.actors.learner_weights("advantages"))
        baselines = self.actors.learner_weights("transitions") if self.config.baseline else [None] * len(nets)
        tasks = [
            (TraversalTask((self.config.seed, 0, player, 0), 1, player, 1), TraversalWeights(0, nets, baseline))
            for player, baseline in enumerate(baselines)
        ]
        self.compile_in_workers(Traverser.traverse, tasks)

    def ready(self) -> bool:
        return all(weights is not None for weights in self.policies)

    def settle(self) -> None:
        for player in list(self._baseline_fits):
            self._finish_baseline_fit(player)

    def state(self, folder: Path) -> Row:
        return {"samples": self.samples, "fitted": {str(player): row for player, (row, _) in self._fitted.items()}}

    def samples_offered(self) -> int:
        return self.samples["advantages"]

    def restore(self) -> None:
        """Restores the newest intact checkpoint, and loads every net that the run has stored up to it.

        Raises:
            UsageError: the checkpoints were removed or damaged, or a stored net is missing or damaged.
            ForeignState: the checkpoint belongs to other networks.
        """
        saved = self.load_newest()
        state, folder = ({}, self.run.path) if saved is None else saved
        with reading(folder):
            self.samples.update({name: int(count) for name, count in state.get("samples", {}).items()})
            fitted = {int(player): dict(row) for player, row in state.get("fitted", {}).items()}
        self.run.require_strategies(
            {(t, p) for t in range(1, self.iteration + 1) for p in self.config.updated_players(t)}
        )
        for file in self.run.list_strategies():
            net, _ = self.run.load_strategy(file.player, file.iteration)
            self.policies[file.player] = net
            if self.actors.evaluation:
                self.actors.evaluation.call(Evaluations.add, file.iteration, file.player, net)
        if self.config.baseline:
            for player, policy in enumerate(self.policies):
                if policy is not None:
                    learner = self.actors.learners["transitions"]
                    self.baselines[player] = self.actors.runtime.get(learner.call(LearnerServer.weights, player))
        for player, row in fitted.items():
            weights = self.baselines[player]
            assert weights is not None  # only players with an advantage net have a fitted baseline
            self._fitted[player] = row, weights


train = partial(run_to_end, Dream)
"""Trains a run to its end, see `dancfr.methods.recovery.run_to_end`."""


SAMPLES = {"advantage": "advantages", "transitions": "transitions", "decisions": "decisions"}
"""Key of `Dream.samples` for each count of the record."""


def shares_of_chunks(history: float, uniform: float, count: int, chunks: int) -> tuple[int, int]:
    """Returns in how many chunks of a player's `count`-th iteration opponents play by former nets, and uniformly.

    Over the iterations both add up to their fractions of all chunks, rounded down.
    """
    if not (apart := history + uniform):
        return 0, 0
    before, after = (math.floor(n * chunks * apart + TINY) for n in (count - 1, count))
    former = math.floor(after * history / apart + TINY) - math.floor(before * history / apart + TINY)
    return former, after - before - former


def draw_former(former: list[int], count: int, power: float, rng: np.random.Generator) -> list[int]:
    """Draws `count` of the iterations `former` with replacement, the k-th with probability proportional to k^-power."""
    if count == 0:
        return []
    share = np.arange(1, len(former) + 1) ** -float(power)
    drawn: list[int] = rng.choice(former, size=count, p=share / share.sum()).tolist()
    return drawn


def _chunk_sizes(games: int, chunk: int) -> list[int]:
    return [min(chunk, games - start) for start in range(0, games, chunk)]


def _joined(parts: Sequence[Row]) -> Row:
    """The metrics of several players from those of each: sums of seconds and steps, means of the rest."""
    row = Row()
    for key in dict.fromkeys(key for part in parts for key in part):
        values = [part[key] for part in parts if key in part]
        added = key.startswith("time/") or key.endswith("_steps")
        row[key] = sum(values) if added else sum(values) / len(values)
    return row


def _fit_metrics(kind: str, metrics: dict[str, float]) -> Row:
    return {
        f"time/{kind}_s": metrics["seconds"],
        f"loss/{kind}": metrics["loss"],
        f"learner/{kind}_steps": metrics["steps"],
        f"learner/{kind}_rows_per_second": metrics["rows_per_second"],
        f"learner/{kind}_waited_s": metrics["waited"],
        **({f"learner/{kind}_idle_share": metrics["idle_share"]} if "idle_share" in metrics else {}),
    }
