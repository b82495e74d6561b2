"""The devices that nets are trained and evaluated on."""

import ctypes
import os
import socket
from contextlib import suppress
from typing import Any, Literal

import torch
from numpy.typing import NDArray
from torch import Tensor


class DeviceMissing(ValueError):
    """No such device on this machine."""


def choose_device(name: Literal["cpu", "cuda", "auto"] | str) -> torch.device:
    """The torch device with a name, on the machine of this process; ``auto`` is CUDA if there is a device.

    The environment variable `STAND_IN` names a device that takes the place of CUDA devices: with it, a cluster whose
    machines only say that they have GPUs shows where learners are placed.

    Raises:
        DeviceMissing: the name is ``cuda``, and there is no such device.
    """
    stand_in = os.environ.get(STAND_IN)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and stand_in:
        try:
            return torch.device(stand_in)
        except RuntimeError:
            raise DeviceMissing(f"{STAND_IN}: torch knows no device {stand_in!r}") from None
    if name == "cuda" and not torch.cuda.is_available():
        raise DeviceMissing(
            f"no CUDA device is visible to torch {torch.__version__} on {socket.gethostname()}: use --device cpu, or "
            "install a CUDA build of torch there"
        )
    try:
        return torch.device(name)
    except RuntimeError:
        raise DeviceMissing(f"torch knows no device {name!r}: use cpu, cuda or auto") from None


STAND_IN = "DANCFR_CUDA_DEVICE"
"""Environment variable with the name of a device that takes the place of CUDA devices, see `choose_device`."""


def be_deterministic() -> None:
    """Makes torch use only algorithms whose results are the same in every run, on CUDA too, in this process. To be
    called before the first computation on a GPU; some operations are slower then."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)


def keep_freed_memory() -> None:
    """Makes glibc keep up to 256 MB of memory that was freed, instead of giving it to the system after every step.

    A step allocates the same memory as the one before; the page faults took 6 % of the training of a Q-network.
    """
    with suppress(OSError, AttributeError):  # other C libraries have no such switch
        mallopt = ctypes.CDLL(None).mallopt
        for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            mallopt(option, 256 << 20)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of malloc.h


def send(array: NDArray[Any], device: torch.device) -> Tensor:
    """The array as a tensor on a device, from pinned memory if that is a GPU, so that nothing waits for the copy. On a
    CPU they share memory where possible."""
    # A field of one record counts as contiguous, but has strides that torch rejects. Arrays in Ray's object store
    # are read-only, of which torch warns.
    if len(array) == 1 or not array.flags.writeable:
        array = array.copy()
    tensor = torch.from_numpy(array)
    if device.type == "cpu":
        return tensor
    return (tensor.pin_memory() if tensor.numel() else tensor).to(device, non_blocking=True)
