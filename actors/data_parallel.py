"""Several learner actors that train one net together, with the face of one.

Each holds the nets and the optimiser. For a fit, each draws its own share of every minibatch, and the gradients are
added up before each update, see `learners.data_parallel`. Rank 0 gives out weights and writes checkpoints.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.learning import Learner, LearnerServer, draws, rows_of_fit
from actors.remote import Halted, Handle, RayHandle, Ref, Runtime, WorkerDied
from learners.data_parallel import RankLost, Ranks, find_store, open_store, use_interface_of
from learners.networks.settings import Weights
from learners.training import choose_device

TIMEOUT_S = 300.0
"""A rank for which the others wait so long is taken to be lost. One whose process has ended is noticed at once; this is
for one that hangs, and longer than kernels take to compile."""

GRACE_S = 5.0
"""Rank 0 has so long to report that others are lost before they take it to be the one that hangs."""

Meeting = tuple[str, int]
"""Address and port where ranks meet."""


class DataParallelServer(LearnerServer):
    """One of several learner servers that train the same nets.

    Args:
        kind: See `LearnerServer`, and what follows.
        players: Arguments of each player's learner, without `device`.
        device: ``cpu``, ``cuda`` or ``auto``.
        rank: Which of the servers this is, from 0.
        ranks: How many there are.
        timeout_s: See `TIMEOUT_S`.
    """

    def __init__(
        self,
        kind: Callable[..., Learner],
        players: Mapping[int, Mapping[str, Any]],
        device: str,
        rank: int,
        ranks: int,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        super().__init__(kind, players, device)
        self.rank, self.ranks = rank, ranks
        self._device = choose_device(device)
        self._timeout_s = timeout_s
        self._store: Any = None
        self._joined: Ranks | None = None

    def open(self) -> Meeting:
        """Where the others find this server, which is rank 0. It listens on this machine's address within Ray alone:
        127.0.0.1 unless other machines may join."""
        address = _own_address()
        self._store, port = open_store(address, self._timeout_s)
        return address, port

    def join(self, meeting: Meeting) -> None:
        """Meets the others; returns when all are there.

        Raises:
            WorkerDied: they do not come.
        """
        try:
            if self._store is None:
                use_interface_of(_own_address())
                self._store = find_store(*meeting, self._timeout_s)
            self._joined = Ranks(self.rank, self.ranks, self._store, self._device, self._timeout_s)
        except RankLost as error:
            raise WorkerDied(str(error)) from error
        self._joined.halted = lambda: self._halted()
        for learner in self._learners.values():
            learner.trainer.join(self._joined)

    def fit(
        self, player: int, iteration: int, buffer: Handle, seed: tuple[int, ...]
    ) -> tuple[dict[str, float], Weights]:
        """One fit of a player's net by all ranks; see `LearnerServer.fit`.

        Raises:
            WorkerDied: another rank is gone. The nets of those that are left are void.
            Halted: `halt` was called, of any rank: all have left the fit at the same minibatch.
        """
        joined = self._others()
        try:
            if joined.any(self._halted()):
                raise Halted("the fit was left")
            return super().fit(player, iteration, buffer, seed)
        except RankLost as error:
            self._joined = None
            raise WorkerDied(str(error)) from error
        except Halted:
            raise
        except Exception as error:  # the others would wait for this rank
            self._joined = None
            joined.leave(f"{type(error).__name__}: {error}")
            raise

    def assist(self, first: Handle, player: int, iteration: int, buffer: Handle, seed: tuple[int, ...]) -> None:
        """The part of another rank than 0 in a fit. Whatever goes wrong here, rank 0 learns of it and says so, unless
        it is rank 0 that hangs: then its process is ended, for nobody else waits for it but the driver."""
        try:
            self.fit(player, iteration, buffer, seed)
        except WorkerDied:
            time.sleep(GRACE_S)
            _end(first)
        except Exception:
            return  # it has been told, see `fit`

    def process(self) -> int:
        """Number of this process on its machine."""
        return os.getpid()

    def after(self, *done: None) -> None:
        """None, once all of these are there."""

    def _draws(self, learner: Learner, buffer: Handle, seed: tuple[int, ...]) -> Iterator[NDArray[np.void]]:
        """This rank's share of every minibatch, or the whole buffer where a learner makes its minibatches itself."""
        joined, settings = self._others(), learner.trainer.settings
        if learner.whole_buffer:
            joined.drawn = None
            return draws(buffer, seed, settings, whole=True)
        joined.drawn = rows_of_fit(buffer, settings)
        return draws(buffer, seed, settings, share=joined.share(settings.batch))

    def _heed(self) -> None:
        if self._joined is not None and self._joined.leaving:
            raise Halted("the fit was left")

    def _others(self) -> Ranks:
        if self._joined is None:
            raise WorkerDied(f"rank {self.rank} of {self.ranks} has lost the others")
        return self._joined


