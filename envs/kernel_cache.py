"""The cache of compiled kernels on disk: its place, the names of its folders, and the handling of disk errors.

Numba's own cache checks only the file of the function itself: after an edit of a callee in another file it would
reuse a stale kernel and give wrong results. Here the kernels of a file lie in a folder that is named after a digest
of this file and of all files that it imports, directly or not. An edit therefore compiles again whatever may depend
on it, and nothing else; checkouts with equal sources share their kernels.

A cache is a convenience. If it cannot be read or written, kernels are compiled in each process, and one line says so.
"""

import functools
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache

_ROOT = Path(__file__).resolve().parent.parent
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.M)
_said: set[str] = set()


def _package_root(file: Path) -> Path:
    """The folder from which the module of a file is imported: the first one above it that is not a package."""
    folder = file.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def _module_file(name: str, roots: tuple[Path, ...]) -> Path | None:
    for root in roots:
        path = root.joinpath(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@functools.cache
def _read(file: Path) -> tuple[bytes, tuple[Path, ...]]:
    """Returns the digest of a source file, and those files that it imports which lie beside it or in dancfr."""
    text = file.read_bytes()
    root = _package_root(file)
    roots = tuple(dict.fromkeys((root, _ROOT)))
    package = file.parent.relative_to(root).parts
    found: dict[Path, None] = {}
    for match in _IMPORT.finditer(text):
        source, names, modules = (group.decode() if group else "" for group in match.groups())
        dots = len(source) - len(source.lstrip("."))
        if dots:
            source = ".".join((*package[: len(package) - dots + 1], *filter(None, [source.lstrip(".")])))
        wanted = [word.split()[0] for word in modules.split(",") if word.strip()]
        if source:
            wanted += [source, *(f"{source}.{name}" for name in re.findall(r"\w+", re.sub("#.*", "", names)))]
        found |= dict.fromkeys(path for path in (_module_file(name, roots) for name in wanted) if path)
    return hashlib.sha256(text).digest(), tuple(found)


def import_closure(file: Path) -> list[Path]:
    """Returns a source file and all files of its own package and of dancfr that it imports, directly or not, sorted.

    Imports within functions count, since a constant may be made by one; so does what only looks like an import.
    """
    closure: set[Path] = set()
    waiting = [file]
    while waiting:
        current = waiting.pop()
        if current not in closure:
            closure.add(current)
            waiting.extend(_read(current)[1])
    return sorted(closure)


@functools.cache
def kernel_folder(file: Path) -> str:
    """Returns the name of the folder with the kernels of a source file: its module, and a digest of its closure.

    The digest covers the versions of Numba and Python too.
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in import_closure(file):
        digest.update(path.relative_to(_package_root(path)).as_posix().encode())
        digest.update(_read(path)[0])
    module = ".".join(file.relative_to(_package_root(file)).with_suffix("").parts)
    return f"{module}-{digest.hexdigest()[:16]}"


def _is_private(folder: Path) -> bool:
    """Whether only this user can write in a folder, since the cache holds code."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _candidates() -> Iterator[Path]:
    named = (os.environ.get(name) for name in ("NUMBA_CACHE_DIR", "DANCFR_CACHE_DIR", "XDG_CACHE_HOME"))
    base = Path(next(filter(None, named), "~/.cache"))
    with suppress(RuntimeError):  # there is no home
        yield base.expanduser() / "dancfr" / "numba"
    yield Path(tempfile.gettempdir()) / f"dancfr-numba-{os.getuid()}"


@functools.cache
def cache_folder() -> Path | None:
    """Returns the folder of the cache, which it makes; None, after a line on standard error, if there can be none."""
    try:
        for folder in _candidates():
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                if _is_private(folder):
                    with tempfile.TemporaryFile(dir=folder):
                        return folder
                reason = f"{folder} can be written by other users"
            except OSError as error:  # for instance a read-only home
                reason = str(error)
    except FileNotFoundError as error:  # not even a folder for temporary files
        reason = str(error)
    _say(reason)
    return None


def _say(reason: object) -> None:
    """Warns once that kernels are not kept. A closed standard error does not end the program."""
    if not _said and sys.stderr is not None:
        _said.add("said")
        with suppress(OSError, ValueError):
            print(
                f"dancfr: compiled kernels are not kept ({reason}); each process compiles them, for up to minutes; "
                "name a folder with 300 MB by NUMBA_CACHE_DIR",
                file=sys.stderr,
            )


class _Locator:
    """Names the folder of a function's kernels to Numba's cache."""

    def __init__(self, folder: Path, line: int) -> None:
        self._folder = folder
        self._line = line

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_Locator | None":
        folder = cache_folder()
        path = Path(file).resolve()
        if folder is None or not path.is_file():  # typed at a prompt, for instance
            return None
        return cls(folder / kernel_folder(path), function.__code__.co_firstlineno)


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 (of the instance in Numba)


class _KernelCache(FunctionCache):
    """Numba's cache of one kernel, for which an error of the disk does not end the program."""

    _impl_class = _Implementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError as error:
            _say(error)
        except Exception:  # what a damaged file raises is not defined; compiled again, it is replaced
            with suppress(OSError):
                self.flush()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _say(error)


def cached(dispatcher: Any) -> Any:
    """Gives a compiled function of Numba its place in the cache, if it can have one; returns the function."""
    try:
        dispatcher._cache = _KernelCache(dispatcher.py_func)
    except RuntimeError:  # no locator: Numba compiles it in each process
        dispatcher._cache = NullCache()
    return dispatcher
