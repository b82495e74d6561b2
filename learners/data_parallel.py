"""Several processes that train one net together: each computes the gradient of a part of each minibatch.

The gradients are added up before every update, so all ranks make the same update, and it is the one that a single
process would make of the whole minibatch, up to the order in which float32 numbers are summed.
"""

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from threading import Thread
from typing import Any

import numpy as np
import psutil
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

from learners.shares import Share

STORE_PATIENCE_S = 3.0
"""So long may the store take to answer, which is in the process of rank 0."""

_LEFT = "left"  # key of the store: why a rank has left, where it could still say so


class RankLost(RuntimeError):
    """Another rank is gone, or does not answer; what this one has trained since the last fit is void."""


class Ranks:
    """This process among those that train together.

    Args:
        rank: Which it is, from 0.
        ranks: How many there are.
        store: Where all of them meet, see `open_store`.
        device: Where nets are: ranks talk by NCCL if that is a GPU, else by gloo.
        timeout_s: A rank that the others have waited for so long is taken to be lost.

    Attributes:
        drawn: Rows of the stream that all ranks draw together in the fit under way, each only its share of them; None
            where each is given all rows.
        minibatch: Rows of the minibatch under way, of all ranks.
        weight: Of this rank's mean in the mean over the minibatch under way.
        halted: Says whether this rank wants the fit under way to be left.

    Raises:
        RankLost: not all ranks have come within `timeout_s`.
    """

    def __init__(self, rank: int, ranks: int, store: dist.Store, device: torch.device, timeout_s: float) -> None:
        self.rank, self.ranks = rank, ranks
        self.drawn: int | None = None
        self.minibatch = 0
        self.weight = 1.0
        self.halted: Callable[[], bool] = lambda: False
        self._leaving = torch.zeros(1)
        self._store = store
        self._device = device
        self._timeout_s = timeout_s
        backend = "nccl" if device.type == "cuda" else "gloo"
        limit = timedelta(seconds=timeout_s)
        self._checked(lambda: dist.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=limit))
        self.together(torch.zeros(1, device=device))  # connections are made at the first of these

    def __deepcopy__(self, _: Any) -> "Ranks":
        return self  # an average of a net is another net of the same process

    def share(self, batch: int) -> Share:
        """This rank's part of minibatches of so many rows."""
        return Share(batch, self.rank, self.ranks)

    def parts(self, blocks: Iterable[NDArray[Any]], batch: int) -> Iterator[NDArray[Any]]:
        """This rank's part of every minibatch; all ranks have equally many.

        A last minibatch with fewer than 2 rows is dropped, as `learners.training.split_batches` does.

        Args:
            blocks: Rows of all ranks or, if `drawn` is set, this rank's share of them, cut between minibatches.
            batch: Rows of a minibatch.
        """
        share, left = self.share(batch), self.drawn
        for block in blocks:
            at = 0
            while at < len(block):
                rows = min(batch, len(block) - at if left is None else left)
                own = share.cut(rows)
                begin, length = (own.start, rows) if left is None else (0, own.stop - own.start)
                self.minibatch, self.weight = rows, share.weight(rows)
                if rows > 1:
                    yield block[at + begin : at + begin + own.stop - own.start]
                at += length
                left = None if left is None else left - rows

    def together(self, values: Tensor) -> Tensor:
        """The sum of these values over all ranks, in place.

        Raises:
            RankLost: another rank does not add its own.
        """
        self._checked(lambda: dist.all_reduce(values))
        return values

    def add_gradients(self, net: nn.Module) -> None:
        """Gradients of the loss over the whole minibatch, from those of each rank's weighted part of it.

        Raises:
            RankLost: see `together`.
        """
        parameters = list(net.parameters())
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = [gradient.reshape(-1) for gradient in gradients]
        flag = flat[0].new_full((1,), float(self.halted()))
        sums = self.together(torch.cat([*flat, flag])).split([*map(len, flat), 1])
        for gradient, summed in zip(gradients, sums[:-1], strict=True):
            gradient.copy_(summed.view_as(gradient))
        self._leaving = sums[-1]

    @property
    def leaving(self) -> bool:
        """Whether some rank wanted the fit to be left at the last update: known to all ranks at the same update."""
        return bool(self._leaving.item())

    def begin_fit(self, net: nn.Module) -> None:
        """Gives all ranks the net of rank 0: processors of different kinds round differently.

        Raises:
            RankLost: see `together`.
        """
        self._leaving = torch.zeros(1)
        for value in net.state_dict().values():
            self._checked(lambda value=value: dist.broadcast(value, 0))

    def log_mean(self, logs: NDArray[np.floating[Any]]) -> float:
        """Log of the mean of exp(`logs`), over those of all ranks."""
        own = torch.zeros(self.ranks, 2, dtype=torch.float64, device=self._device)
        total = np.logaddexp.reduce(logs.astype(np.float64)) if len(logs) else -np.inf
        own[self.rank] = torch.tensor([total, len(logs)], dtype=torch.float64)
        sums, counts = self.together(own).cpu().numpy().T
        return float(np.logaddexp.reduce(sums) - np.log(counts.sum()))

    def any(self, flag: bool) -> bool:
        """Whether any rank says so."""
        return bool(self.together(torch.full((1,), float(flag), device=self._device)).item())

    def leave(self, reason: str) -> None:
        """Ends the connections, so that the others need not wait for their time limit; tells them why."""
        self._ask(lambda: self._store.set(_LEFT, f"rank {self.rank} left: {reason}"))
        if dist.is_initialized():
            dist.destroy_process_group()

    def _checked(self, call: Any) -> None:
        try:
            call()
        except (RuntimeError, ValueError) as error:  # ValueError: the process group is gone
            raise RankLost(f"rank {self.rank} of {self.ranks} has lost the others: {self._reason(error)}") from error

    def _reason(self, error: Exception) -> str:
        """What the rank that left has said, or what was noticed of it."""
        said = self._ask(lambda: self._store.get(_LEFT).decode() if self._store.check([_LEFT]) else None)
        if said:
            return str(said)
        return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]

    def _ask(self, question: Callable[[], Any]) -> Any:
        """What the store answers, or None: rank 0, whose process holds it, may be gone, or hang and never answer."""
        answers: list[Any] = []

        def ask() -> None:
            with suppress(RuntimeError):
                answers.append(question())

        asking = Thread(target=ask, daemon=True)
        asking.start()
        asking.join(STORE_PATIENCE_S)
        return answers[0] if answers else None


