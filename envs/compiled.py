"""The decorators of compiled kernels."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.core.event import install_recorder

from envs.kernel_cache import cached


class _Record(np.record):  # type: ignore[misc]
    """A record whose fields are attributes, even those that are named like an attribute of NumPy, such as `size`."""

    def __getattribute__(self, name: str) -> Any:
        fields = np.record.__getattribute__(self, "dtype").fields
        return self[name] if fields and name in fields else np.record.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Replaces the compiler under NUMBA_DISABLE_JIT=1, for debuggers and coverage.

    Outside compiled code the fields of a record are attributes only if its type is `_Record`, and uint64 arithmetic
    that wraps around, as intended, would warn.
    """

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*map(_with_attributes, args))

    return run


def _with_attributes(value: Any) -> Any:
    """Returns an argument with its records, within tuples too, as `_Record`."""
    if isinstance(value, np.ndarray | np.void) and value.dtype.names is not None:
        return value.view(np.dtype((_Record, value.dtype)))
    if isinstance(value, tuple):
        parts = map(_with_attributes, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Returns a decorator of compiled functions, which are interpreted under NUMBA_DISABLE_JIT=1."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return _interpreted
    compiled = njit(nogil=True, error_model="numpy", **options)
    return lambda function: cached(compiled(function))


kernel = _compiled()
"""Decorator of compiled functions: cached on disk, without the GIL, with C-like division."""
fast = _compiled(fastmath={"reassoc", "contract", "nsz"})
"""Decorator of kernels whose sums may be reordered, so that LLVM can vectorise them."""


@contextmanager
def compilations() -> Iterator[list[str]]:
    """Names of the kernels that are compiled within the block, and not loaded from the cache, in a list that grows."""
    names: list[str] = []
    with install_recorder("numba:compile") as recorder:
        yield names
    for _, event in recorder.buffer:
        if event.is_start:
            compiled = event.data["dispatcher"].py_func
            names.append(f"{compiled.__module__}.{compiled.__name__}")


__all__ = ["compilations", "fast", "kernel"]
