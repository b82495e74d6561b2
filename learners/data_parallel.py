"""Training one net in several processes, each on its part of every minibatch, by torch's DistributedDataParallel.

The gradients are added up in each backward pass, so all processes make the same update. It is the update that a single
process would make of the whole minibatch, up to the order in which float32 numbers are summed.
"""

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from threading import Thread
from typing import Any, cast

import numpy as np
import psutil
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from learners.shares import Share

STORE_PATIENCE_S = 3.0
"""Seconds to wait for an answer of the store, which is in the process of rank 0."""

_FAILURE = "failure"  # key of the store for the reason that a rank has left


class RankLost(RuntimeError):
    """Another learner has ended or does not answer. The weights are invalid, since the fit was interrupted."""


class Ranks:
    """The processes that train one net together. This class stands for a single process, `ProcessRanks` for several.

    Attributes:
        rank: Number of this process, from 0.
        ranks: Number of processes.
        drawn: Number of rows of the current fit in all processes, if each process draws only its own part of them; None
            if each process receives all rows.
    """

    rank = 0
    ranks = 1
    drawn: int | None = None

    def share(self, batch: int) -> Share:
        """This process's part of minibatches of `batch` rows."""
        return Share(batch, self.rank, self.ranks)

    def parts(self, blocks: Iterable[NDArray[Any]], batch: int) -> Iterator[tuple[NDArray[Any], float]]:
        """Yields this process's part of every minibatch, and its weight in the mean over the minibatch.

        All processes get the same number of parts. A last minibatch of a single row is dropped, because batch
        normalisation needs two rows.

        Args:
            blocks: All rows or, if `drawn` is set, this process's part of them. Blocks end between minibatches.
            batch: Rows of a minibatch.
        """
        share, left = self.share(batch), self.drawn
        for block in blocks:
            at = 0
            while at < len(block):
                rows = min(batch, len(block) - at if left is None else left)
                own = share.cut(rows)
                begin, length = (own.start, rows) if left is None else (0, own.stop - own.start)
                if rows > 1:
                    yield block[at + begin : at + begin + own.stop - own.start], share.weight(rows)
                at += length
                left = None if left is None else left - rows

    def wrap(self, net: nn.Module) -> nn.Module:
        """The model to call in training, whose backward pass gives the gradients of all processes."""
        return net

    def accumulate(self, model: nn.Module) -> AbstractContextManager[None]:
        """Context of all forward and backward passes of a minibatch except for the last one."""
        return nullcontext()

    def sum(self, values: Tensor) -> Tensor:
        """The sum of `values` over all processes; may reuse their memory."""
        return values

    def mean(self, values: Tensor) -> Tensor:
        """The mean of `values` of all processes, such as a statistic of a minibatch."""
        return values.mean()

    def log_mean(self, logs: NDArray[np.floating[Any]]) -> float:
        """Logarithm of the mean of exp(`logs`) over all processes."""
        total = np.logaddexp.reduce(logs.astype(np.float64)) if len(logs) else -np.inf
        own = torch.zeros(self.ranks, 2, dtype=torch.float64)
        own[self.rank] = torch.tensor([total, len(logs)], dtype=torch.float64)
        sums, counts = self.sum(own).numpy().T
        return float(np.logaddexp.reduce(sums) - np.log(counts.sum()))


