"""Who trains a best response: workers that play against the frozen agent, and for each seat a buffer and a net."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from actors.best_response import BadMove, NotZeroSum, Responder, ResponseTask, ResponseWeights
from actors.data_parallel import start_learner
from actors.pool import WorkerPool
from actors.remote import Ref
from actors.sharding import start_buffer
from dancfr.errors import RunError, UsageError, warn
from dancfr.methods.crew import Place, telling
from dancfr.methods.options import TrainOptions
from dancfr.methods.settings import Resources
from envs.agent import Agent
from envs.game import Game
from learners.best_response.learner import ResponseLearner
from learners.best_response.settings import ResponseSettings
from learners.buffers import CircularBuffer
from learners.networks.settings import Weights
from learners.samples import response_dtype

PLAYERS = (0, 1)
FIRST_GAMES = 64
"""Games of a chunk before it is known how long they are."""
MOST_CHUNK = 4096
MEASURED = 1024
"""Games of a chunk that only measures."""
TRAINING = 1
"""First purpose of games, the second word of their seeds."""

Nets = Sequence[Weights]
"""The weights of each player's net."""


class ResponseCrew:
    """The actors of a training. A context manager: its end is theirs.

    Args:
        game: Rules of two players.
        agent: The frozen agent; every worker gets a copy.
        settings: Of the training.
        seed: Of all that is random.
        options: Where the actors live.
    """

    def __init__(self, game: Game, agent: Agent, settings: ResponseSettings, seed: int, options: TrainOptions) -> None:
        self._settings, self._seed = settings, seed
        self._place = Place(options, Resources())
        try:
            self._start(game, agent)
        except BaseException:
            self._place.close()
            raise
        self._chunk = [FIRST_GAMES, FIRST_GAMES]  # games of a chunk in each seat
        self._version = 0
        self._fits: list[tuple[Ref, Ref]] = []
        learner: Any = self._learner
        self._playing = self._weights(self._runtime.get([learner.call("weights", player) for player in PLAYERS]))

    def _start(self, game: Game, agent: Agent) -> None:
        settings, place = self._settings, self._place
        runtime = self._runtime = place.runtime
        given = (game, settings.network, agent, settings.explore, settings.explore_least)
        self._pool = WorkerPool(
            runtime, Responder, given, on_event=telling(lambda event: warn(str(event))), **place.worker_options
        )
        net = {"game": game, "network": settings.network, "training": settings.training}
        kind: Any = ResponseLearner  # `actors.learning.Learner` lists the learners of runs
        self._learner = start_learner(
            runtime,
            kind,
            {player: {**net, "seed": 2 * self._seed + player} for player in PLAYERS},
            place.options.device,
            name="learner",
            **place.learner_options(1),
        )
        self._buffers = [
            start_buffer(
                runtime,
                CircularBuffer,
                settings.buffer,
                response_dtype(game.spec),
                "responses",
                name=f"buffer {player}",
                **place.buffer_options,
            )
            for player in PLAYERS
        ]
        runtime.get([handle.ready() for handle in (self._learner, *self._buffers)])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.stop()
        self._place.close()

    def _weights(self, nets: Nets) -> ResponseWeights:
        """The nets under a number of their own."""
        self._version += 1
        return ResponseWeights(self._version, tuple(nets))

    def play(self, t: int, cut: bool, most: float) -> tuple[int, list[tuple[ResponseTask, Ref]]]:
        """The games of iteration t by the newest nets that are there; at most `most` of them.

        Returns:
            How many they were, and their samples.
        """
        settings = self._settings
        each = max(settings.rows // settings.chunk, 1)
        tasks: list[ResponseTask] = []
        for n in range(2 * each):
            seat, left = n % 2, most - sum(task.games for task in tasks)
            share = left / (2 * each - n)  # endless where time alone is the budget
            games = self._chunk[seat] if math.isinf(share) else min(self._chunk[seat], math.ceil(share))
            if games > 0:
                tasks.append(ResponseTask((self._seed, TRAINING, t, n), seat, games, cut))
        weights = self._runtime.put(self._playing)
        blocks, samples, games_of = [], [0.0, 0.0], [0.0, 0.0]
        for (task, _), stats, block in self._pool.run("play", [(task, weights) for task in tasks]):
            blocks.append((task, block))
            samples[task.seat] += stats["samples"]
            games_of[task.seat] += stats["games"]
        for seat in PLAYERS:
            if samples[seat]:
                fitting = round(settings.chunk * games_of[seat] / samples[seat])
                self._chunk[seat] = min(max(fitting, 1), MOST_CHUNK)
        return int(sum(games_of)), blocks

    def store(self, blocks: list[tuple[ResponseTask, Ref]], t: int) -> None:
        """Gives the samples of an iteration to the buffers."""
        self._runtime.get(
            [self._buffers[task.seat].call("add", (t, task.seed[3]), block, task.seed) for task, block in blocks]
        )

    def begin_fits(self, t: int) -> None:
        """Starts the fits of both nets; nobody waits for them."""
        self._fits = [
            self._learner.call("fit", player, t, self._buffers[player], (self._seed, t, player), returns=2)
            for player in PLAYERS
        ]

    def finish_fits(self) -> Nets:
        """Waits for the fits that are under way; the nets play from now on."""
        if self._fits:
            self._playing = self._weights(self._runtime.get([weights for _, weights in self._fits]))
            self._fits = []
        return self._playing.nets

    def measure(
        self, nets: Nets, purpose: int, number: int, games: int, seats: Sequence[int] = PLAYERS
    ) -> list[NDArray[np.float32]]:
        """What greedy play by the nets brings in each of the seats, `float32[games]` each, in games of no other use.

        Args:
            nets: Of each player.
            purpose, number: Words of the games' seeds.
            games: In each seat.
            seats: Those that are measured.
        """
        weights = self._runtime.put(self._weights(nets))
        tasks: list[tuple[ResponseTask, Ref]] = []
        for seat in seats:
            starts = range(0, games, MEASURED)
            seeds = [(self._seed, purpose, number, 2 * n + seat) for n in range(len(starts))]
            tasks += [
                (ResponseTask(seed, seat, min(MEASURED, games - start)), weights)
                for seed, start in zip(seeds, starts, strict=True)
            ]
        found: tuple[list[Any], list[Any]] = [], []
        for (task, _), returns, _ in self._pool.run("measure", tasks):
            found[task.seat].append(returns)
        return [np.concatenate(found[seat]) for seat in seats]


@contextmanager
def one_line_errors() -> Iterator[None]:
    """What the lower floors raise for a person to act on, as what the command line prints in one line."""
    from actors.cluster import RayUnavailable
    from actors.pool import ChunkFailed, StartFailed
    from actors.runtime import BlockLost, RayLost, RemoteError, ResourcesMissing, WorkerDied
    from learners.training import TrainingDiverged

    try:
        yield
    except ResourcesMissing as error:
        raise UsageError(str(error)) from error
    except (ChunkFailed, StartFailed) as error:
        cause = error.__cause__
        if isinstance(cause, NotZeroSum):
            raise UsageError(f"{cause}: what a response wins says nothing of exploitability there") from error
        raise RunError(str(cause) if isinstance(cause, BadMove) else str(error)) from error
    except (RayUnavailable, RayLost, WorkerDied, BlockLost, RemoteError, TrainingDiverged) as error:
        raise RunError(str(error)) from error
    except MemoryError as error:
        raise RunError(f"not enough memory ({error}): lower buffer or network.width") from error
