"""The driver of Deep Monte-Carlo (DanZero, paper 004, Algorithms 1 and 2).

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

from actors.remote import Ref
from actors.self_play import SelfPlayTask, SelfPlayWeights, merge_stats
from dancfr.methods.averaging import average_weights
from dancfr.methods.dmc import METHOD
from dancfr.methods.dmc.actors import DmcActors
from dancfr.methods.dmc.config import DmcConfig
from dancfr.methods.loop import Loop, Row, reading, timed
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.streams import Stream
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.networks.settings import Weights
from learners.storage import load_state, save_state

Fit = tuple[int, dict[str, float], Weights]
"""Iteration of a fit, its metrics, and the weights it made."""

Blocks = list[tuple[SelfPlayTask, Ref]]
"""Chunks and their samples."""


def train(run: Run, config: DmcConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a Deep Monte-Carlo run to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(Dmc, run, config, tracker), METHOD, run, config, tracker, options)


class Dmc(Loop):
    """A Deep Monte-Carlo run: the weights that play, and the fit that is under way."""

    method = METHOD

    def __init__(self, run: Run, config: DmcConfig, tracker: Tracker, progress: Progress, placement: Placement) -> None:
        self.config = config
        self.actors = DmcActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, self.actors)
        self.samples = 0
        self.playing = SelfPlayWeights(0, self.actors.runtime.get(self.actors.learner.call("weights", 0)))
        self.agent = self.playing.net
        self._fitting: tuple[int, Ref, Ref] | None = None
        self._fitted: Fit | None = None

    def learn(self) -> None:
        """For t = 1, 2, ...: self-play by the newest weights that are published, beside fit t - 1; that fit is waited
        for, and its weights are published; the new samples go to the pool, and fit t begins."""
        for t, row in self.iterations():
            with timed(row, "selfplay"):
                blocks = self.self_play(t, row)
            with timed(row, "actors_waited"):
                self.finish_fit()
            self.publish(row)
            self.add_to_pool(t, blocks)
            self.start_fit(t)
            row["samples/values"] = self.samples
            if self.evaluation_due(t):
                self.evaluate(t)

    def self_play(self, t: int, row: Row) -> Blocks:
        """The games of an iteration."""
        self.progress.phase("self-play")
        config, actors = self.config, self.actors
        started = perf_counter()
        weights = actors.runtime.put(self.playing)
        tasks = [
            (SelfPlayTask((config.seed, t, chunk), min(config.chunk, config.games - first), config.tables), weights)
            for chunk, first in enumerate(range(0, config.games, config.chunk))
        ]
        stats, blocks = [], []
        for task, found, block in actors.workers.run("play", tasks):
            stats.append(found)
            blocks.append((task[0], block))
        self.samples += int(sum(each["samples"] for each in stats))
        row |= merge_stats(stats, perf_counter() - started)
        row["selfplay/age"] = t - 1 - self.playing.version
        return blocks

    def finish_fit(self) -> None:
        """Waits for the fit that is under way."""
        if self._fitting is not None:
            self.progress.phase("training")
            iteration, metrics, weights = self._fitting
            self._fitted = (iteration, *self.get([metrics, weights]))
            self._fitting = None

    def publish(self, row: Row) -> None:
        """The newest weights play from now on, and are averaged into the agent."""
        if self._fitted is None:
            return
        iteration, metrics, weights = self._fitted
        self._fitted = None
        self.playing = SelfPlayWeights(iteration, weights)
        self.agent = average_weights(self.agent, weights, iteration, self.config.average)
        row |= _fit_metrics(metrics)

    def add_to_pool(self, t: int, blocks: Blocks) -> None:
        """Gives the samples to the pool."""
        pool = self.actors.buffer
        self.get([pool.call("add", (t, task.seed[2]), block, task.seed) for task, block in blocks])

    def start_fit(self, t: int) -> None:
        """Starts the fit; it is waited for after the next self-play."""
        seed = (self.config.seed, t, Stream.FIT)
        self._fitting = (t, *self.actors.learner.call("fit", 0, t, self.actors.buffer, seed, returns=2))

    def prepare_evaluation(self, t: int) -> None:
        """Stores the agent; if the run ends before any weights were published, the ones that are next. What the run
        goes on from is the same in any case."""
        version, agent = self.playing.version, self.agent
        if not version and self._fitted is not None:
            version, _, agent = self._fitted
        self.store_evaluated(t, agent, {"version": version})

    def warm_up(self) -> None:
        """Plays one game by the weights at hand."""
        task = SelfPlayTask((self.config.seed, 0, 0), 1, 1)
        self.compile_in_workers("play", [(task, self.playing)])

    def ready(self) -> bool:
        return self.playing.version > 0 or self._fitted is not None

    def settle(self) -> None:
        self.finish_fit()

    def state(self, folder: Path) -> Row:
        save_state(folder / "playing.safetensors", self.playing.net, {"version": self.playing.version})
        save_state(folder / "agent.safetensors", self.agent, {})
        return {"samples": self.samples, "fitted": None if self._fitted is None else self._fitted[:2]}

    def restore(self) -> None:
        """Goes on from the newest whole checkpoint, with the weights that played then.

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
        net, meta = load_state(folder / "playing.safetensors")
        self.playing = SelfPlayWeights(meta["version"], net)
        self.agent, _ = load_state(folder / "agent.safetensors")
        if iteration is not None:
            self._fitted = int(iteration), metrics, self.actors.runtime.get(self.actors.learner.call("weights", 0))

    def samples_offered(self) -> int:
        return self.samples


def _fit_metrics(metrics: dict[str, float]) -> dict[str, float]:
    """Metrics of a fit as they are logged: the learner's own, where its time went, and how long it waited for data."""
    own = {f"learner/{key}": value for key, value in metrics.items() if key not in ("loss", "seconds", "waited")}
    times = {"loss/value": metrics["loss"], "time/value_s": metrics["seconds"], "learner/waited_s": metrics["waited"]}
    return own | times
