"""Where compiled kernels are cached, and the decorator that every kernel uses.

Numba's on-disk cache looks only at the file of the function itself: editing a callee in another file leaves a stale
kernel behind, and wrong results. So the cache folder is named after a digest of all sources that hold kernels;
an edit anywhere gives a fresh folder.
"""

import functools
import hashlib
import os
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
from numba import njit

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("envs", "learners", "actors")


def source_digest() -> str:
    """Hex digest over every Python file that may hold a kernel, and over the Numba and Python versions."""
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
    except OSError:  # a read-only home: kernels are compiled again in each process, and results stay right
        folder = Path(tempfile.gettempdir()) / f"dancfr-numba-{os.getuid()}-{source_digest()}"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_uid != os.getuid():
            folder = Path(tempfile.mkdtemp(prefix="dancfr-numba-"))
    return folder


# Below NUMBA_CACHE_DIR too, where a user has set it: Numba itself would go on with stale kernels there.
numba.config.CACHE_DIR = str(_choose_cache_dir())  # type: ignore[attr-defined]


class _Record(np.record):  # type: ignore[misc]
    """A record whose fields are its attributes, also one that is named like an attribute of NumPy's, such as size."""

    def __getattribute__(self, name):
        fields = np.record.__getattribute__(self, "dtype").fields
        return self[name] if fields and name in fields else np.record.__getattribute__(self, name)

    def __setattr__(self, name, value):
        self[name] = value


def _interpreted(function):
    """What `kernel` is under NUMBA_DISABLE_JIT=1, for debuggers and coverage.

    Outside compiled code the fields of a state are attributes only if its type says so, and a uint64 that wraps, as it
    should, gives a warning.
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
"""Decorator of every compiled function: cached on disk, releases the GIL, C-like division."""
fast = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
"""Decorator of kernels in which sums may be reordered, so that they are vectorised."""

__all__ = ["fast", "kernel", "source_digest"]
