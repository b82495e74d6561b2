"""The driver of trained best responses: their winnings bound a frozen agent's exploitability from below.

Several responses are trained side by side by policy gradients, from strong nets or from new ones; the better half
continues after a share of the budget, and a new net in any case until it has had a fair number of decisions. Games of
iteration t are played by the nets of fit t - 2 while fit t - 1 runs: a budget of games gives the same nets with any
number of workers.
"""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from actors.buffer import BufferServer
from actors.learning import LearnerServer
from actors.remote import Ref
from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, TrajectoryTask, TrajectoryWeights
from dancfr.methods.best_response import METHOD
from dancfr.methods.best_response.actors import FROZEN, PLAYERS, BestResponseActors
from dancfr.methods.best_response.agent import store_response
from dancfr.methods.best_response.config import BestResponseConfig
from dancfr.methods.best_response.result import KnownAgent, bounds, describe
from dancfr.methods.best_response.starts import Candidate, Effort, read_efforts, survivors
from dancfr.methods.loop import Loop, Row, timed
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.streams import Stream
from dancfr.runs.checkpoints import reading
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.networks.settings import Weights
from learners.policy_gradient.critic import policy_alone
from learners.storage import arrays_under, load_state, save_state

TRAINING, LOOK, FINALISTS, FINAL = 1, 2, 3, 4
"""Purposes of games, the second word of their seeds."""

FIRST_GAMES, MOST_CHUNK_GAMES = 64, 4096
"""Games of a chunk before their length is known, and at most."""

STRETCH = 1.3
"""At each point of the curve there have been this many times as many iterations as at the one before."""

FINALS = 4
"""Candidates of a seat that play again before one is chosen."""

FEWER = 20
"""A point of the curve takes this many times fewer games than the result."""

THRESHOLDS = (0.5, 1.0)
"""Candidates of a point of the curve play by the first one; before the choice they are measured by each."""

Blocks = list[tuple[int, TrajectoryTask, Ref]]
"""Responses, their chunks, and the samples."""


