"""The driver of belief states and depth-limited external sampling with nets (paper 002, Algorithms 1 to 3).

For t = 1, 2, ...:
    self-play by the policy net, with exploration, both players' beliefs following the moves; in some games one of them
    plays uniformly;
    from belief states met there, for either player, external sampling to a few moves below; what lies beyond is worth
    what the value net says;
    advantages and policies go to reservoirs, values to a circular buffer, and each net is fitted to its own.
"""

from collections import Counter
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from actors.belief_sampling import BeliefTask
from dancfr.methods.crew import Place, telling
from dancfr.methods.depth_limited.actors import DepthLimitedCrew
from dancfr.methods.depth_limited.config import DepthLimitedConfig
from dancfr.methods.loop import Loop, reading, timed
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.geister_beliefs.policies import BeliefWeights

NETS = {"advantages": "advantage", "policies": "policy", "values": "value"}
"""What the net is called that is fitted to a buffer."""


def train(run: Run, config: DepthLimitedConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a run to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(DepthLimited, run, config, tracker), run, config, tracker, options)


class DepthLimited(Loop):
    """State of a run between iterations: the nets for playing, and counters."""

    def __init__(
        self, run: Run, config: DepthLimitedConfig, tracker: Tracker, progress: Progress, place: Place
    ) -> None:
        self.config = config
        self.crew = DepthLimitedCrew(config, place, telling(progress.event))
        super().__init__(run, config, tracker, progress, self.crew)
        self.samples: Counter[str] = Counter({"decisions": 0, **dict.fromkeys(NETS, 0)})
        self.weights = BeliefWeights(0, None, None, None)  # iteration 1 plays uniformly

    def iterate(self) -> None:
        """One iteration: play and search, store, train, publish."""
        started = perf_counter()
        t = self.iteration + 1
        row: dict[str, Any] = {"kind": "train", "iteration": t}
        with timed(row, "search"):
            drawn = self._search(t, row)
        nets = self._fit(t, row)
        self.weights = self.weights._replace(version=t, **nets)
        self.samples.update(drawn)
        row |= {f"samples/{part}": count for part, count in self.samples.items()}
        self.end_iteration(t, started, row)

    def _search(self, t: int, row: dict[str, Any]) -> Counter[str]:
        """Self-play and searches of an iteration; their samples go to the buffers. How many of each there were."""
        self.progress.phase("self-play and search")
        config, crew = self.config, self.crew
        started = perf_counter()
        weights = crew.runtime.put(self.weights)
        tasks = [(task, weights) for task in tasks_of(config, t)]
        added, stats = [], []
        for task, small, block in crew.pool.run("sample", tasks, self.stop.overdue):
            stats.append(small)
            chunk_id = (t, *task[0].seed[2:])
            added += [buffer.call("add", chunk_id, block, task[0].seed) for buffer in crew.buffers.values()]
        self.get(added)
        drawn: Counter[str] = Counter({"decisions": sum(each["decisions"] for each in stats)})
        for each in stats:
            drawn.update(each["rows"])
        row |= {
            "search/decisions_per_second": drawn["decisions"] / (perf_counter() - started),
            "search/net_rows_per_second": sum(each["net_rows"] for each in stats) / (perf_counter() - started),
            "search/states": sum(each["states"] for each in stats),
            "search/mean_plies": sum(each["plies"] * each["games"] for each in stats) / config.games,
            "search/first_wins": sum(each["first_wins"] * each["games"] for each in stats) / config.games,
            "search/advantage_rms": sum(each["advantage_rms"] for each in stats) / len(stats),
        }
        return drawn

    def _fit(self, t: int, row: dict[str, Any]) -> dict[str, Any]:
        """Trains the nets, all at the same time; those that have been trained."""
        self.progress.phase("training")
        config, crew = self.config, self.crew
        due = [part for part in NETS if part != "policies" or (t - 1) % config.policy_every == 0]
        fits = {
            part: crew.learners[part].call("fit", 0, t, crew.buffers[part], (config.seed, t, 2**31 + place), returns=2)
            for place, part in enumerate(due)
        }
        nets = {}
        for part, fit in fits.items():
            metrics, nets[NETS[part]] = self.get(list(fit))
            fill = crew.runtime.get(crew.buffers[part].call("stats"))["fill"]
            row |= {
                f"loss/{NETS[part]}": metrics["loss"],
                f"time/{NETS[part]}_s": metrics["seconds"],
                f"learner/{NETS[part]}_rows_per_second": metrics["rows_per_second"],
                f"learner/{NETS[part]}_waited_s": metrics["waited"],
                f"buffer/{NETS[part]}_fill": fill,
            }
        return nets

    def ready(self) -> bool:
        return self.weights.version > 0

    def evaluate(self, t: int) -> None:
        """Evaluates, and keeps, the nets as they are now."""
        if self.ready() and self.crew.evaluation:
            assert self.weights.policy is not None
            assert self.weights.advantage is not None
            self.keep_evaluated(t, join_nets(self.weights), {})
        super().evaluate(t)

    def settle(self) -> None:
        """Nothing goes on between iterations."""

    def state(self, folder: Path) -> dict[str, Any]:
        return {"samples": self.samples}

    def restore(self) -> None:
        """Continues from the newest whole checkpoint.

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
        refs = [self.crew.learners[part].call("weights", 0) for part in NETS]
        self.weights = BeliefWeights(
            self.iteration, **dict(zip(NETS.values(), self.crew.runtime.get(refs), strict=True))
        )
        self.reopen_kept()

    def samples_offered(self) -> int:
        return self.samples["advantages"]


def tasks_of(config: DepthLimitedConfig, t: int) -> list[BeliefTask]:
    """The chunks of iteration t; the first of them against a player who plays uniformly, the first one and the second
    one in turn. What is left of their number is carried over to the next iteration."""
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
