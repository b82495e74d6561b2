"""Learners as servers: they pull minibatches from buffer servers, one request ahead of the training."""

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from actors.remote import Handle, Ref, fetch
from learners.dmc.learner import QLearner
from learners.dream.advantage import AdvantageLearner
from learners.dream.average_policy import AveragePolicyLearner
from learners.dream.baseline import BaselineLearner
from learners.networks.settings import Weights
from learners.settings import Fitting
from learners.storage import ForeignState, load_state, save_state
from learners.training import choose_device

BLOCK_BATCHES = 16
"""Minibatches a request to a buffer server: some megabytes, so that a request costs little beside its data."""

Learner = AdvantageLearner | AveragePolicyLearner | BaselineLearner | QLearner


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

    def fit(
        self, player: int, iteration: int, buffer: Handle, seed: tuple[int, ...]
    ) -> tuple[dict[str, float], Weights]:
        """One fit of a player's net on draws from `buffer`.

        Returns:
            Metrics of the learner with ``rows_per_second``, and the weights for playing.
        """
        learner = self._learners[player]
        settings = learner.trainer.settings
        watch = _Watch()
        blocks = watch.waiting(draws(buffer, seed, settings, learner.whole_buffer))
        metrics = learner.fit(blocks, iteration)
        busy = max(watch.elapsed() - watch.waited, 1e-9)
        metrics |= {"seconds": watch.elapsed(), "waited": watch.waited, "rows_per_second": metrics["rows"] / busy}
        return metrics, learner.weights()

    def weights(self, player: int) -> Weights:
        """Weights for playing as they are now."""
        return self._learners[player].weights()

    def save(self, path: str) -> None:
        """Writes nets and optimisers to a file."""
        arrays: dict[str, NDArray] = {}
        meta: dict[str, Any] = {}
        for player, learner in self._learners.items():
            own, meta[str(player)] = learner.state_arrays()
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


def draws(buffer: Handle, seed: tuple[int, ...], settings: Fitting, whole: bool = False) -> Iterator[NDArray[np.void]]:
    """Blocks of rows for one fit: `minibatches` of them, or one epoch over the whole buffer in a random order."""
    epoch = whole or settings.minibatches is None
    rows = fetch(buffer.call("stats"))["rows"] if epoch else settings.minibatches * settings.batch  # type: ignore[operator]
    step = BLOCK_BATCHES * settings.batch

    def request(start: int) -> Ref | None:
        if start >= rows:
            return None
        return buffer.call("draw", seed, start, min(step, rows - start), epoch)

    ahead = request(0)
    for start in range(step, rows + step, step):
        block = fetch(ahead)
        ahead = request(start)
        yield block


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
