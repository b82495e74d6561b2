"""The learner server: trains one network per player on rows that it draws from buffer actors.

It requests the next block of rows before it trains on the current one, so that the buffer works while it trains.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from actors.buffer import BufferServer
from actors.remote import Handle, Ref, fetch
from learners.devices import be_deterministic, choose_device
from learners.networks.settings import Weights
from learners.settings import Fitting
from learners.shares import Share
from learners.storage import ForeignState, arrays_under, load_state, save_state
from learners.training import Trainer

BLOCK_BATCHES = 16
"""Minibatches per request to a buffer: some megabytes, so that the overhead of a request is small."""

State = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""State of a learner: arrays, and metadata that JSON can represent."""


class Learner(Protocol):
    """The learner of one player, for any method. `learners.training.NetLearner` is a base class for it.

    Attributes:
        trainer: The network with its optimiser and settings.
        whole_buffer: If true, a fit receives each row of the buffer once, and the learner forms its own minibatches.
    """

    trainer: Trainer
    whole_buffer: bool

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of rows. Returns metrics, which include ``loss`` and ``rows``."""
        ...

    def weights(self) -> Weights:
        """The current weights for inference."""
        ...

    def state_arrays(self) -> State:
        """The state from which `load_state_arrays` continues the training exactly."""
        ...

    def load_state_arrays(self, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
        """Restores a state from `state_arrays`. Raises ForeignState if the state belongs to another learner."""
        ...


class LearnerServer:
    """One learner per player, all of the same class, in one process.

    Args:
        kind: Class of the learners.
        players: Constructor arguments of each player's learner, without `device`.
        device: ``cpu``, ``cuda`` or ``auto``.
        threads: Number of torch's CPU threads.
        deterministic: Use deterministic algorithms only, see `learners.devices.be_deterministic`.
    """

    def __init__(
        self,
        kind: Callable[..., Learner],
        players: Mapping[int, Mapping[str, Any]],
        device: str,
        threads: int = 1,
        deterministic: bool = False,
    ) -> None:
        torch.set_num_threads(threads)
        if deterministic:
            be_deterministic()
        chosen = choose_device(device)
        self._learners = {player: kind(**arguments, device=chosen) for player, arguments in players.items()}

    def fit(
        self, player: int, iteration: int, buffer: Handle[BufferServer], seed: tuple[int, ...], done: float = 0.0
    ) -> tuple[dict[str, float], Weights]:
        """Runs one fit of a player's network on rows drawn from a buffer.

        Args:
            player: Player whose network is trained.
            iteration: Iteration number of the player, for instance the weight of linear CFR.
            buffer: Buffer that the rows are drawn from.
            seed: Seed of the draws.
            done: Part of the run that is done, see `Trainer.done`.

        Returns:
            The learner's metrics with ``seconds``, ``waited`` (seconds spent waiting for rows), ``cpu`` (CPU seconds of
            this process), ``rows_per_second`` (without the waiting) and ``steps``; and the weights for inference.
        """
        learner = self._learners[player]
        learner.trainer.done = done
        stopwatch, spent = _Stopwatch(), process_time()
        metrics = learner.fit(stopwatch.timed(self._draws(learner, buffer, seed)), iteration)
        seconds = stopwatch.elapsed()
        busy = max(seconds - stopwatch.waited, 1e-9)
        metrics |= {"seconds": seconds, "waited": stopwatch.waited, "rows_per_second": metrics["rows"] / busy}
        metrics["cpu"] = process_time() - spent
        metrics["steps"] = learner.trainer.steps
        return metrics, learner.weights()

    def _draws(
        self, learner: Learner, buffer: Handle[BufferServer], seed: tuple[int, ...]
    ) -> Iterator[NDArray[np.void]]:
        """The rows of one fit, in blocks."""
        return draws(buffer, seed, learner.trainer.settings, learner.whole_buffer)

    def weights(self, player: int) -> Weights:
        """The current weights of a player's network for inference."""
        return self._learners[player].weights()

    def state(self) -> State:
        """The networks and optimisers of all players."""
        arrays: dict[str, NDArray[Any]] = {}
        meta: dict[str, Any] = {}
        for player, learner in self._learners.items():
            own, meta[str(player)] = learner.state_arrays()
            arrays |= {f"{player}.{name}": array for name, array in own.items()}
        return arrays, meta

    def save(self, path: str, *others: State) -> None:
        """Writes the networks and optimisers of all players to a file, and those of other servers behind them."""
        arrays, meta = self.state()
        for more, about in others:
            arrays |= more
            meta |= about
        save_state(path, arrays, meta)

    def load(self, path: str, players: Collection[int] = ()) -> None:
        """Restores the networks and optimisers from a file that `save` has written.

        Args:
            path: The file.
            players: Players of the file; by default those of this server.

        Raises:
            DamagedFile: The file is damaged.
            ForeignState: The file belongs to other players or other networks.
        """
        arrays, meta = load_state(path)
        players = players or self._learners
        if meta.keys() != set(map(str, players)):
            expected = ", ".join(map(str, players))
            raise ForeignState(f"{path} has learners of players {', '.join(meta)}, expected players {expected}")
        for player, learner in self._learners.items():
            try:
                learner.load_state_arrays(arrays_under(arrays, str(player)), meta[str(player)])
            except ForeignState as error:
                raise ForeignState(f"{path}: {error}") from None

    def after(self, *done: None) -> None:
        """Returns None; called with refs, its result is ready when all of them are."""


def draws(
    buffer: Handle[BufferServer],
    seed: tuple[int, ...],
    settings: Fitting,
    whole: bool = False,
    share: Share | None = None,
) -> Iterator[NDArray[np.void]]:
    """Draws the rows of one fit from a buffer, in blocks.

    Args:
        buffer: Buffer to draw from.
        seed: Seed of the draws.
        settings: Their `batch` and `minibatches` determine the number of rows; without `minibatches`, the fit is one
            epoch over the buffer in random order.
        whole: Draw an epoch whatever `minibatches` is.
        share: Restricts each minibatch to the rows of one of several learners.
    """
    rows, epoch = rows_of_fit(buffer, settings, whole), whole or settings.minibatches is None
    step = BLOCK_BATCHES * settings.batch

    def request(start: int) -> Ref | None:
        if start >= rows:
            return None
        return buffer.call(BufferServer.draw, seed, start, min(step, rows - start), epoch, share)

    ahead = request(0)
    for start in range(step, rows + step, step):
        block = fetch(ahead)
        ahead = request(start)
        yield block


def rows_of_fit(buffer: Handle[BufferServer], settings: Fitting, whole: bool = False) -> int:
    """Number of rows that one fit draws, 0 from an empty buffer; arguments as for `draws`."""
    held = int(fetch(buffer.call(BufferServer.stats))["rows"])
    if whole or settings.minibatches is None or held == 0:  # a player may have had no decision so far
        return held
    return settings.minibatches * settings.batch


class _Stopwatch:
    """Measures the duration of a fit and how much of it was spent waiting for rows, in seconds."""

    def __init__(self) -> None:
        self._start = perf_counter()
        self.waited = 0.0

    def elapsed(self) -> float:
        return perf_counter() - self._start

    def timed(self, blocks: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
        while True:
            start = perf_counter()
            block = next(blocks, None)
            self.waited += perf_counter() - start
            if block is None:
                return
            yield block
