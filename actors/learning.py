"""Learners as servers: they pull minibatches from buffer servers, one request ahead of the training."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from actors.remote import Halted, Handle, Ref, fetch
from learners.networks.settings import Weights
from learners.settings import Fitting
from learners.shares import Share
from learners.storage import ForeignState, load_state, save_state
from learners.training import Trainer, choose_device

BLOCK_BATCHES = 16
"""Minibatches a request to a buffer server: some megabytes, so that a request costs little beside its data."""

State = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""What `Learner.state_arrays` returns: arrays, and plain values."""


class Learner(Protocol):
    """One player's learner, of any method. `learners.training.NetLearner` is a base class for it.

    Attributes:
        trainer: Its network with its optimiser and settings.
        whole_buffer: Whether a fit is given every row of the buffer once, and makes its minibatches itself.
    """

    trainer: Trainer
    whole_buffer: bool

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of rows. Returns metrics, among them ``loss`` and ``rows``."""
        ...

    def weights(self) -> Weights:
        """Weights for playing."""
        ...

    def state_arrays(self) -> State:
        """Everything that `load_state_arrays` needs to go on exactly."""
        ...

    def load_state_arrays(self, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
        """Goes on from what `state_arrays` returned. Raises ForeignState if it is of another learner."""
        ...


class LearnerServer:
    """The learners of one kind, one a player, in one process.

    Args:
        kind: Class of the learners.
        players: Arguments of each player's learner, without `device`.
        device: ``cpu``, ``cuda`` or ``auto``.
        threads: Threads of torch on the CPU.
    """

    def __init__(
        self, kind: Callable[..., Learner], players: Mapping[int, Mapping[str, Any]], device: str, threads: int = 1
    ) -> None:
        torch.set_num_threads(threads)
        where = choose_device(device)
        self._learners = {player: kind(**arguments, device=where) for player, arguments in players.items()}
        self._before: dict[int, tuple[int, State]] = {}  # iteration of each player's last fit, and the state before it
        self._halted: Callable[[], bool] = lambda: False
        for learner in self._learners.values():
            learner.trainer.heed = self._heed

    def fit(
        self, player: int, iteration: int, buffer: Handle, seed: tuple[int, ...]
    ) -> tuple[dict[str, float], Weights]:
        """One fit of a player's net on draws from `buffer`.

        Args:
            player: Whose net.
            iteration: t of the player, the weight of linear CFR for instance.
            buffer: What to draw from.
            seed: Of the draws. Its second number is the iteration of the run.

        Returns:
            Metrics of the learner with ``rows_per_second``, and the weights for playing.

        Raises:
            Halted: `halt` was called; the learner is as it was before the fit.
        """
        self._heed()
        learner = self._learners[player]
        watch = _Watch()
        self._before[player] = seed[1], learner.state_arrays()
        try:
            metrics = learner.fit(watch.waiting(self._draws(learner, buffer, seed)), iteration)
        except Halted:
            learner.load_state_arrays(*self._before[player][1])
            raise
        busy = max(watch.elapsed() - watch.waited, 1e-9)
        metrics |= {"seconds": watch.elapsed(), "waited": watch.waited, "rows_per_second": metrics["rows"] / busy}
        metrics["steps"] = learner.trainer.steps
        return metrics, learner.weights()

    def _draws(self, learner: Learner, buffer: Handle, seed: tuple[int, ...]) -> Iterator[NDArray[np.void]]:
        """The rows of one fit, block by block."""
        return draws(buffer, seed, learner.trainer.settings, learner.whole_buffer)

    def weights(self, player: int) -> Weights:
        """Weights for playing as they are now."""
        return self._learners[player].weights()

    def halt(self) -> None:
        """Ends the fit under way between two minibatches, and refuses others. May be called from another thread."""
        self._halted = lambda: True

    def halt_when(self, halted: Callable[[], bool]) -> None:
        """Asks `halted` before each minibatch: for a server that nobody can call while it fits."""
        self._halted = halted

    def _heed(self) -> None:
        if self._halted():
            raise Halted("the fit was left")

    def save(self, path: str, after: int | None = None) -> None:
        """Writes nets and optimisers to a file.

        Args:
            path: Of the file.
            after: Iteration of the run whose state is wanted: of a net that has been fitted in a later one since, the
                state before that fit is written. None: as they are.
        """
        arrays: dict[str, NDArray] = {}
        meta: dict[str, Any] = {}
        for player, learner in self._learners.items():
            fitted, before = self._before.get(player, (-1, None))
            later = after is not None and fitted > after
            own, meta[str(player)] = before if later and before else learner.state_arrays()
            arrays |= {f"{player}.{name}": array for name, array in own.items()}
        save_state(path, arrays, meta)

    def load(self, path: str) -> None:
        """Reverse of `save`.

        Raises:
            DamagedFile: the file is not whole.
            ForeignState: it is of other nets.
        """
        arrays, meta = load_state(path)
        if meta.keys() != {str(player) for player in self._learners}:
            raise ForeignState(
                f"{path} is of the players {', '.join(meta)}, not of {', '.join(map(str, self._learners))}"
            )
        for player, learner in self._learners.items():
            prefix = f"{player}."
            own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            try:
                learner.load_state_arrays(own, meta[str(player)])
            except ForeignState as error:
                raise ForeignState(f"{path}: {error}") from None


def draws(
    buffer: Handle, seed: tuple[int, ...], settings: Fitting, whole: bool = False, share: Share | None = None
) -> Iterator[NDArray[np.void]]:
    """Blocks of rows for one fit: `minibatches` of them, or one epoch over the whole buffer in a random order; with a
    share, only what it says of each minibatch."""
    rows, epoch = rows_of_fit(buffer, settings, whole), whole or settings.minibatches is None
    step = BLOCK_BATCHES * settings.batch

    def request(start: int) -> Ref | None:
        if start >= rows:
            return None
        return buffer.call("draw", seed, start, min(step, rows - start), epoch, share)

    ahead = request(0)
    for start in range(step, rows + step, step):
        block = fetch(ahead)
        ahead = request(start)
        yield block


def rows_of_fit(buffer: Handle, settings: Fitting, whole: bool = False) -> int:
    """How many rows one fit draws."""
    if whole or settings.minibatches is None:
        return int(fetch(buffer.call("stats"))["rows"])
    return settings.minibatches * settings.batch


class _Watch:
    """Separates the time spent waiting for data from the time spent training."""

    def __init__(self) -> None:
        self._start = perf_counter()
        self.waited = 0.0

    def elapsed(self) -> float:
        return perf_counter() - self._start

    def waiting(self, blocks: Iterator[NDArray]) -> Iterator[NDArray]:
        while True:
            start = perf_counter()
            block = next(blocks, None)
            self.waited += perf_counter() - start
            if block is None:
                return
            yield block
