"""Several learner actors that train one net together, behind one `Handle`.

Each of them holds the nets and the optimisers. In a fit, each draws its own part of every minibatch, and the gradients
are added up, see `learners.data_parallel`. Rank 0 returns weights and writes checkpoints.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.buffer import BufferServer
from actors.cluster import own_address
from actors.learner_per_player import LearnerPerPlayer
from actors.learning import Learner, LearnerServer, draws, rows_of_fit
from actors.remote import Handle, Ref, Runtime, WorkerDied, end
from learners.data_parallel import ProcessRanks, RankLost, find_store, open_store, use_interface_of
from learners.devices import choose_device
from learners.networks.settings import Weights

TIMEOUT_S = 300.0
"""Seconds after which a rank that the others wait for counts as lost. This is for a process that hangs, since one that
ends is noticed immediately, and it must exceed the time in which kernels compile."""

GRACE_S = 5.0
"""Seconds in which rank 0 has to report a loss; after that, the others assume that rank 0 itself hangs."""

StoreAddress = tuple[str, int]
"""Address and port of the store by which the ranks find each other."""


class DataParallelServer(LearnerServer):
    """One of several learner servers that train the same nets.

    Args:
        kind: Class of the learners.
        players: Arguments of each player's learner, without `device`.
        device: ``cpu``, ``cuda`` or ``auto``.
        rank: Number of this server, from 0.
        ranks: Number of servers.
        timeout_s: See `TIMEOUT_S`.
        deterministic: As for `LearnerServer`.
    """

    def __init__(
        self,
        kind: Callable[..., Learner],
        players: Mapping[int, Mapping[str, Any]],
        device: str,
        rank: int,
        ranks: int,
        timeout_s: float = TIMEOUT_S,
        deterministic: bool = False,
    ) -> None:
        super().__init__(kind, players, device, deterministic=deterministic)
        self.rank, self.ranks = rank, ranks
        self._device = choose_device(device)
        self._timeout_s = timeout_s
        self._store: Any = None
        self._joined: ProcessRanks | None = None

    def open(self) -> StoreAddress:
        """Opens the store by which the other servers find this one, rank 0.

        It listens only on the address of this machine within Ray: 127.0.0.1 unless other machines may join.
        """
        address = own_address()
        self._store, port = open_store(address, self._timeout_s)
        return address, port

    def join(self, address: StoreAddress) -> None:
        """Connects to the other servers; returns when all of them are connected.

        Raises:
            WorkerDied: A server has not connected in time.
        """
        try:
            if self._store is None:
                use_interface_of(own_address())
                self._store = find_store(*address, self._timeout_s)
            self._joined = ProcessRanks(self.rank, self.ranks, self._store, self._device, self._timeout_s)
        except RankLost as error:
            raise WorkerDied(str(error)) from error
        for learner in self._learners.values():
            learner.trainer.join(self._joined)

    def fit(
        self, player: int, iteration: int, buffer: Handle[BufferServer], seed: tuple[int, ...], done: float = 0.0
    ) -> tuple[dict[str, float], Weights]:
        """One fit of a player's net by all ranks; see `LearnerServer.fit`.

        Raises:
            WorkerDied: Another rank is lost. The nets of the remaining ranks are then invalid.
        """
        joined = self._others()
        try:
            with joined.checked():
                return super().fit(player, iteration, buffer, seed, done)
        except RankLost as error:
            self._joined = None
            raise WorkerDied(str(error)) from error
        except Exception as error:  # the others would wait for this rank
            self._joined = None
            joined.leave(f"{type(error).__name__}: {error}")
            raise

    def assist(
        self,
        first: Handle[LearnerServer],
        player: int,
        iteration: int,
        buffer: Handle[BufferServer],
        seed: tuple[int, ...],
        done: float = 0.0,
    ) -> None:
        """Runs the part of a rank other than 0 in a fit.

        Rank 0 reports the failures of all ranks. If rank 0 itself hangs, this method ends the process of rank 0, for
        which the driver waits.
        """
        try:
            self.fit(player, iteration, buffer, seed, done)
        except WorkerDied:
            time.sleep(GRACE_S)
            end(first)
        except Exception:
            return  # rank 0 reports the failure, see `fit`

    def process(self) -> int:
        """Process id of this server on its machine."""
        return os.getpid()

    def _draws(
        self, learner: Learner, buffer: Handle[BufferServer], seed: tuple[int, ...]
    ) -> Iterator[NDArray[np.void]]:
        """This rank's part of every minibatch, or the whole buffer where a learner makes its minibatches itself."""
        joined, settings = self._others(), learner.trainer.settings
        if learner.whole_buffer:
            joined.drawn = None
            return draws(buffer, seed, settings, whole=True)
        joined.drawn = rows_of_fit(buffer, settings)
        return draws(buffer, seed, settings, share=joined.share(settings.batch))

    def _others(self) -> ProcessRanks:
        if self._joined is None:
            raise WorkerDied(f"rank {self.rank} of {self.ranks} has lost the others")
        return self._joined