class LearnerGroup:
    """Learner servers that train the same nets, with the face of one `Handle`; see `DataParallelServer`.

    Args:
        name: For messages.
        ranks: Their handles, rank 0 first.
    """

    def __init__(self, name: str, ranks: Sequence[Handle]) -> None:
        self.name = name
        self.ranks = tuple(ranks)
        meeting = self.ranks[0].call("open")
        self._met = [rank.call("join", meeting) for rank in self.ranks]

    def call(self, method: str, *args: Any, returns: int = 1, **kwargs: Any) -> Any:
        """See `Handle.call`: all ranks fit and load, rank 0 does everything else, and returns the results."""
        first, *others = self.ranks
        if method == "fit":
            for other in others:
                other.call("assist", first, *args, **kwargs)
        if method == "load":
            return first.call("after", *[rank.call(method, *args, **kwargs) for rank in self.ranks])
        return first.call(method, *args, returns=returns, **kwargs)

    def ready(self) -> Ref:
        """See `Handle.ready`: all have been made and have met."""
        made = [rank.ready() for rank in self.ranks]
        return self.ranks[0].call("after", *made, *self._met)

    def halt(self) -> None:
        """See `Handle.halt`; rank 0 tells the others."""
        self.ranks[0].halt()


def start_learner(
    runtime: Runtime,
    kind: Callable[..., Learner],
    players: Mapping[int, Mapping[str, Any]],
    device: str,
    *,
    name: str,
    learners: int = 1,
    timeout_s: float = TIMEOUT_S,
    **resources: Any,
) -> Handle:
    """A learner server in an actor, or several that train together.

    Args:
        runtime: Where they live. Inline there is one process, and so one learner, whatever `learners` says: that
            changes the order in which float32 numbers are summed, and nothing else.
        kind: See `LearnerServer`, and what follows.
        players: Arguments of each player's learner, without `device`.
        device: ``cpu``, ``cuda`` or ``auto``.
        name: For messages.
        learners: Number of actors. With one, everything is as if there were no ranks.
        timeout_s: See `TIMEOUT_S`.
        resources: See `Runtime.start`: of each actor.
    """
    if learners == 1 or not runtime.parallel:
        return runtime.start(LearnerServer, kind, players, device, name=name, **resources)
    ranks = [
        runtime.start(
            DataParallelServer, kind, players, device, rank, learners, timeout_s, name=f"{name} {rank}", **resources
        )
        for rank in range(learners)
    ]
    return LearnerGroup(name, ranks)


def _end(handle: Handle) -> None:
    """Ends an actor from within another; its calls fail with `WorkerDied`."""
    import ray

    if isinstance(handle, RayHandle):
        ray.kill(handle.actor, no_restart=True)


def _own_address() -> str:
    """Address of this machine as the others of the same Ray know it."""
    import ray

    address: str = ray.util.get_node_ip_address()
    return address
