"""The driver of a trained best response: what it wins is a lower bound of a frozen agent's exploitability.

Games of iteration t are played by the nets of fit t - 2 while fit t - 1 runs, as in Deep Monte-Carlo: a budget of games
gives the same nets with any number of workers.
"""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.best_response import ResponseTask, ResponseWeights
from actors.remote import Ref
from dancfr.methods.best_response import METHOD
from dancfr.methods.best_response.actors import PLAYERS, BestResponseActors
from dancfr.methods.best_response.agent import Nets, store_response
from dancfr.methods.best_response.config import BestResponseConfig
from dancfr.methods.best_response.result import SEATS, Candidate, bounds, describe
from dancfr.methods.loop import Loop, Row, reading, timed
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.streams import Stream
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from learners.storage import load_state, save_state

TRAINING, LOOK, FINALISTS, FINAL = 1, 2, 3, 4
"""Purposes of games, the second word of their seeds."""

FIRST_GAMES, MOST_GAMES = 64, 4096
"""Games of a chunk before their length is known, and at most."""

STRETCH = 1.2
"""At each point of the curve there have been this many times as many iterations as at the one before."""

FINALS = 3
"""Nets of a seat that play again before one is chosen."""

FEWER = 5
"""A point of the curve takes this many times fewer games than the result."""

Blocks = list[tuple[ResponseTask, Ref]]
"""Chunks and their samples."""


