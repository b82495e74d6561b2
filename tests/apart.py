"""A device with a memory of its own, in place of a GPU: its tensors are computed on the CPU, but belong elsewhere.

Code for a GPU fails on it as it would on a GPU where it mixes tensors of both devices or reads one without a copy, and
what would wait for a GPU is counted. So a test with it shows more than one with the CPU in place of the GPU, and less
than one on a GPU: kernels, rounding and speed are those of the CPU.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode_stack,
    return_and_correct_aliasing,
)
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from torch.utils.weak import WeakIdKeyDictionary

NAME = "apart"
_OPS = torch.ops.aten
_WAITING = {
    _OPS._local_scalar_dense.default,  # item(), float(), bool()
    _OPS._unique2.default,
    _OPS.equal.default,
    _OPS.masked_select.default,
    _OPS.nonzero.default,
    _OPS.repeat_interleave.Tensor,  # without output_size
}
"""Operations that wait for a GPU, since their result, or its size, has to be known on the CPU."""
_INDEXING = {_OPS.index.Tensor, _OPS.index_put.default, _OPS.index_put_.default, _OPS._index_put_impl_.default}
"""They wait as well if an index is a mask."""


class TwoDevices(RuntimeError):
    """An operation was given tensors of both devices."""


class ApartTensor(Tensor):
    """A tensor of the device; `raw` is the one on the CPU that holds its values."""

    raw: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, raw: Tensor) -> "ApartTensor":
        return Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, raw.shape, raw.stride(), raw.storage_offset(), dtype=raw.dtype, device=torch.device(NAME, 0)
        )

    def __init__(self, raw: Tensor) -> None:
        self.raw = raw

    def tolist(self) -> Any:
        """A method that torch leaves to subclasses."""
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{operation} of a tensor on {NAME}, outside of `device_apart`")


class Apart(TorchDispatchMode):
    """Runs the operations of the device, in the thread that enters it.

    Args:
        waits: Takes the names of the operations that would wait for a GPU.
    """

    def __init__(self, waits: list[str]) -> None:
        super().__init__()
        self.waits = waits
        self._pinned = WeakIdKeyDictionary()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        apart = [isinstance(each, ApartTensor) for each in tensors]
        if operation in (_OPS.pin_memory.default, _OPS._pin_memory.default):
            pinned: Tensor = args[0].clone()
            self._pinned[pinned] = True
            return pinned
        with self:  # the parts of a compound operation, which inference mode passes on as a whole
            if (result := operation.decompose(*args, **kwargs)) is not NotImplemented:
                return result
        if operation in (_OPS._to_copy.default, _OPS.copy_.default):
            source, target = (
                (apart[1], apart[0]) if operation is _OPS.copy_.default else (apart[0], _is_apart(kwargs, apart[0]))
            )
            if source != target and not (target and self._flows(tensors[-1], kwargs)):
                self.waits.append(f"{operation} from the {'device' if source else 'host'}")
        else:
            target = _is_apart(kwargs, any(apart))
            _check_one_device(operation, tensors, apart)
            if any(apart) and (operation in _WAITING or (operation in _INDEXING and _has_mask(args[1]))):
                self.waits.append(str(operation))
        result = operation(*tree_map(_raw, args), **tree_map(_raw, kwargs))
        if not target:
            return result
        result = tree_map(lambda each: ApartTensor(each) if isinstance(each, Tensor) else each, result)
        return return_and_correct_aliasing(operation, args, kwargs, result)

    def _flows(self, tensor: Tensor, kwargs: Any) -> bool:
        """Whether a copy to the device may be asynchronous: an empty one, or one of pinned memory that may be late."""
        return not tensor.numel() or (tensor in self._pinned and bool(kwargs.get("non_blocking")))


@cache
def register() -> None:
    """Makes the device known to torch. To be called before the first `backward` of the process, when autograd counts
    the devices."""
    _setup_privateuseone_for_python_backend(NAME)


@contextmanager
def device_apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes `torch.device(NAME)` usable in this thread, and in those of `actors.threads`."""
    register()
    waits: list[str] = []
    monkeypatch.setattr("actors.threads._take_stream", lambda: _enter(waits))
    apart = _enter(waits)
    try:
        yield
    finally:
        apart.__exit__(None, None, None)
        torch._C._set_only_lift_cpu_tensors(False)


def _enter(waits: list[str]) -> Apart:
    torch._C._set_only_lift_cpu_tensors(True)  # `torch.tensor(3, device=...)` is then a copy that the mode sees
    return Apart(waits).__enter__()


def waits() -> list[str]:
    """Names of the operations that would have waited for a GPU, since `device_apart` began."""
    (mode,) = [each for each in _get_current_dispatch_mode_stack() if isinstance(each, Apart)]
    return mode.waits


def _has_mask(indices: Any) -> bool:
    return any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in indices)


def _is_apart(kwargs: Any, otherwise: bool) -> bool:
    """Whether the result of an operation is on the device."""
    device = kwargs.get("device")
    return otherwise if device is None else torch.device(device).type == NAME


def _check_one_device(operation: Any, tensors: list[Tensor], apart: list[bool]) -> None:
    """Raises TwoDevices if some tensors are on the CPU; numbers may be there, as with CUDA."""
    if any(apart) and any(not one and each.dim() for each, one in zip(tensors, apart, strict=True)):
        places = ", ".join(f"{tuple(each.shape)} on {each.device}" for each in tensors)
        raise TwoDevices(f"{operation}: {places}")


def _raw(value: Any) -> Any:
    """The same on the CPU."""
    if isinstance(value, torch.device) and value.type == NAME:
        return torch.device("cpu")
    return value.raw if isinstance(value, ApartTensor) else value
