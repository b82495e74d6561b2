"""The driver of Deep Monte-Carlo (DanZero, paper 004, algorithms 1 and 2): the whole method in one loop.

Self-play of iteration t and the fit of iteration t - 1 run at the same time, so actors play by weights that are one
fit old, and neither waits for the other as long as both take the same time. Which weights play which chunk and which
samples a fit draws from does not depend on who is faster: a run gives the same net inline and on any number of workers.
Where the fit takes longer, self-play waits for it before it goes on, and where self-play does, the learner; the metrics
say how long.
"""

from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from actors.remote import Halted, Ref
from actors.self_play import SelfPlayTask, SelfPlayWeights, merge_stats
from dancfr.methods.crew import Place, telling
from dancfr.methods.dmc.actors import DmcCrew
from dancfr.methods.dmc.config import DmcConfig
from dancfr.methods.loop import Loop, reading, timed
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.networks.settings import Weights
from learners.storage import load_state, save_state

Fit = tuple[int, dict[str, float], Weights]
"""Its iteration, metrics, and the weights it made."""


def train(run: Run, config: DmcConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a Deep Monte-Carlo run to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(Dmc, run, config, tracker), run, config, tracker, options)


class Dmc(Loop):
    """State of a run between iterations: the weights that play, and the fit that is under way."""

    def __init__(self, run: Run, config: DmcConfig, tracker: Tracker, progress: Progress, place: Place) -> None:
        self.config = config
        self.crew = DmcCrew(config, place, telling(progress.event))
        super().__init__(run, config, tracker, progress, self.crew)
        self.samples = 0
        self.playing = SelfPlayWeights(0, self.crew.runtime.get(self.crew.learner.call("weights", 0)))
        self.agent = self.playing.net
        self._fitting: tuple[int, Ref, Ref] | None = None
        self._fitted: Fit | None = None
        self._unfitted: int | None = None  # iteration of a fit that a stop has cut short

    def iterate(self) -> None:
        """Self-play by the weights of the last fit but one, beside the last fit; then its samples go to the pool, and
        the next fit begins."""
        started = perf_counter()
        t = self.iteration + 1
        row: dict[str, Any] = {"kind": "train", "iteration": t}
        with timed(row, "selfplay"):
            blocks, samples = self._play(t, row)
        with timed(row, "actors_waited"):
            self._finish_fit()
        self._adopt(row)
        self.samples += samples
        self._store(blocks, t)
        self._fit(t)
        row["samples/values"] = self.samples
        self.end_iteration(t, started, row)

    def _play(self, t: int, row: dict[str, Any]) -> tuple[list[tuple[SelfPlayTask, Ref]], int]:
        """The chunks of an iteration, their tasks and their samples; the number of samples."""
        self.progress.phase("self-play")
        config, crew = self.config, self.crew
        started = perf_counter()
        weights = crew.runtime.put(self.playing)
        tasks = [
            (SelfPlayTask((config.seed, t, chunk), min(config.chunk, config.games - first), config.tables), weights)
            for chunk, first in enumerate(range(0, config.games, config.chunk))
        ]
        stats, blocks = [], []
        for task, small, block in crew.pool.run("play", tasks, self.stop.overdue):
            stats.append(small)
            blocks.append((task[0], block))
        row |= merge_stats(stats, perf_counter() - started)
        row["selfplay/age"] = t - 1 - self.playing.version
        return blocks, int(sum(s["samples"] for s in stats))

    def settle(self) -> None:
        if self._fitting is not None:
            try:
                self._finish_fit()
            except Halted:
                self._unfitted, self._fitting = self._fitting[0], None

    def _finish_fit(self) -> None:
        """Waits for the fit that is under way."""
        if self._fitting is not None:
            self.progress.phase("training")
            iteration, metrics, weights = self._fitting
            self._fitted = (iteration, *self.get([metrics, weights]))
            self._fitting = None

    def _adopt(self, row: dict[str, Any]) -> None:
        """From now on the newest weights play; their metrics go into the row."""
        if self._fitted is None:
            return
        iteration, metrics, weights = self._fitted
        self._fitted = None
        self.playing = SelfPlayWeights(iteration, weights)
        self.agent = average_weights(self.agent, weights, iteration, self.config.average)
        row |= _fit_metrics(metrics)

    def _store(self, blocks: list[tuple[SelfPlayTask, Ref]], t: int) -> None:
        """Gives the samples to the pool."""
        crew = self.crew
        crew.runtime.get([crew.buffer.call("add", (t, task.seed[2]), block, task.seed) for task, block in blocks])

    def _fit(self, t: int) -> None:
        """Starts the fit; nobody waits for it before the next self-play is done."""
        crew = self.crew
        seed = (self.config.seed, t, 2**31)
        self._fitting = (t, *crew.learner.call("fit", 0, t, crew.buffer, seed, returns=2))

    def ready(self) -> bool:
        return self.playing.version > 0 or self._fitted is not None

    def evaluate(self, t: int) -> None:
        """Evaluates, and keeps, the agent of the weights that have been adopted; if the run ends before there are any,
        of those that would have been next. What the run goes on from is the same in any case."""
        if self.ready() and self.crew.evaluation:
            version, agent = self.playing.version, self.agent
            if not version and self._fitted is not None:
                version, _, agent = self._fitted
            self.keep_evaluated(t, agent, {"version": version})
        super().evaluate(t)

    def state(self, folder: Path) -> dict[str, Any]:
        save_state(folder / "playing.safetensors", self.playing.net, {"version": self.playing.version})
        save_state(folder / "agent.safetensors", self.agent, {})
        fitted = None if self._fitted is None else self._fitted[:2]
        return {"samples": self.samples, "fitted": fitted, "unfitted": self._unfitted}

    def restore(self) -> None:
        """Continues from the newest whole checkpoint, with the weights that played then.

        Raises:
            UsageError: the checkpoints are gone, or none is whole.
            ForeignState: the checkpoint is of other networks.
        """
        saved = self.load_newest()
        if saved is None:
            return
        state, folder = saved
        with reading(folder):
            self.samples = int(state["samples"])
            iteration, metrics = state["fitted"] or (None, {})
            unfitted = None if state.get("unfitted") is None else int(state["unfitted"])
        net, meta = load_state(folder / "playing.safetensors")
        self.playing = SelfPlayWeights(meta["version"], net)
        self.agent, _ = load_state(folder / "agent.safetensors")
        if iteration is not None:
            self._fitted = int(iteration), metrics, self.crew.runtime.get(self.crew.learner.call("weights", 0))
        if unfitted is not None:
            self._fit(unfitted)
        self.reopen_kept()

    def samples_offered(self) -> int:
        return self.samples


def average_weights(average: Weights, weights: Weights, n: int, power: float) -> Weights:
    """The running average with the weights of the n-th fit taken in: the k-th weigh k to the power, exactly if that is
    1 and closely otherwise (Shamir and Zhang 2013); with power 0 the last weights alone."""
    if power == 0:
        return weights
    share = np.float32((power + 1) / (n + power))
    return {name: average[name] + share * (new - average[name]) for name, new in weights.items()}


def _fit_metrics(metrics: dict[str, float]) -> dict[str, float]:
    """Metrics of a fit as they are logged: the learner's own, where its time went, and how long it waited for data."""
    own = {f"learner/{key}": value for key, value in metrics.items() if key not in ("loss", "seconds", "waited")}
    times = {"loss/value": metrics["loss"], "time/value_s": metrics["seconds"], "learner/waited_s": metrics["waited"]}
    return own | times