class LearnerGroup(Handle[LearnerServer]):
    """A `Handle` of several learner servers that train the same nets; see `DataParallelServer`.

    Args:
        name: Name in messages.
        ranks: Handles of the servers, rank 0 first.
    """

    def __init__(self, name: str, ranks: Sequence[Handle[DataParallelServer]]) -> None:
        self.name = name
        self.ranks = tuple(ranks)
        address = self.ranks[0].call(DataParallelServer.open)
        self._met = [rank.call(DataParallelServer.join, address) for rank in self.ranks]

    def send(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], returns: int = 1) -> Any:
        """See `Handle.send`. All ranks fit and load; rank 0 does everything else, and returns all results."""
        first, *others = self.ranks
        if method == LearnerServer.fit.__name__:
            for other in others:
                other.send(DataParallelServer.assist.__name__, (first, *args), kwargs)
        if method == LearnerServer.load.__name__:
            return first.call(LearnerServer.after, *[rank.send(method, args, kwargs) for rank in self.ranks])
        return first.send(method, args, kwargs, returns)

    def ready(self) -> Ref:
        """See `Handle.ready`: all servers have been made and are connected."""
        made = [rank.ready() for rank in self.ranks]
        return self.ranks[0].call(LearnerServer.after, *made, *self._met)


def start_learner(
    runtime: Runtime,
    kind: Callable[..., Learner],
    players: Mapping[int, Mapping[str, Any]],
    device: str,
    *,
    name: str,
    learners: int = 1,
    apart: bool = False,
    cpus: float = 1.0,
    timeout_s: float = TIMEOUT_S,
    deterministic: bool = False,
    **resources: Any,
) -> Handle[LearnerServer]:
    """Starts a learner server in an actor, or several: one for each player, or some that train every net together.

    Args:
        runtime: Runs the actors. Without Ray there is one process and therefore one learner, whatever `learners` is;
            the number changes only the order in which float32 numbers are summed.
        kind: Class of the learners.
        players: Arguments of each player's learner, without `device`.
        device: ``cpu``, ``cuda`` or ``auto``.
        name: Name in messages.
        learners: Number of actors that train every net together.
        apart: Starts an actor for each player, so that fits of several players run at the same time. Ignored without
            Ray, on a GPU, which they would share, and where several learners train every net together.
        cpus: CPUs of each of the learners, which the actors of its players share.
        timeout_s: See `TIMEOUT_S`.
        deterministic: Use deterministic algorithms only, on GPUs too.
        resources: Other resources of each actor, see `Runtime.start`.
    """
    if learners == 1 and runtime.processes and apart and device == "cpu":
        share = cpus / len(players)
        return LearnerPerPlayer(
            name,
            {
                player: runtime.start(
                    LearnerServer,
                    kind,
                    {player: arguments},
                    device,
                    1,
                    deterministic,
                    name=f"{name}-{player}",
                    cpus=share,
                    **resources,
                )
                for player, arguments in players.items()
            },
        )
    if learners == 1 or not runtime.processes:
        return runtime.start(LearnerServer, kind, players, device, 1, deterministic, name=name, cpus=cpus, **resources)
    ranks = [
        runtime.start(
            DataParallelServer,
            kind,
            players,
            device,
            rank,
            learners,
            timeout_s,
            deterministic,
            name=f"{name} {rank}",
            cpus=cpus,
            **resources,
        )
        for rank in range(learners)
    ]
    return LearnerGroup(name, ranks)
