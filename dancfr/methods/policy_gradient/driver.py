"""The driver of regularised policy gradients: self-play, PPO with an entropy bonus and a magnet, averaged weights, and
adversaries that are trained beside the policy to win against it.

Self-play of iteration t and the fit of iteration t - 1 run at the same time, so actors play by weights that are one fit
old; PPO's ratio accounts for that. Which weights play which chunk does not depend on who is faster: a run gives the
same nets inline and on any number of workers.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from actors.buffer import BufferServer
from actors.learning import LearnerServer
from actors.remote import Ref
from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, Rival, TrajectoryTask, TrajectoryWeights
from dancfr.methods.averaging import average_weights
from dancfr.methods.loop import Loop, Row, timed
from dancfr.methods.policy_gradient import METHOD
from dancfr.methods.policy_gradient.actors import PolicyGradientActors, block_of
from dancfr.methods.policy_gradient.agent import Nets, pack_nets, unpack_nets
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from dancfr.methods.policy_gradient.seats import tables_of
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.streams import Stream
from dancfr.runs.checkpoints import reading
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.policy_gradient.critic import policy_alone
from learners.storage import arrays_under, load_state, save_state

Blocks = list[tuple[TrajectoryTask, Ref]]
"""Chunks and their samples."""


class PolicyGradient(Loop):
    """A policy-gradient run: the nets that play, their average, former nets, and the fits that are under way."""

    method = METHOD
    stored_when_stopped = True

    def __init__(
        self, run: Run, config: PolicyGradientConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        self.config = config
        self.actors = PolicyGradientActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, self.actors)
        self.decisions = self.samples = 0
        self.warned = False
        self.version = 0
        self.playing, self.adversaries = self.actors.learner_weights()
        self.average: Nets = _policies(self.playing)
        self.kept: list[tuple[int, Nets]] = []  # by version, evenly spread over the run
        self.keep_every = config.kept_every
        self._fitting: tuple[int, list[tuple[Ref, Ref]]] | None = None
        self._fitted: tuple[int, Row, Nets, Nets] | None = None

    def learn(self) -> None:
        """For t = 1, 2, ...: self-play by the newest nets that are published, beside fit t - 1; that fit is waited for,
        and its nets are published; the decisions of iteration t replace those of t - 1 in the buffers, and fit t
        begins. Adversaries play, learn and are published in the same way."""
        for t, row in self.iterations():
            with timed(row, "selfplay"):
                blocks = self.self_play(t, row)
            with timed(row, "actors_waited"):
                self.finish_fit()
            self.publish(row)
            self.fill_buffers(t, blocks)
            self.start_fit(t)
            if self.evaluation_due(t):
                self.evaluate(t)

    def self_play(self, t: int, row: Row) -> Blocks:
        """The games of an iteration."""
        self.progress.phase("self-play")
        config, started = self.config, perf_counter()
        rng = np.random.default_rng(np.random.SeedSequence((config.seed, t, Stream.OPPONENTS)))
        former = self.kept[int(rng.integers(len(self.kept)))] if config.former and self.kept else None
        weights = self.actors.runtime.put(
            TrajectoryWeights(self.version, config.network, self.playing, self._rivals(former))
        )
        shares = [*config.opponents.values(), *config.adversaries.values(), config.former if former else 0.0]
        tables = tables_of(config.games, config.chunk, shares, self.actors.players, rng)
        tasks = [(TrajectoryTask((config.seed, t, chunk), table), weights) for chunk, table in enumerate(tables)]
        stats, blocks = [], []
        for task, found, block in self.actors.workers.run(TrajectoryPlayer.play, tasks):
            stats.append(found)
            blocks.append((task[0], block))
        seconds = perf_counter() - started
        total = {key: sum(each.get(key, 0.0) for each in stats) for key in sorted(set().union(*stats))}
        self.decisions += int(total["decisions"])
        self.samples += int(total["samples"])
        if not total["samples"] and not self.warned:
            self.warned = True
            random = config.noise.openings > 0
            cure = "lower noise.openings or noise.opening_plies" if random else "no player had a move to choose"
            self.progress.event(f"warning: self-play produced no training samples: {cure}")
        row |= {
            "selfplay/decisions_per_second": total["decisions"] / seconds,
            "selfplay/decisions_per_game": total["decisions"] / total["games"],
            "selfplay/decisions": self.decisions,
            "selfplay/age": t - 1 - self.version,
            "samples/decisions": self.samples,
            **self._results(total),
        }
        return blocks

    def _rivals(self, former: tuple[int, Nets] | None) -> tuple[Rival, ...]:
        """The adversaries, and a former policy if there is one."""
        endings, rivals = self.actors.endings, []
        for name, net in zip(self.config.adversaries, self.adversaries, strict=True):
            wins = {endings.index(end): worth for end, worth in self.config.adversary.wins.get(name, {}).items()}
            rivals.append(Rival(block_of(name), self.version, (net,), learns=True, wins=wins))
        return (*rivals, Rival("former", *former)) if former else tuple(rivals)

    def _results(self, total: Row) -> Row:
        """Mean returns of the learner against opponents, and mean rewards of adversaries."""
        results, adversaries = {}, self.config.adversaries
        for number, name in enumerate([*self.config.opponents, *adversaries, "former"], LEARNER + 1):
            if games := total.get(f"games/{number}"):
                results[f"against/{name}"] = total[f"return/{number}"] / games
                if name in adversaries:
                    results[f"adversary/{name}"] = total[f"reward/{number}"] / games
        return results

    def finish_fit(self) -> None:
        """Waits for the fits that are under way."""
        if self._fitting is None:
            return
        self.progress.phase("training")
        iteration, fits = self._fitting
        results = [self.get(list(fit)) for fit in fits]
        self._fitting = None
        own, count = self.actors.nets, len(self.actors.buffers)
        nets = tuple(net for _, net in results[-count:])
        metrics = _fit_metrics([found for found, _ in results], [n % count < own for n in range(len(results))])
        self._fitted = iteration, metrics, nets[:own], nets[own:]

    def publish(self, row: Row) -> None:
        """Lets the newest nets play from now on, and averages them into the agent."""
        if self._fitted is None:
            return
        self.version, metrics, self.playing, self.adversaries = self._fitted
        self._fitted = None
        power = self.config.average_power
        self.average = tuple(
            average_weights(old, new, self.version, power)
            for old, new in zip(self.average, _policies(self.playing), strict=True)
        )
        if self.config.former or self.config.average == "mixture":
            self.keep()
        row |= metrics

    def keep(self) -> None:
        """Keeps the newest nets if it is their turn; if these are too many, every other one goes, and from then on
        every other one that would have been kept."""
        if self.version % self.keep_every == 0:
            self.kept.append((self.version, _policies(self.playing)))
        if len(self.kept) > self.config.kept:
            self.keep_every *= 2
            self.kept = [(version, nets) for version, nets in self.kept if version % self.keep_every == 0]

    def fill_buffers(self, t: int, blocks: Blocks) -> None:
        """Replaces the contents of the buffers by the samples of this iteration."""
        for buffer in self.actors.buffers:
            self.get(buffer.call(BufferServer.clear))
            self.get([buffer.call(BufferServer.add, (t, task.seed[2]), block, task.seed) for task, block in blocks])

    def start_fit(self, t: int) -> None:
        """Starts the fit of each net, a call for each epoch; they are waited for after the next self-play."""
        done = self.config.part_done(t - 1, self.samples, self.elapsed())
        fits = []
        for epoch in range(self.config.training.epochs):
            for number, buffer in enumerate(self.actors.buffers):
                seed = (self.config.seed, t, number, epoch, Stream.FIT)
                fits.append(self.actors.learner.call_pair(LearnerServer.fit, number, t, buffer, seed, done))
        self._fitting = t, fits

    def prepare_evaluation(self, t: int) -> None:
        """Stores the nets; if the run ends before any were published, those that are next."""
        playing, average = self.playing, self.average
        if not self.version and self._fitted is not None:
            playing = average = self._fitted[2]
        mixed = self.kept if self.config.average == "mixture" else ()
        stored = pack_nets(_policies(average), _policies(playing), mixed)
        self.store_evaluated(t, stored, {"version": self.version})

    def warm_up(self) -> None:
        """Plays one game by the nets at hand."""
        task = TrajectoryTask((self.config.seed, 0, 0), ((1, (LEARNER,) * self.actors.players),))
        self.compile_in_workers(
            TrajectoryPlayer.play, [(task, TrajectoryWeights(self.version, self.config.network, self.playing))]
        )

    def ready(self) -> bool:
        return self.version > 0 or self._fitted is not None

    def settle(self) -> None:
        self.finish_fit()

    def state(self, folder: Path) -> Row:
        arrays = pack_nets(self.average, self.playing, self.kept)
        for number, net in enumerate(self.adversaries):
            arrays |= {f"adversary.{number}.{name}": array for name, array in net.items()}
        save_state(folder / "playing.safetensors", arrays, {})
        return {
            "decisions": self.decisions,
            "samples": self.samples,
            "version": self.version,
            "keep_every": self.keep_every,
            "fitted": None if self._fitted is None else self._fitted[:2],
        }

    def adopt(self, state: Row, folder: Path) -> None:
        with reading(folder):
            self.decisions, self.samples = int(state["decisions"]), int(state["samples"])
            self.version, self.keep_every = int(state["version"]), int(state["keep_every"])
            fitted = state["fitted"]
        arrays, _ = load_state(folder / "playing.safetensors")
        self.average, self.playing, self.kept = unpack_nets(arrays, self.actors.nets)
        self.adversaries = tuple(arrays_under(arrays, f"adversary.{n}") for n in range(len(self.adversaries)))
        if fitted is not None:
            self._fitted = int(fitted[0]), fitted[1], *self.actors.learner_weights()

    def samples_offered(self) -> int:
        return self.samples


train = partial(run_to_end, PolicyGradient)
"""Trains a run to its end, see `dancfr.methods.recovery.run_to_end`."""


def _policies(nets: Nets) -> Nets:
    """The nets without the critics that training may add to them."""
    return tuple(policy_alone(net) for net in nets)


def _fit_metrics(found: Sequence[dict[str, float]], policy: Sequence[bool]) -> Row:
    """Metrics of an iteration's fits as they are logged: means over the policy's nets and epochs, and where the time of
    all fits went."""
    fits = [each for each, own in zip(found, policy, strict=True) if own]
    means = {key: sum(each[key] for each in fits) / len(fits) for key in fits[0]}
    own = {f"learner/{key}": value for key, value in means.items() if key not in ("loss", "seconds", "waited", "cpu")}
    seconds, waited = (sum(each[key] for each in found) for key in ("seconds", "waited"))
    return own | {"loss/policy": means["loss"], "time/fit_s": seconds, "learner/waited_s": waited}