def train(run: Run, config: BestResponseConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a best response to its end; see `dancfr.methods.recovery.run_to_end`.

    Returns:
        Also what `BestResponse.finish` says.
    """
    return run_to_end(partial(BestResponse, run, config, tracker), METHOD, run, config, tracker, options)


class BestResponse(Loop):
    """A run: the nets that play, the fits under way, and the nets of each point of the curve."""

    method = METHOD

    def __init__(
        self, run: Run, config: BestResponseConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        self.config = config
        self.actors = BestResponseActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, self.actors)
        self.playing: Nets = self.actors.newest_nets()
        self.games = self.samples = 0
        self.curve: list[list[float]] = []  # games, seconds, mean of both seats' values
        self.candidates: tuple[list[Candidate], ...] = ([], [])  # by seat
        self._chunk = [FIRST_GAMES, FIRST_GAMES]  # games of a chunk in each seat
        self._next_look = 2
        self._version = 0
        self._fitting: list[tuple[Ref, Ref]] = []
        self._fitted: tuple[Row, Nets] | None = None

    def learn(self) -> None:
        """For t = 1, 2, ..., until the budget is spent: in each seat, games of the responder, epsilon-greedy by its
        net, against the frozen agent; fit t - 1 is waited for, and its nets are published; what came of the responder's
        decisions goes to a circular buffer, to which its net is fitted. At growing intervals the nets play greedily:
        a point of the curve."""
        for t, row in self.iterations():
            with timed(row, "play"):
                blocks = self.play(t, row)
            self.finish_fits()
            self.publish(row)
            self.add_to_buffers(t, blocks)
            self.start_fits(t)
            if t >= self._next_look:
                self._next_look = math.ceil(max(t + 1, STRETCH * t))
                row |= self.look(t, self.playing, store=True)

    def play(self, t: int, row: Row) -> Blocks:
        """The games of an iteration, no more than the budget leaves."""
        self.progress.phase("games")
        config, started = self.config, perf_counter()
        weights = self.actors.runtime.put(self._weights(self.playing))
        tasks = [(task, weights) for task in self._tasks(t)]
        blocks: Blocks = []
        samples, games = [0.0, 0.0], [0.0, 0.0]
        for (task, _), stats, block in self.actors.workers.run("play", tasks):
            blocks.append((task, block))
            samples[task.seat] += stats["samples"]
            games[task.seat] += stats["games"]
        for seat in PLAYERS:
            if samples[seat]:
                self._chunk[seat] = min(max(round(config.chunk * games[seat] / samples[seat]), 1), MOST_GAMES)
        self.games += int(sum(games))
        self.samples += int(sum(samples))
        row |= {"games": self.games, "samples/responses": self.samples}
        row["play/games_per_second"] = sum(games) / (perf_counter() - started)
        return blocks

    def _tasks(self, t: int) -> list[ResponseTask]:
        config = self.config
        left = math.inf if config.games is None else config.games - self.games
        chunks = 2 * max(config.rows // config.chunk, 1)
        tasks: list[ResponseTask] = []
        for number in range(chunks):
            seat = number % 2
            share = (left - sum(task.games for task in tasks)) / (chunks - number)
            games = self._chunk[seat] if math.isinf(share) else min(self._chunk[seat], math.ceil(share))
            if games > 0:
                tasks.append(ResponseTask((config.seed, TRAINING, t, number), seat, games, t > config.warm_up))
        return tasks

    def finish_fits(self) -> None:
        """Waits for the fits that are under way."""
        if self._fitting:
            self.progress.phase("training")
            results = [self.get(list(fit)) for fit in self._fitting]
            self._fitting = []
            metrics = [found for found, _ in results]
            row = {
                "loss/value": sum(found["loss"] for found in metrics) / len(metrics),
                "time/fit_s": sum(found["seconds"] for found in metrics),
                "learner/rows_per_second": sum(found["rows_per_second"] for found in metrics) / len(metrics),
            }
            self._fitted = row, tuple(weights for _, weights in results)

    def publish(self, row: Row) -> None:
        """The newest nets play from now on."""
        if self._fitted is not None:
            metrics, self.playing = self._fitted
            self._fitted = None
            row |= metrics

    def add_to_buffers(self, t: int, blocks: Blocks) -> None:
        """Gives the samples to the buffers."""
        buffers = self.actors.buffers
        self.get([buffers[task.seat].call("add", (t, task.seed[3]), block, task.seed) for task, block in blocks])

    def start_fits(self, t: int) -> None:
        """Starts the fits of both nets; they are waited for after the next games."""
        self._fitting = [
            self.actors.learner.call(
                "fit", player, t, self.actors.buffers[player], (self.config.seed, t, player, Stream.FIT), returns=2
            )
            for player in PLAYERS
        ]

    def look(self, t: int, nets: Nets, store: bool) -> Row:
        """A point of the curve: mean returns of the nets in each seat. Its time is no training time."""
        self.progress.phase("measuring")
        started = perf_counter()
        values = [float(found.mean()) for found in self.measure(nets, LOOK, t, self.config.eval_games // FEWER // 2)]
        self._untimed += perf_counter() - started
        for seat in PLAYERS:
            self.candidates[seat].append(Candidate(self.games, values[seat], t, nets[seat]))
            if store:
                self.run.save_strategy(seat, t, nets[seat], {"games": self.games, "value": values[seat]})
        mean = sum(values) / 2
        self.curve.append([self.games, self.elapsed(), mean])
        self.progress.event(
            f"{self.games:,} games, {self.elapsed():.0f} s: {mean:+.3f} a game "
            f"({values[0]:+.3f} moving first, {values[1]:+.3f} second)"
        )
        return {"response/value": mean, **{f"response/value_{n}": v for n, v in zip(SEATS, values, strict=True)}}

    def measure(
        self, nets: Nets, purpose: int, number: int, games: int, seats: Sequence[int] = PLAYERS
    ) -> list[NDArray[np.float32]]:
        """Returns of greedy play in games of no other use.

        Args:
            nets: Of each player.
            purpose: Second word of the games' seeds.
            number: Third word of the games' seeds.
            games: Games in each seat.
            seats: Seats that are measured.

        Returns:
            ``float32[games]`` for each of the seats.
        """
        weights = self.actors.runtime.put(self._weights(nets))
        return self.actors.measure(weights, (self.config.seed, purpose, number), games, seats)

    def _weights(self, nets: Nets) -> ResponseWeights:
        """The nets under a number of their own, by which workers know them again."""
        self._version += 1
        return ResponseWeights(self._version, tuple(nets))

    def finish(self) -> Row:
        """Chooses a net for each seat among the best of the curve, and measures both by fresh games: the best of noisy
        measurements would be too high. Writes result and nets into the run's folder.

        Returns:
            The keys of `dancfr exploit --json`.
        """
        result = super().finish()
        nets = self.playing if self._fitted is None else self._fitted[1]
        self.look(self.iteration, nets, store=False)
        self.progress.event("choosing among the best nets of the curve, then measuring by fresh games")
        config = self.config
        chosen = [self.choose(seat, config.eval_games // 4) for seat in PLAYERS]
        returns = self.measure([each.net for each in chosen], FINAL, 0, config.eval_games // 2)
        result |= describe(config, self.games, self.curve, self.candidates, chosen)
        result |= bounds(returns, self.actors.game.spec.max_return)
        store_response(self.run.path, result, config.network, [each.net for each in chosen])
        for seat in PLAYERS:
            self.candidates[seat].pop()  # a run that goes on makes its own
        self.curve.pop()
        return result

    def choose(self, seat: int, games: int) -> Candidate:
        """The net of a seat that does best in games which are neither those of the curve nor those of the result."""
        ranked = sorted(self.candidates[seat], key=lambda each: each.value, reverse=True)[:FINALS]
        if len(ranked) == 1:
            return ranked[0]
        means = [float(self.measure([each.net] * 2, FINALISTS, 0, games, [seat])[0].mean()) for each in ranked]
        return ranked[int(np.argmax(means))]

    def done(self) -> bool:
        return super().done() or (self.config.games is not None and self.games >= self.config.games)

    def ready(self) -> bool:
        return self.iteration > 0

    def warm_up(self) -> None:
        """Plays one game in each seat."""
        tasks = [
            (ResponseTask((self.config.seed, 0, 0, seat), seat, 1), ResponseWeights(0, tuple(self.playing)))
            for seat in PLAYERS
        ]
        self.compile_in_workers("play", tasks)

    def settle(self) -> None:
        self.finish_fits()

    def state(self, folder: Path) -> Row:
        arrays = {f"{player}.{name}": array for player, net in enumerate(self.playing) for name, array in net.items()}
        save_state(folder / "playing.safetensors", arrays, {})
        return {
            "games": self.games,
            "samples": self.samples,
            "chunk": self._chunk,
            "next_look": self._next_look,
            "curve": self.curve,
            "fitted": None if self._fitted is None else self._fitted[0],
            "candidates": [[[each.games, each.value, each.iteration] for each in seat] for seat in self.candidates],
        }

    def restore(self) -> None:
        """Goes on from the newest whole checkpoint.

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
            self._chunk, self._next_look = [int(n) for n in state["chunk"]], int(state["next_look"])
            self.curve = [[float(x) for x in point] for point in state["curve"]]
            fitted = state["fitted"]
            known = [[(int(g), float(v), int(t)) for g, v, t in seat] for seat in state["candidates"]]
        arrays, _ = load_state(folder / "playing.safetensors")
        self.playing = tuple(
            {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{player}.")}
            for player in PLAYERS
        )
        if fitted is not None:
            self._fitted = fitted, self.actors.newest_nets()
        self.candidates = tuple(
            [Candidate(games, value, t, self.run.load_strategy(seat, t)[0]) for games, value, t in found]
            for seat, found in enumerate(known)
        )

    def samples_offered(self) -> int:
        return self.samples
