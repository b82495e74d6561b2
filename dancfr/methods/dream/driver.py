"""The driver of DREAM (Steinberger, Lerer, Brown 2020, algorithm 1; paper 000, 5.3): the whole method in one loop.

Everything it calls returns at once where Ray carries it: the baseline net of a player trains while the other player's
iteration goes on, and evaluations run beside the training. The order of what depends on what is the same inline, so
both give the same nets from the same seed.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from actors.remote import Halted, Ref
from actors.traversal import TraversalTask, TraversalWeights, effective_sample_size
from dancfr.methods.crew import Place, telling
from dancfr.methods.dream.actors import DreamCrew
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.loop import Loop, reading, timed
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.networks.settings import Weights


def train(run: Run, config: DreamConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a DREAM run to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(Dream, run, config, tracker), run, config, tracker, options)


class Dream(Loop):
    """State of a run between iterations: nets for playing, counters, and what is still under way."""

    def __init__(self, run: Run, config: DreamConfig, tracker: Tracker, progress: Progress, place: Place) -> None:
        self.config = config
        self.crew = DreamCrew(config, place, telling(progress.event))
        super().__init__(run, config, tracker, progress, self.crew)
        self.samples = Counter(advantages=0, transitions=0, decisions=0)
        self._drawn: Counter[str] = Counter()  # those of the iteration under way
        self.policies: list[Weights | None] = [None] * config.players  # iteration 1 plays uniform
        self.baselines: list[Weights | None] = [None] * config.players
        self._baseline_fits: dict[int, tuple[int, Ref, Ref]] = {}  # by player: iteration, metrics, weights
        self._settled: dict[int, tuple[dict[str, float], Weights]] = {}  # fits that are done and not yet played by
        self._unfitted: list[tuple[int, int]] = []  # fits that a stop has cut short: player, iteration
        self._baseline_row: dict[str, Any] = {}  # metrics for the next row
        self._policy_row: dict[str, Any] = {}

    def iterate(self) -> None:
        """One iteration: sample, store, train, publish."""
        started = perf_counter()
        t = self.iteration + 1
        turns = self.config.turns(t)
        self._drawn.clear()
        row: dict[str, Any] = {"kind": "train", "iteration": t, "player": turns[0][0]}

        for players in turns:
            with timed(row, "traversal"):
                for player in players:
                    row |= self._traverse(t, player)
            self._fit_baselines(t, players)
            row |= self._fit_advantages(t, players)
        row |= self._baseline_row | self._policy_row
        self._baseline_row = self._policy_row = {}

        self.samples.update(self._drawn)
        row["samples/advantage"] = self.samples["advantages"]
        row["samples/transitions"] = self.samples["transitions"]
        row["samples/decisions"] = self.samples["decisions"]
        self.end_iteration(t, started, row)

    def _traverse(self, t: int, player: int) -> dict[str, Any]:
        """Outcome-sampling traversals with `player` as traverser; samples go to that player's buffers."""
        config, crew = self.config, self.crew
        self.progress.phase("traversal")
        started = perf_counter()
        count, sizes = config.own_count(t), _chunk_sizes(config.traversals, config.chunk)
        weights = self._weights_by_chunk(t, player, len(sizes))
        tasks = [
            (TraversalTask((config.seed, t, player, chunk), count, player, games), weights[chunk])
            for chunk, games in enumerate(sizes)
        ]
        added, stats = [], []
        for task, small, block in crew.pool.run("traverse", tasks, self.stop.overdue):
            stats.append(small)
            chunk_id = (t, *task[0].seed[2:])
            for (part, owner), buffer in crew.buffers.items():
                if owner == (1 - player if part == "policies" else player):  # of whom the samples are
                    added.append(buffer.call("add", chunk_id, block, task[0].seed))
        self.get(added)
        decisions = sum(s["decisions"] for s in stats)
        self._drawn["advantages"] += sum(s["advantage_rows"] for s in stats)
        self._drawn["transitions"] += decisions if config.baseline else 0
        self._drawn["decisions"] += decisions
        return {
            "traversal/decisions_per_second": decisions / (perf_counter() - started),
            "traversal/effective_sample_size": effective_sample_size([s["log_weights"] for s in stats]),
            "traversal/mean_plies": decisions / config.traversals,
            "traversal/advantage_rms": sum(s["advantage_rms"] for s in stats) / len(stats),
        }

    def _weights_by_chunk(self, t: int, player: int, chunks: int) -> list[Ref]:
        """The nets that each chunk plays by: the newest ones, but in the last chunks former nets of the opponents, or
        none at all."""
        baseline, put = self._baseline_of(player), self.crew.runtime.put
        others = [other for other in range(self.config.players) if other != player]

        def against(nets: Sequence[Weights | None]) -> Ref:
            policies = list(self.policies)
            for other, net in zip(others, nets, strict=True):
                policies[other] = net
            return put(TraversalWeights(t - 1, tuple(policies), baseline))

        former = {o: [f.iteration for f in self.run.list_strategies(o) if f.iteration < t] for o in others}
        historic = round(self.config.history * chunks) if all(former.values()) else 0
        uniform = min(round(self.config.uniform * chunks), chunks - historic)
        rng = np.random.default_rng(np.random.SeedSequence((self.config.seed, t, player, 2**31 + 3)))
        drawn = [draw_former(former[other], historic, self.config.history_power, rng) for other in others]
        count = chunks - historic - uniform
        refs = [against([self.policies[other] for other in others])] * count if count else []
        for iterations in zip(*drawn, strict=True):
            refs.append(against([self.run.load_strategy(o, i)[0] for o, i in zip(others, iterations, strict=True)]))
        return refs + ([against([None] * len(others))] * uniform if uniform else [])

    def _fit_baselines(self, t: int, players: tuple[int, ...]) -> None:
        """Starts the baseline fits; nobody waits for one before that player's next traversal."""
        if not self.config.baseline:
            return
        for player in players:
            buffer = self.crew.buffers["transitions", player]
            seed = (self.config.seed, t, player, 2**31)
            fit = self.crew.learners["transitions"].call(
                "fit", player, self.config.own_count(t), buffer, seed, returns=2
            )
            self._baseline_fits[player] = (t, *fit)

    def _fit_advantages(self, t: int, players: tuple[int, ...]) -> dict[str, Any]:
        """Trains the players' advantage nets on their reservoirs and keeps the nets of this iteration."""
        self.progress.phase("training")
        learner = self.crew.learners["advantages"]
        fits = [
            learner.call(
                "fit",
                player,
                self.config.own_count(t),
                self.crew.buffers["advantages", player],
                (self.config.seed, t, player, 2**31 + 1),
                returns=2,
            )
            for player in players
        ]
        results = [self.get([metrics, weights]) for metrics, weights in fits]
        for player, (_, weights) in zip(players, results, strict=True):
            self.policies[player] = weights
            self.run.save_strategy(player, t, weights, {"count": self.config.own_count(t)})
            if self.crew.evaluation:
                self.crew.evaluation.call("add", player, t, weights)
        fill = self.crew.runtime.get(self.crew.buffers["advantages", players[0]].call("stats"))["fill"]
        return _fit_metrics("advantage", [metrics for metrics, _ in results]) | {"buffer/advantage_fill": fill}

    def evaluate(self, t: int) -> None:
        """Starts the evaluation of the policies as they are now; nets of the average are trained for it."""
        if self.config.policy_net and self.ready():
            self._fit_policies(t)
        super().evaluate(t)

    def _fit_policies(self, t: int) -> None:
        """Trains the nets of the average (Deep CFR) on the policies of all iterations, and keeps them."""
        self.progress.phase("training of the average")
        learner, count = self.crew.learners["policies"], self.config.own_count(t)
        fits = []
        for player in (0, 1):
            seed = (self.config.seed, t, player, 2**31 + 4)
            fits.append(learner.call("fit", player, count, self.crew.buffers["policies", player], seed, returns=2))
        results = [self.get([metrics, weights]) for metrics, weights in fits]
        for player, (_, weights) in enumerate(results):
            self.run.save_strategy(player, t, weights, {}, average=True)
            if self.crew.evaluation:
                self.crew.evaluation.call("set_average", player, weights)
        self._policy_row = _fit_metrics("policy", [metrics for metrics, _ in results])

    def _baseline_of(self, player: int) -> Weights | None:
        """The player's newest baseline net, once its fit is done; its metrics go into the row of this iteration."""
        self._settle_baseline(player)
        if player in self._settled:
            row, self.baselines[player] = self._settled.pop(player)
            self._baseline_row |= row
        return self.baselines[player]

    def _settle_baseline(self, player: int) -> None:
        """Waits for the player's fit, if one is under way."""
        if player in self._baseline_fits:
            _, *fit = self._baseline_fits[player]
            metrics, weights = self.get(fit)
            del self._baseline_fits[player]
            fill = self.crew.runtime.get(self.crew.buffers["transitions", player].call("stats"))["fill"]
            self._settled[player] = _fit_metrics("baseline", [metrics]) | {"buffer/baseline_fill": fill}, weights

    def ready(self) -> bool:
        return all(weights is not None for weights in self.policies)

    def settle(self) -> None:
        for player, (t, *_) in list(self._baseline_fits.items()):
            if t > self.iteration:  # of an iteration that was left, which begins anew
                del self._baseline_fits[player]
                continue
            try:
                self._settle_baseline(player)
            except Halted:
                del self._baseline_fits[player]
                self._unfitted.append((player, t))

    def state(self, folder: Path) -> dict[str, Any]:
        settled = {str(player): row for player, (row, _) in self._settled.items()}
        return {"samples": self.samples, "settled": settled, "unfitted": self._unfitted}

    def samples_offered(self) -> int:
        return self.samples["advantages"]

    def restore(self) -> None:
        """Continues from the newest whole checkpoint, with every net that the run has stored up to it.

        Raises:
            UsageError: the checkpoints are gone, or none is whole, or a stored net is missing or damaged.
            ForeignState: the checkpoint is of other networks.
        """
        saved = self.load_newest()
        state, folder = ({}, self.run.path) if saved is None else saved
        with reading(folder):
            self.samples.update({name: int(count) for name, count in state.get("samples", {}).items()})
            settled = {int(player): dict(row) for player, row in state.get("settled", {}).items()}
            unfitted = [(int(player), int(t)) for player, t in state.get("unfitted", [])]
        wanted = {(t, p) for t in range(1, self.iteration + 1) for p in self.config.updated_players(t)}
        self.run.require_strategies(wanted)
        files = self.run.list_strategies()
        for file, following in zip_longest(files, files[1:]):
            net, _ = self.run.load_strategy(file.player, file.iteration)
            self.policies[file.player] = net
            if self.crew.evaluation:
                self.crew.evaluation.call("add", file.player, file.iteration, net)
            if following is None or following.iteration > file.iteration:
                self.reopen_evaluation(file.iteration)
        if self.config.baseline:
            for player, policy in enumerate(self.policies):
                if policy is not None:
                    learner = self.crew.learners["transitions"]
                    self.baselines[player] = self.crew.runtime.get(learner.call("weights", player))
        for player, row in settled.items():
            weights = self.baselines[player]
            assert weights is not None  # it has been fitted
            self._settled[player] = row, weights
        for player, t in unfitted:
            self._fit_baselines(t, (player,))


def draw_former(former: list[int], count: int, power: float, rng: np.random.Generator) -> list[int]:
    """`count` iterations out of `former`, the k-th with probability proportional to 1 / k^power."""
    if count == 0:
        return []
    share = np.arange(1, len(former) + 1) ** -float(power)
    return rng.choice(former, size=count, p=share / share.sum()).tolist()


def _chunk_sizes(games: int, chunk: int) -> list[int]:
    return [min(chunk, games - start) for start in range(0, games, chunk)]


def _fit_metrics(kind: str, metrics: list[dict[str, float]]) -> dict[str, float]:
    mean = {key: sum(m[key] for m in metrics) / len(metrics) for key in ("loss", "rows_per_second", "waited")}
    return {
        f"time/{kind}_s": sum(m["seconds"] for m in metrics),
        f"loss/{kind}": mean["loss"],
        f"learner/{kind}_steps": sum(m["steps"] for m in metrics),
        f"learner/{kind}_rows_per_second": mean["rows_per_second"],
        f"learner/{kind}_waited_s": mean["waited"],
    }
