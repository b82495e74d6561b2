"""The driver of belief states and depth-limited external sampling with nets (paper 002, Algorithms 1 to 3)."""

from collections import Counter
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from actors.belief_sampling import BeliefTask
from dancfr.methods.depth_limited import METHOD
from dancfr.methods.depth_limited.actors import DepthLimitedActors
from dancfr.methods.depth_limited.config import DepthLimitedConfig
from dancfr.methods.loop import Loop, Row, reading, timed
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.streams import Stream
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.geister_beliefs.policies import BeliefWeights

NETS = {"advantages": "advantage", "policies": "policy", "values": "value"}
"""Name of the net that is fitted to each buffer."""


def train(run: Run, config: DepthLimitedConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a run to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(DepthLimited, run, config, tracker), METHOD, run, config, tracker, options)


class DepthLimited(Loop):
    """A run: the nets that play, and counts of samples."""

    method = METHOD

    def __init__(
        self, run: Run, config: DepthLimitedConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        self.config = config
        self.actors = DepthLimitedActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, self.actors)
        self.samples: Counter[str] = Counter({"decisions": 0, **dict.fromkeys(NETS, 0)})
        self.weights = BeliefWeights(0, None, None, None)  # iteration 1 plays uniformly

    def learn(self) -> None:
        """For t = 1, 2, ...: self-play by the policy net, with exploration, both players' beliefs following the moves;
        from belief states met there, for either player, external sampling to a few moves below, where the value net
        says what lies beyond; advantages and policies go to reservoirs, values to a circular buffer, and each net is
        fitted to its own; the new nets are published."""
        for t, row in self.iterations():
            with timed(row, "search"):
                self.play_and_search(t, row)
            nets = self.fit(t, row)
            self.weights = self.weights._replace(version=t, **nets)
            row |= {f"samples/{part}": count for part, count in self.samples.items()}
            if self.evaluation_due(t):
                self.evaluate(t)

    def play_and_search(self, t: int, row: Row) -> None:
        """Self-play and searches of an iteration; their samples go to the buffers."""
        self.progress.phase("self-play and search")
        config, actors = self.config, self.actors
        started = perf_counter()
        weights = actors.runtime.put(self.weights)
        added, stats = [], []
        for task, found, block in actors.workers.run("sample", [(task, weights) for task in tasks_of(config, t)]):
            stats.append(found)
            chunk_id = (t, *task[0].seed[2:])
            added += [buffer.call("add", chunk_id, block, task[0].seed) for buffer in actors.buffers.values()]
        self.get(added)
        decisions, seconds = sum(each["decisions"] for each in stats), perf_counter() - started
        self.samples["decisions"] += decisions
        for each in stats:
            self.samples.update(each["rows"])
        row |= {
            "search/decisions_per_second": decisions / seconds,
            "search/net_rows_per_second": sum(each["net_rows"] for each in stats) / seconds,
            "search/states": sum(each["states"] for each in stats),
            "search/mean_plies": sum(each["plies"] * each["games"] for each in stats) / config.games,
            "search/first_wins": sum(each["first_wins"] * each["games"] for each in stats) / config.games,
            "search/advantage_rms": sum(each["advantage_rms"] for each in stats) / len(stats),
        }

    def fit(self, t: int, row: Row) -> dict[str, Any]:
        """Fits the nets, all at the same time; the new weights by the net's name."""
        self.progress.phase("training")
        config, actors = self.config, self.actors
        due = [part for part in NETS if part != "policies" or (t - 1) % config.policy_every == 0]
        fits = {
            part: actors.learners[part].call(
                "fit", 0, t, actors.buffers[part], (config.seed, t, Stream.FIT + number), returns=2
            )
            for number, part in enumerate(due)
        }
        nets = {}
        for part, fit in fits.items():
            metrics, nets[NETS[part]] = self.get(list(fit))
            fill = actors.runtime.get(actors.buffers[part].call("stats"))["fill"]
            row |= {
                f"loss/{NETS[part]}": metrics["loss"],
                f"time/{NETS[part]}_s": metrics["seconds"],
                f"learner/{NETS[part]}_rows_per_second": metrics["rows_per_second"],
                f"learner/{NETS[part]}_waited_s": metrics["waited"],
                f"buffer/{NETS[part]}_fill": fill,
            }
        return nets

    def prepare_evaluation(self, t: int) -> None:
        self.store_evaluated(t, join_nets(self.weights), {})

    def warm_up(self) -> None:
        """Plays and searches one game by fresh nets."""
        task = BeliefTask((self.config.seed, 0, 0), 1, 1, 1, None)
        self.compile_in_workers("sample", [(task, BeliefWeights(0, **self._learnt()))])

    def _learnt(self) -> dict[str, Any]:
        """The weights that the learners hold, by the net's name."""
        refs = [self.actors.learners[part].call("weights", 0) for part in NETS]
        return dict(zip(NETS.values(), self.actors.runtime.get(refs), strict=True))

    def ready(self) -> bool:
        return self.weights.version > 0

    def state(self, folder: Path) -> Row:
        return {"samples": self.samples}

    def restore(self) -> None:
        """Goes on from the newest whole checkpoint.

        Raises:
            UsageError: the checkpoints are gone, or none is whole.
            ForeignState: the checkpoint is of other networks.
        """
        saved = self.load_newest()
        if saved is None:
            return
        state, folder = saved
        with reading(folder):
            self.samples = Counter({name: int(count) for name, count in state["samples"].items()})
        self.weights = BeliefWeights(self.iteration, **self._learnt())

    def samples_offered(self) -> int:
        return self.samples["advantages"]


def tasks_of(config: DepthLimitedConfig, t: int) -> list[BeliefTask]:
    """The chunks of iteration t. In the first of them one player, the first and the second in turn, plays uniformly; a
    fractional number of such chunks is carried over to the next iteration."""
    sizes = [min(config.chunk, config.games - first) for first in range(0, config.games, config.chunk)]
    share = config.uniform * len(sizes)
    apart = min(int(t * share) - int((t - 1) * share), len(sizes) - 1)
    tasks = []
    for chunk, games in enumerate(sizes):
        states = -(-config.states * games // config.games)
        uniform = (t + chunk) % 2 if chunk < apart else None
        tasks.append(BeliefTask((config.seed, t, chunk), t, games, states, uniform))
    return tasks


def join_nets(weights: BeliefWeights) -> dict[str, Any]:
    """The nets that an agent plays by, as one set of arrays."""
    nets = {"policy": weights.policy, "advantage": weights.advantage}
    return {f"{kind}.{name}": array for kind, net in nets.items() for name, array in (net or {}).items()}