def open_store(address: str, timeout_s: float) -> tuple[dist.Store, int]:
    """Where ranks meet, in this process: rank 0.

    Args:
        address: IP address of this machine that the others can reach; nothing listens on any other.
        timeout_s: Time limit of whoever asks it.

    Returns:
        The store, and its port.
    """
    use_interface_of(address)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind((address, 0))  # by itself the store would listen on every address there is
        server.listen(1024)
        port = server.getsockname()[1]
        descriptor = server.detach()
    limit = timedelta(seconds=timeout_s)
    store = dist.TCPStore(
        address, port, is_master=True, timeout=limit, wait_for_workers=False, master_listen_fd=descriptor
    )
    return store, port


def find_store(address: str, port: int, timeout_s: float) -> dist.Store:
    """The store that rank 0 has opened.

    Raises:
        RankLost: it does not answer.
    """
    limit = timedelta(seconds=timeout_s)
    try:
        return dist.TCPStore(address, port, is_master=False, timeout=limit, wait_for_workers=False)
    except RuntimeError as error:
        raise RankLost(f"no learner of rank 0 answers at {address}:{port}") from error


def use_interface_of(address: str) -> None:
    """Lets gloo and NCCL listen on the network interface of this address alone."""
    for interface, entries in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in entries):
            os.environ["GLOO_SOCKET_IFNAME"] = interface
            os.environ["NCCL_SOCKET_IFNAME"] = interface
            return


class _SumOverRanks(torch.autograd.Function):
    """Sum over ranks; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        return ranks.together(values.clone())

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Any:
        return ctx.ranks.together(upper[0].contiguous().clone()), None


class SharedBatchNorm(nn.BatchNorm1d):
    """Batch normalisation by the moments of the whole minibatch, of which each rank has a part `[b, H]`.

    Torch's own for several processes needs GPUs.
    """

    def __init__(self, plain: nn.BatchNorm1d, ranks: Ranks) -> None:
        super().__init__(plain.num_features, plain.eps, plain.momentum)
        self.weight, self.bias = plain.weight, plain.bias
        self.running_mean, self.running_var = plain.running_mean, plain.running_var
        self.num_batches_tracked = plain.num_batches_tracked
        self._ranks = ranks

    def forward(self, x: Tensor) -> Tensor:
        """`x [B, F]` of this rank, normalised by mean and variance of the minibatch of all ranks."""
        if not self.training:
            return super().forward(x)
        ranks, y = self._ranks, x.float()
        mean = _SumOverRanks.apply(y.mean(0) * ranks.weight, ranks)
        centred = y - mean
        variance = _SumOverRanks.apply(centred.square().mean(0) * ranks.weight, ranks)
        with torch.no_grad():
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            assert self.momentum is not None
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (ranks.minibatch / (ranks.minibatch - 1)), self.momentum)
            self.num_batches_tracked += 1
        return (centred * torch.rsqrt(variance + self.eps) * self.weight + self.bias).to(x.dtype)


def share_batch_norm(net: nn.Module, ranks: Ranks) -> None:
    """Lets all batch normalisation of a net see the whole minibatch; parameters and names stay the same."""
    for name, module in list(net.named_children()):
        if isinstance(module, nn.BatchNorm1d):
            setattr(net, name, SharedBatchNorm(module, ranks))
        else:
            share_batch_norm(module, ranks)
