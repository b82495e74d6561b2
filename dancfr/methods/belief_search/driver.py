"""The driver of belief states and depth-limited external sampling with nets (paper 002, Algorithms 1 to 3)."""

from collections import Counter
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from actors.belief_search import BeliefSampler, BeliefTask
from actors.buffer import BufferServer
from actors.learning import LearnerServer
from dancfr.methods.belief_search import METHOD
from dancfr.methods.belief_search.actors import BeliefSearchActors
from dancfr.methods.belief_search.config import BeliefSearchConfig
from dancfr.methods.loop import Loop, Row, timed
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.streams import Stream
from dancfr.runs.checkpoints import reading
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.belief_search.policies import BeliefWeights

NETS = {"advantages": "advantage", "policies": "policy", "values": "value"}
"""The net that is fitted to each buffer."""


class BeliefSearch(Loop):
    """A training by depth-limited external sampling with nets."""

    method = METHOD
    stored_when_stopped = True

    def __init__(
        self, run: Run, config: BeliefSearchConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        self.config = config
        self.actors = BeliefSearchActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, self.actors)
        self.samples: Counter[str] = Counter({"decisions": 0, **dict.fromkeys(NETS, 0)})
        self.weights = BeliefWeights(0, None, None, None)  # iteration 1 plays uniformly

    def learn(self) -> None:
        """In each iteration, the policy net plays against itself, with exploration, while the beliefs of both players
        are updated by the moves. From belief states of these games and for each player, external sampling looks a few
        moves ahead, and the value net evaluates the leaves. Advantages and policies are added to reservoirs, values to
        a circular buffer; each net is fitted to its buffer, and the new nets are published."""
        for t, row in self.iterations():
            with timed(row, "search"):
                self.play_and_search(t, row)
            nets = self.fit(t, row)
            self.weights = self.weights._replace(version=t, **nets)
            row |= {f"samples/{part}": count for part, count in self.samples.items()}
            if self.evaluation_due(t):
                self.evaluate(t)

    def play_and_search(self, t: int, row: Row) -> None:
        """Plays and searches in the workers, and adds the samples to the buffers."""
        self.progress.phase("self-play and search")
        config, actors = self.config, self.actors
        started = perf_counter()
        weights = actors.runtime.put(self.weights)
        added, stats = [], []
        for task, found, block in actors.workers.run(
            BeliefSampler.sample, [(task, weights) for task in tasks_of(config, t)]
        ):
            stats.append(found)
            chunk_id = (t, *task[0].seed[2:])
            added += [
                buffer.call(BufferServer.add, chunk_id, block, task[0].seed) for buffer in actors.buffers.values()
            ]
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
        """Fits the nets that are due, all at the same time; returns their new weights by the net's name."""
        self.progress.phase("training")
        config, actors = self.config, self.actors
        due = [part for part in NETS if part != "policies" or (t - 1) % config.policy_every == 0]
        fits = {
            part: actors.learners[part].call_pair(
                LearnerServer.fit, 0, t, actors.buffers[part], (config.seed, t, Stream.FIT + number)
            )
            for number, part in enumerate(due)
        }
        nets = {}
        for part, fit in fits.items():
            metrics, nets[NETS[part]] = self.get(list(fit))
            fill = actors.runtime.get(actors.buffers[part].call(BufferServer.stats))["fill"]
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
        """Compiles the kernels of the workers by one game with a search."""
        task = BeliefTask((self.config.seed, 0, 0), 1, 1, 1, None)
        self.compile_in_workers(BeliefSampler.sample, [(task, BeliefWeights(0, **self._learner_weights()))])

    def _learner_weights(self) -> dict[str, Any]:
        """Returns the current weights of the learners' nets, by the net's name."""
        refs = [self.actors.learners[part].call(LearnerServer.weights, 0) for part in NETS]
        return dict(zip(NETS.values(), self.actors.runtime.get(refs), strict=True))

    def ready(self) -> bool:
        return self.weights.version > 0

    def state(self, folder: Path) -> Row:
        return {"samples": self.samples}

    def adopt(self, state: Row, folder: Path) -> None:
        with reading(folder):
            self.samples = Counter({name: int(count) for name, count in state["samples"].items()})
        self.weights = BeliefWeights(self.iteration, **self._learner_weights())

    def samples_offered(self) -> int:
        return self.samples["advantages"]


train = partial(run_to_end, BeliefSearch)
"""Trains a run to its end, see `dancfr.methods.recovery.run_to_end`."""


def tasks_of(config: BeliefSearchConfig, t: int) -> list[BeliefTask]:
    """Returns the chunks of iteration t.

    In a fraction `config.uniform` of them, which come first, one player plays uniformly: either player in alternate
    chunks, also from an iteration to the next that has an odd number of them. A fractional number of such chunks is
    carried over to the next iteration.
    """
    sizes = [min(config.chunk, config.games - first) for first in range(0, config.games, config.chunk)]
    share = config.uniform * len(sizes)
    before = int((t - 1) * share)
    apart = min(int(t * share) - before, len(sizes) - 1)
    player = t if apart % 2 == 0 else before + 1
    tasks = []
    for chunk, games in enumerate(sizes):
        states = -(-config.states * games // config.games)
        uniform = (player + chunk) % 2 if chunk < apart else None
        tasks.append(BeliefTask((config.seed, t, chunk), t, games, states, uniform))
    return tasks


def join_nets(weights: BeliefWeights) -> dict[str, Any]:
    """Returns the arrays of the nets that an agent needs, their names prefixed by the name of the net."""
    nets = {"policy": weights.policy, "advantage": weights.advantage}
    return {f"{kind}.{name}": array for kind, net in nets.items() for name, array in (net or {}).items()}