class ProcessRanks(Ranks):
    """This process among several that train one net.

    Args:
        rank: Number of this process, from 0.
        ranks: Number of processes.
        store: The store by which the processes find each other, see `open_store`.
        device: Device of the nets. The processes communicate by NCCL if it is a GPU, else by gloo.
        timeout_s: Seconds after which a process that the others wait for counts as lost.

    Raises:
        RankLost: not all processes have connected within `timeout_s`.
    """

    def __init__(self, rank: int, ranks: int, store: dist.Store, device: torch.device, timeout_s: float) -> None:
        self.rank, self.ranks = rank, ranks
        self._store = store
        self._device = device
        backend = "nccl" if device.type == "cuda" else "gloo"
        with self.checked():
            dist.init_process_group(
                backend, store=store, rank=rank, world_size=ranks, timeout=timedelta(seconds=timeout_s)
            )
            self.sum(torch.zeros(1))  # the first sum makes the connections

    def wrap(self, net: nn.Module) -> nn.Module:
        """The net as a DistributedDataParallel, which starts with the weights of rank 0."""
        # The buffers of the net are the running moments of `BatchNorm`, which are the same in all processes.
        return DistributedDataParallel(net, broadcast_buffers=False, gradient_as_bucket_view=True)

    def accumulate(self, model: nn.Module) -> AbstractContextManager[None]:
        """See `Ranks.accumulate`. The processes add up their gradients once per minibatch."""
        return cast(DistributedDataParallel, model).no_sync()

    def sum(self, values: Tensor) -> Tensor:
        """See `Ranks.sum`."""
        shared = values.to(self._device)
        dist.all_reduce(shared)
        return shared.to(values.device)

    def mean(self, values: Tensor) -> Tensor:
        """See `Ranks.mean`."""
        sums = self.sum(torch.stack([values.double().sum(), values.new_tensor(len(values)).double()]))
        return (sums[0] / sums[1]).to(values.dtype)

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Context in which a failed connection raises RankLost, with the reason that another rank has left behind."""
        try:
            yield
        except RuntimeError as error:
            # Backends raise plain RuntimeErrors, also in the backward pass; the text begins with their source file.
            text = str(error).lower()
            if isinstance(error, dist.DistError) or "gloo" in text or "nccl" in text:
                reason = self._reason(error)
                raise RankLost(f"rank {self.rank} of {self.ranks} has lost the others: {reason}") from error
            raise

    def leave(self, reason: str) -> None:
        """Closes the connections, so that the others need not wait for their time limit, and leaves a reason."""
        self._query(lambda: self._store.set(_FAILURE, f"rank {self.rank} left: {reason}"))
        if dist.is_initialized():
            dist.destroy_process_group()

    def _reason(self, error: Exception) -> str:
        """Returns the reason that another rank has left behind, or else the first line of the error."""
        left = self._query(lambda: self._store.get(_FAILURE).decode() if self._store.check([_FAILURE]) else None)
        return str(left) if left else next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]

    def _query(self, request: Callable[[], Any]) -> Any:
        """Returns the answer of the store; None if the process of rank 0, which holds it, has ended or hangs."""
        answers: list[Any] = []

        def send() -> None:
            with suppress(RuntimeError):
                answers.append(request())

        thread = Thread(target=send, daemon=True)
        thread.start()
        thread.join(STORE_PATIENCE_S)
        return answers[0] if answers else None


def open_store(address: str, timeout_s: float) -> tuple[dist.Store, int]:
    """Opens the store by which the processes find each other; called by rank 0.

    Args:
        address: IP address of this machine that the others can reach. The store listens on this address only.
        timeout_s: Time limit of requests.

    Returns:
        The store, and its port.
    """
    use_interface_of(address)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind((address, 0))  # a store that opens its own socket listens on all addresses
        server.listen(1024)
        port = server.getsockname()[1]
        descriptor = server.detach()
    limit = timedelta(seconds=timeout_s)
    store = dist.TCPStore(
        address, port, is_master=True, timeout=limit, wait_for_workers=False, master_listen_fd=descriptor
    )
    return store, port


def find_store(address: str, port: int, timeout_s: float) -> dist.Store:
    """Connects to the store that rank 0 has opened.

    Raises:
        RankLost: the store does not answer.
    """
    limit = timedelta(seconds=timeout_s)
    try:
        return dist.TCPStore(address, port, is_master=False, timeout=limit, wait_for_workers=False)
    except RuntimeError as error:
        raise RankLost(f"no learner of rank 0 answers at {address}:{port}") from error


def use_interface_of(address: str) -> None:
    """Makes gloo and NCCL listen on the network interface of this address only."""
    for interface, entries in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in entries):
            os.environ["GLOO_SOCKET_IFNAME"] = interface
            os.environ["NCCL_SOCKET_IFNAME"] = interface
            return


class _Sum(torch.autograd.Function):
    """Sum over all processes; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        total = values.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Tensor:
        total = upper[0].contiguous().clone()
        dist.all_reduce(total)
        return total


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation by the moments of the whole minibatch, of which each process has only a part `[b, F]`.

    `torch.nn.SyncBatchNorm` does the same, but only on GPUs. A minibatch with fewer rows than processes is trained by
    every process, and counts once for each of them in the running variance.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Normalises `x [b, F]` by mean and variance over the rows of all processes."""
        if not self.training or not dist.is_initialized():
            return super().forward(x)
        y = x.float()
        sums = _Sum.apply(torch.cat([y.sum(0), y.new_full((1,), len(y))]))
        mean, rows = sums[:-1] / sums[-1], sums[-1].detach()
        centred = y - mean
        variance = _Sum.apply(centred.square().sum(0)) / rows
        with torch.no_grad():
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            assert self.momentum is not None
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (rows / (rows - 1)), self.momentum)
            self.num_batches_tracked += 1
        found: Tensor = (centred * torch.rsqrt(variance + self.eps) * self.weight + self.bias).to(x.dtype)
        return found
