"""The base class of drivers that learn over listed actions: self-play, a pool of samples and fits in turns.

Self-play of iteration t and fit t - 1 run at the same time, so actors play by weights that are one fit old (unless
`overlap` is off: a policy learns twice as much of samples that the newest weights have played). At the end of an
iteration, whichever is faster waits for the other; the metrics contain the waiting times. Which weights play a
chunk and which samples a fit uses does not depend on timing, so a run gives the same net inline and with any number of
workers.
"""

from pathlib import Path
from time import perf_counter

from actors.buffer import BufferServer
from actors.learning import LearnerServer
from actors.listed_play import ListedPlayer, SelfPlayTask, SelfPlayWeights, merge_stats
from actors.remote import Ref
from dancfr.methods.averaging import average_weights
from dancfr.methods.listed_actors import ListedActors
from dancfr.methods.listed_settings import ListedConfig
from dancfr.methods.loop import Loop, Row, timed
from dancfr.methods.streams import Stream
from dancfr.runs.checkpoints import reading
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.networks.settings import Weights
from learners.storage import load_state, save_state

Fit = tuple[int, dict[str, float], Weights]
"""Iteration of a fit, its metrics, and the new weights."""

Blocks = list[tuple[SelfPlayTask, Ref]]
"""Tasks and their samples."""


class ListedLoop(Loop):
    """A training over listed actions: the weights that play, and the pending fit.

    Args:
        run, config, tracker, progress, actors: See `Loop`.
    """

    stored_when_stopped = True

    def __init__(
        self, run: Run, config: ListedConfig, tracker: Tracker, progress: Progress, actors: ListedActors
    ) -> None:
        super().__init__(run, config, tracker, progress, actors)
        self.config, self.actors = config, actors
        self.samples = 0
        self.playing = SelfPlayWeights(0, self.actors.runtime.get(self.actors.learner.call(LearnerServer.weights, 0)))
        self.agent = self.playing.net
        self._fitting: tuple[int, Ref, Ref] | None = None
        self._fitted: Fit | None = None

    def learn(self) -> None:
        """In each iteration t, the published weights play against themselves while fit t - 1 runs. Then the weights of
        fit t - 1 are published, the new samples are added to the pool, and fit t starts. Without overlap, fit t - 1 is
        finished and published first."""
        for t, row in self.iterations():
            if not self.config.overlap:
                self.finish_fit()
                self.publish(row)
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
        """Plays the games of an iteration, and returns their samples."""
        self.progress.phase("self-play")
        config, actors = self.config, self.actors
        started = perf_counter()
        weights = actors.runtime.put(self.playing)
        chunks = enumerate(range(0, config.games, config.chunk))
        sizes = [(chunk, min(config.chunk, config.games - first)) for chunk, first in chunks]
        tasks = [(self.task(t, chunk, size), weights) for chunk, size in sizes]
        stats, blocks = [], []
        for task, found, block in actors.workers.run(ListedPlayer.play, tasks):
            stats.append(found)
            blocks.append((task[0], block))
        self.samples += int(sum(each["samples"] for each in stats))
        row |= merge_stats(stats, perf_counter() - started)
        row["selfplay/age"] = t - 1 - self.playing.version
        return blocks

    def task(self, t: int, chunk: int, games: int) -> SelfPlayTask:
        """The task of a chunk of an iteration."""
        return SelfPlayTask((self.config.seed, t, chunk), games, self.config.tables)

    def finish_fit(self) -> None:
        """Waits for the pending fit."""
        if self._fitting is not None:
            self.progress.phase("training")
            iteration, metrics, weights = self._fitting
            self._fitted = (iteration, *self.get([metrics, weights]))
            self._fitting = None

    def publish(self, row: Row) -> None:
        """Lets the weights of the last finished fit play from now on, and averages them into the agent."""
        if self._fitted is None:
            return
        iteration, metrics, weights = self._fitted
        self._fitted = None
        self.playing = SelfPlayWeights(iteration, weights)
        self.agent = average_weights(self.agent, weights, iteration, self.config.average)
        row |= _fit_metrics(metrics)

    def add_to_pool(self, t: int, blocks: Blocks) -> None:
        """Adds the samples to the pool."""
        pool = self.actors.buffer
        self.get([pool.call(BufferServer.add, (t, task.seed[2]), block, task.seed) for task, block in blocks])

    def start_fit(self, t: int) -> None:
        """Starts the fit; the next iteration waits for it after its self-play."""
        seed = (self.config.seed, t, Stream.FIT)
        self._fitting = (t, *self.actors.learner.call_pair(LearnerServer.fit, 0, t, self.actors.buffer, seed))

    def prepare_evaluation(self, t: int) -> None:
        """Stores the weights of the agent or, if the run ends before any were published, those of the finished fit.

        The state of the run does not change, so a resumed run continues in the same way.
        """
        version, agent = self.playing.version, self.agent
        if not version and self._fitted is not None:
            version, agent = self._fitted[0], self._fitted[2]
        self.store_evaluated(t, agent, {"version": version})

    def warm_up(self) -> None:
        """Compiles the kernels of the workers by one game."""
        task = SelfPlayTask((self.config.seed, 0, 0), 1, 1)
        self.compile_in_workers(ListedPlayer.play, [(task, self.playing)])

    def ready(self) -> bool:
        return self.playing.version > 0 or self._fitted is not None

    def settle(self) -> None:
        self.finish_fit()

    def state(self, folder: Path) -> Row:
        save_state(folder / "playing.safetensors", self.playing.net, {"version": self.playing.version})
        save_state(folder / "agent.safetensors", self.agent, {})
        return {"samples": self.samples, "fitted": None if self._fitted is None else self._fitted[:2]}

    def adopt(self, state: Row, folder: Path) -> None:
        with reading(folder):
            self.samples = int(state["samples"])
            iteration, metrics = state["fitted"] or (None, {})
        net, meta = load_state(folder / "playing.safetensors")
        self.playing = SelfPlayWeights(meta["version"], net)
        self.agent, _ = load_state(folder / "agent.safetensors")
        if iteration is not None:
            self._fitted = (
                int(iteration),
                metrics,
                self.actors.runtime.get(self.actors.learner.call(LearnerServer.weights, 0)),
            )

    def samples_offered(self) -> int:
        return self.samples


def _fit_metrics(metrics: dict[str, float]) -> dict[str, float]:
    """Returns the metrics of a fit under the keys of training rows."""
    own = {f"learner/{key}": value for key, value in metrics.items() if key not in ("loss", "seconds", "waited", "cpu")}
    times = {"loss/value": metrics["loss"], "time/value_s": metrics["seconds"], "learner/waited_s": metrics["waited"]}
    return own | times