class BestResponse(Loop):
    """A run: the nets that play, the fits under way, and the nets of each point of the curve."""

    method = METHOD

    def __init__(
        self, run: Run, config: BestResponseConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        self.config = config
        self.actors = BestResponseActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, self.actors)
        self.playing: list[Weights] = self.actors.learner_weights()
        self.trained = list(range(len(self.playing)))  # responses that are still trained
        self.games = self.samples = 0
        self.efforts = [Effort() for _ in self.playing]  # of each response
        self.curve: list[list[float]] = []  # games, seconds, mean of both seats' values of the best response
        self.candidates: list[Candidate] = []
        self._chunk = [FIRST_GAMES, FIRST_GAMES]  # games of a chunk in each seat
        self._next_look = 1
        self._version = 0
        self._game_s = 0.0  # CPU seconds of a measured game
        self._fitting: dict[int, list[tuple[Ref, Ref]]] = {}  # a fit for each epoch
        self._fitted: tuple[Row, dict[int, Weights]] | None = None

    def learn(self) -> None:
        """For t = 1, 2, ..., until the budget is spent: each response plays against the frozen agent, in each seat; the
        fits of t - 1 are waited for, and their nets are published; the decisions of the responses replace those of
        t - 1 in the buffers, and fits t begin. At growing intervals the responses are measured, a point of the curve;
        after shares of the budget the better half of them continues, see `halve`."""
        for t, row in self.iterations():
            if t >= self._next_look:
                self._next_look = math.ceil(max(t + 2, STRETCH * t))
                row |= self.look(t)
                self.halve()
            with timed(row, "play"):
                blocks = self.play(t, row)
            self.finish_fits()
            self.publish(row)
            self.fill_buffers(t, blocks)
            self.start_fits(t)

    def play(self, t: int, row: Row) -> Blocks:
        """The games of an iteration, no more than the budget leaves."""
        self.progress.phase("games")
        started = perf_counter()
        weights = {member: self.actors.runtime.put(self._weights(member)) for member in self.trained}
        tasks = self._tasks(t)
        blocks: Blocks = []
        samples, games = [0.0, 0.0], [0.0, 0.0]
        calls = [(task, weights[task.seed[4]]) for task in tasks]
        for (task, _), stats, block in self.actors.workers.run(TrajectoryPlayer.play, calls):
            blocks.append((task.seed[4], task, block))
            seat = task.tables[0][1].index(LEARNER)
            self.actors.cpu += stats["cpu"]
            self.efforts[task.seed[4]].add(int(stats["samples"]), stats["cpu"])
            samples[seat] += stats["samples"]
            games[seat] += stats["games"]
        for seat in PLAYERS:
            if samples[seat]:
                self._chunk[seat] = min(
                    max(round(self.config.chunk * games[seat] / samples[seat]), 1), MOST_CHUNK_GAMES
                )
        self.games += int(sum(games))
        self.samples += int(sum(samples))
        row |= {"games": self.games, "samples/responses": self.samples, "responses": len(self.trained)}
        row["play/games_per_second"] = sum(games) / (perf_counter() - started)
        return blocks

    def _tasks(self, t: int) -> list[TrajectoryTask]:
        config = self.config
        left = math.inf if config.games is None else config.games - self.games
        each = 2 * max(config.rows // config.chunk // 2, 1)
        chunks = each * len(self.trained)
        tasks: list[TrajectoryTask] = []
        for number in range(chunks):
            seat, member = number % 2, self.trained[number // each]
            share = (left - sum(task.games for task in tasks)) / (chunks - number)
            games = self._chunk[seat] if math.isinf(share) else min(self._chunk[seat], math.ceil(share))
            parties = (LEARNER, FROZEN) if seat == 0 else (FROZEN, LEARNER)
            if games > 0:
                tasks.append(TrajectoryTask((config.seed, TRAINING, t, number, member), ((games, parties),)))
        return tasks

    def finish_fits(self) -> None:
        """Waits for the fits that are under way."""
        if not self._fitting:
            return
        self.progress.phase("training")
        results = {member: [self.get(list(fit)) for fit in fits] for member, fits in self._fitting.items()}
        self._fitting = {}
        metrics = [found for epochs in results.values() for found, _ in epochs]
        self.actors.cpu += sum(found["cpu"] for found in metrics)
        for member, epochs in results.items():
            self.efforts[member].add(0, sum(found["cpu"] for found, _ in epochs))
        means = {key: sum(found[key] for found in metrics) / len(metrics) for key in metrics[0]}
        row = {f"learner/{key}": means[key] for key in ("entropy", "explained", "clipped", "rows_per_second")}
        row |= {"loss/policy": means["loss"], "time/fit_s": sum(found["seconds"] for found in metrics)}
        self._fitted = row, {member: epochs[-1][1] for member, epochs in results.items()}

    def publish(self, row: Row) -> None:
        """Lets the newest nets play from now on."""
        if self._fitted is not None:
            metrics, nets = self._fitted
            self._fitted = None
            row |= metrics
            for member, net in nets.items():
                self.playing[member] = net

    def fill_buffers(self, t: int, blocks: Blocks) -> None:
        """Replaces the contents of the buffers by the samples of this iteration."""
        buffers = self.actors.buffers
        self.get([buffers[member].call(BufferServer.clear) for member in self.trained])
        self.get(
            [
                buffers[member].call(BufferServer.add, (t, task.seed[3]), block, task.seed)
                for member, task, block in blocks
            ]
        )

    def start_fits(self, t: int) -> None:
        """Starts the fits of the responses, one for each epoch; they are waited for after the next games."""
        done = min(max(self.spent(), self.config.part_done(t - 1, self.samples, self.elapsed())), 1.0)
        for member in self.trained:
            buffer = self.actors.buffers[member]
            self._fitting[member] = []
            for epoch in range(self.config.training.epochs):
                own = (t, member, epoch) if epoch else (t, member)  # responses of one epoch stay the same
                seed = (self.config.seed, *own, Stream.FIT)
                fit = self.actors.learner.call_pair(LearnerServer.fit, member, t, buffer, seed, done)
                self._fitting[member].append(fit)

    def look(self, t: int) -> Row:
        """A point of the curve: mean returns of the responses in each seat."""
        self.progress.phase("measuring")
        games, began = max(self.config.eval_games // FEWER // 2, 1), self.clock()
        means = []
        for member in self.trained:
            net, version = policy_alone(self.playing[member]), self._next_version()
            network = self.actors.networks[member]
            weights = TrajectoryWeights(version, network, (net,), threshold=THRESHOLDS[0])
            found = self.actors.measure(weights, (self.config.seed, LOOK, t, member), games, PLAYERS)
            values = [float(each.mean()) for each in found]
            about = {"games": self.games, "network": network.model_dump(mode="json"), "value": sum(values) / 2}
            self.run.save_strategy(member, t, net, about)
            effort = replace(self.efforts[member])
            self.candidates.append(Candidate(member, t, self.games, effort, (values[0], values[1]), net))
            means.append(sum(values) / 2)
        self._game_s = (self.clock() - began) / (games * len(PLAYERS) * len(means))
        newest = self.candidates[-len(means) :]
        best = newest[int(np.argmax(means))]
        self.curve.append([self.games, self.elapsed(), max(means)])
        others = [
            f"{self.config.starts[each.member]} {each.value:+.3f}" for each in newest if each.member != best.member
        ]
        self.progress.result(
            f"{self.games:,} games, {self.elapsed():.0f} s: {max(means):+.3f} a game "
            f"({best.values[0]:+.3f} moving first, {best.values[1]:+.3f} second), "
            f"from {self.config.starts[best.member]}" + (f"; {', '.join(others)}" if others else "")
        )
        by_start = {f"response/start{each.member}": each.value for each in newest}
        return by_start | {
            "response/value": max(means),
            "response/value_first": best.values[0],
            "response/value_second": best.values[1],
        }

    def halve(self) -> None:
        """Continues with the better half of the responses, once for each share of the budget that is spent, and with
        the best fresh one besides until it has had `fair` decisions."""
        passed = sum(self.spent() >= share for share in self.config.halve)
        newest = {each.member: each.value for each in self.candidates}  # later ones replace earlier ones
        efforts = [each.decisions for each in self.efforts]
        self.trained = survivors(self.config, self.trained, newest, efforts, passed)

    def spent(self) -> float:
        """Share of the budget that is spent."""
        config = self.config
        shares = [
            0.0 if config.minutes is None else self.elapsed() / (60 * config.minutes),
            0.0 if config.games is None else self.games / config.games,
        ]
        return max(shares)

    def finish(self) -> Row:
        """Chooses a response for each seat among the best of the curve, measures it by fresh games, and the known
        agents, too: the best of noisy measurements would be too high. Writes result and nets into the run's folder.

        Returns:
            The keys of `dancfr exploit --json`.
        """
        result, began = super().finish(), self.clock()
        self._doing = "the final measurement"
        if self._fitted is not None:
            for member, net in self._fitted[1].items():
                self.playing[member] = net
        counts = len(self.candidates), len(self.curve)
        self.look(self.iteration + 1)  # dropped below: a resumed run measures its own points
        self.progress.result("choosing among the best nets of the curve, then measuring by fresh games")
        config, most = self.config, self.actors.game.spec.max_return
        chosen = [self.choose(seat, max(config.eval_games // 8, 1)) for seat in PLAYERS]
        returns = [
            self.actors.measure(
                self._playing(candidate, threshold), (config.seed, FINAL, seat), config.eval_games // 2, [seat]
            )[0]
            for seat, (candidate, threshold) in enumerate(chosen)
        ]
        known = [KnownAgent(name, self._measure_known(number)) for number, name in enumerate(config.known)]
        result |= describe(config, self.games, self.samples, self.curve, self.candidates, chosen)
        result |= bounds(returns, most, known)
        result["cpu_seconds"] = self.seconds + self.clock() - began
        store_response(self.run.path, result, [(self.actors.networks[c.member], c.net, th) for c, th in chosen])
        del self.candidates[counts[0] :], self.curve[counts[1] :]  # a resumed run measures them again
        return result

    def _measure_known(self, number: int) -> list[Any]:
        """Returns of a known agent in each seat, ``float32[games]``."""
        config = self.config
        anything = self._weights(self.trained[0])  # the agents bring their own
        seed = (config.seed, FINAL, 2 + number)
        return self.actors.measure(anything, seed, config.eval_games // 2, PLAYERS, FROZEN + 1 + number)

    def choose(self, seat: int, games: int) -> tuple[Candidate, float]:
        """The candidate and the threshold that do best in a seat, on games used neither for the curve nor for the
        final result."""
        ranked = sorted(self.candidates, key=lambda each: each.values[seat], reverse=True)[:FINALS]
        choices = [(each, threshold) for each in ranked for threshold in THRESHOLDS]
        means = [
            float(self.actors.measure(self._playing(*each), (self.config.seed, FINALISTS, 0), games, [seat])[0].mean())
            for each in choices
        ]
        return choices[int(np.argmax(means))]

    def _playing(self, candidate: Candidate, threshold: float) -> TrajectoryWeights:
        network = self.actors.networks[candidate.member]
        return TrajectoryWeights(self._next_version(), network, (candidate.net,), threshold=threshold)

    def _weights(self, member: int) -> TrajectoryWeights:
        return TrajectoryWeights(self._next_version(), self.actors.networks[member], (self.playing[member],))

    def _next_version(self) -> int:
        """A number by which workers tell nets apart."""
        self._version += 1
        return self._version

    def clock(self) -> float:
        """CPU seconds of this process, and of workers and learner where they are other processes."""
        return process_time() + (self.actors.cpu if self.actors.runtime.processes else 0.0)

    def done(self) -> bool:
        """Whether a budget is spent, but for the final measurement."""
        config = self.config
        if config.minutes is not None and self.seconds + self._finish_s() >= 60 * config.minutes and self.ready():
            return True
        return super().done() or (config.games is not None and self.games >= config.games)

    def _finish_s(self) -> float:
        """CPU seconds that the final measurement will take, estimated from the points of the curve, and at most half
        of the budget."""
        config = self.config
        choices = FINALS * len(THRESHOLDS) * len(PLAYERS) / 8
        games = config.eval_games * (len(self.trained) / FEWER + choices + 1 + len(config.known))
        return min(self._game_s * games, 30 * (config.minutes or 0))

    def ready(self) -> bool:
        return self.iteration > 0

    def warm_up(self) -> None:
        """Plays one game in each seat."""
        tables = (((1, (LEARNER, FROZEN)),), ((1, (FROZEN, LEARNER)),))
        weights = self._weights(0)
        tasks = [
            (TrajectoryTask((self.config.seed, 0, 0, seat, 0), table), weights) for seat, table in enumerate(tables)
        ]
        self.compile_in_workers(TrajectoryPlayer.play, tasks)

    def settle(self) -> None:
        self.finish_fits()

    def state(self, folder: Path) -> Row:
        arrays = {f"{member}.{name}": array for member, net in enumerate(self.playing) for name, array in net.items()}
        if self._fitted is not None:
            nets = self._fitted[1].items()
            arrays |= {f"next.{member}.{name}": array for member, net in nets for name, array in net.items()}
        save_state(folder / "playing.safetensors", arrays, {})
        return {
            "games": self.games,
            "samples": self.samples,
            "efforts": [[each.decisions, each.seconds] for each in self.efforts],
            "trained": self.trained,
            "chunk": self._chunk,
            "next_look": self._next_look,
            "game_s": self._game_s,
            "curve": self.curve,
            "fitted": None if self._fitted is None else [self._fitted[0], sorted(self._fitted[1])],
            "candidates": [
                [each.member, each.iteration, each.games, list(each.values), each.effort.decisions, each.effort.seconds]
                for each in self.candidates
            ],
        }

    def restore(self) -> None:
        """Resumes from the newest whole checkpoint.

        Raises:
            UsageError: the checkpoints are gone, or none is whole, or a stored net is missing.
            ForeignState: the checkpoint is of other networks.
        """
        saved = self.load_newest()
        if saved is None:
            return
        state, folder = saved
        with reading(folder):
            self.games, self.samples = int(state["games"]), int(state["samples"])
            self.trained = [int(member) for member in state["trained"]]
            self._chunk, self._next_look = [int(n) for n in state["chunk"]], int(state["next_look"])
            self._game_s = float(state.get("game_s", 0.0))  # absent before version 0.4
            self.curve = [[int(games), float(seconds), float(value)] for games, seconds, value in state["curve"]]
            fitted = state["fitted"]
            known = [(int(m), int(t), int(g), (float(v[0]), float(v[1]))) for m, t, g, v, *_ in state["candidates"]]
            self.efforts, efforts = read_efforts(state, len(self.playing))
        arrays, _ = load_state(folder / "playing.safetensors")
        self.playing = [arrays_under(arrays, str(member)) for member in range(len(self.playing))]
        if fitted is not None:
            self._fitted = fitted[0], {int(member): arrays_under(arrays, f"next.{member}") for member in fitted[1]}
        self.candidates = [
            Candidate(member, t, games, effort, values, self.run.load_strategy(member, t)[0])
            for (member, t, games, values), effort in zip(known, efforts, strict=True)
        ]

    def samples_offered(self) -> int:
        return self.samples


train = partial(run_to_end, BestResponse)
"""Trains a run to its end, see `dancfr.methods.recovery.run_to_end`."""
