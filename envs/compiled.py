"""The decorators of compiled kernels, and the folder in which Numba caches them.

Numba's on-disk cache checks only the file of the function itself: after an edit of a callee in another file it would
reuse a stale kernel and give wrong results. The cache folder is therefore named after a digest of all sources that
contain kernels, so that any edit starts a fresh folder.
"""

import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
import numpy as np
from numba import njit
from numba.core.event import install_recorder

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("envs", "learners", "actors")


def source_digest() -> str:
    """Returns a hex digest of every Python file that may contain a kernel, and of the Numba and Python versions."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).rglob("*.py")):
            digest.update(path.relative_to(_ROOT).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _choose_cache_dir() -> Path:
    named = (os.environ.get(name) for name in ("NUMBA_CACHE_DIR", "DANCFR_CACHE_DIR", "XDG_CACHE_HOME"))
    base = next(filter(None, named), "~/.cache")
    folder = Path(base).expanduser() / "dancfr" / "numba" / source_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:  # for instance a read-only home
        folder = Path(tempfile.gettempdir()) / f"dancfr-numba-{os.getuid()}-{source_digest()}"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_uid != os.getuid():
            folder = Path(tempfile.mkdtemp(prefix="dancfr-numba-"))
    return folder


# This applies to a NUMBA_CACHE_DIR set by the user as well: Numba itself would reuse stale kernels there.
numba.config.CACHE_DIR = str(_choose_cache_dir())  # type: ignore[attr-defined]


class _Record(np.record):  # type: ignore[misc]
    """A record whose fields are attributes, even those that are named like an attribute of NumPy, such as `size`."""

    def __getattribute__(self, name):
        fields = np.record.__getattribute__(self, "dtype").fields
        return self[name] if fields and name in fields else np.record.__getattribute__(self, name)

    def __setattr__(self, name, value):
        self[name] = value


def _interpreted(function):
    """Replaces `kernel` under NUMBA_DISABLE_JIT=1, for debuggers and coverage.

    Outside compiled code the fields of a record are attributes only if its type is `_Record`, and uint64 arithmetic
    that wraps around, as intended, would warn.
    """

    @functools.wraps(function)
    def run(*args):
        structured = [isinstance(a, np.ndarray) and a.dtype.names is not None for a in args]
        records = [
            a.view(np.dtype((_Record, a.dtype))) if fields else a for a, fields in zip(args, structured, strict=True)
        ]
        with np.errstate(over="ignore"):
            return function(*records)

    return run


_interpret = numba.config.DISABLE_JIT  # type: ignore[attr-defined]
kernel = _interpreted if _interpret else njit(cache=True, nogil=True, error_model="numpy")
"""Decorator of compiled functions: cached on disk, without the GIL, with C-like division."""
fast = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
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


__all__ = ["compilations", "fast", "kernel", "source_digest"]
