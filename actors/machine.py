"""The requirements of a local Ray on this machine: open files, a folder for its sockets, shared memory, names in UTF-8.

Ray itself finds out after up to a minute, or names something else that followed from it.
"""

import os
import resource
import sys
from pathlib import Path

_MIB = 2**20
LEAST_STORE = 256 * _MIB

LONGEST_SOCKET = 103 if sys.platform == "darwin" else 107
"""Bytes in the name of a socket, at most."""
LONGEST_FOLDER = LONGEST_SOCKET - len("/ray/session_2000-01-01_00-00-00_000000_0000000/sockets/plasma_store")

SHARED = Path("/dev/shm")


def obstacle(cpus: int) -> str | None:
    """Returns why a Ray with this many CPUs cannot start on this machine, with the cure; None if it should start."""
    return _files(cpus) or _folder() or unsent_name()


def current_folder() -> str:
    """Returns the current folder; an empty text if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def unsent_name() -> str | None:
    """Returns that Ray cannot start or be joined because it sends the current folder and the command line as UTF-8."""
    for name in (current_folder(), *sys.orig_argv):
        try:
            name.encode()
        except UnicodeEncodeError:
            return (
                f"it takes names in UTF-8 only, unlike {name!a} in this locale: set LC_ALL=C.UTF-8, or give another "
                "name, or run with --inline"
            )
    return None


def temporary_folder() -> Path:
    """The folder in which Ray keeps its sessions, by Ray's own rule; but where that would be relative to the current
    folder, which its processes do not share, absolute."""
    variables = ("RAY_TMPDIR", "TMPDIR") if sys.platform.startswith("linux") else ("RAY_TMPDIR",)
    named = [os.environ[name] for name in variables if os.environ.get(name)]
    return Path(named[0] if named else "/tmp").absolute()


def object_store_bytes(limit: int = 4096 * _MIB) -> int:
    """Size of Ray's object store: a quarter of the free shared memory, between 256 MiB and `limit`.

    Blocks in flight are a few megabytes each and the pool bounds their number, so more would be idle.
    """
    return max(LEAST_STORE, min(limit, _shared_memory(4 * limit) // 4))


def small_shared_memory() -> str | None:
    """Returns a warning if shared memory is too small for Ray's objects, which then lie in a file; else None."""
    free = _shared_memory(LEAST_STORE)
    if free >= LEAST_STORE:
        return None
    return (
        f"{SHARED} has {free // _MIB} MiB free: Ray keeps its {LEAST_STORE // _MIB} MiB of shared objects in "
        f"{temporary_folder()}, which is slower on a disk (for a container: --shm-size=1g)"
    )


def _shared_memory(unknown: int) -> int:
    """Free bytes of shared memory."""
    try:
        stat = os.statvfs(SHARED)
    except OSError:
        return unknown
    return stat.f_bavail * stat.f_frsize


def _files(cpus: int) -> str | None:
    """Checks the limit of open files. Measured: 83 in one process with one worker, and 4 for each further worker."""
    needed, limit = 120 + 4 * cpus, resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # Ray raises the soft limit itself
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return None
    return (
        f"with {cpus} CPUs it opens some {needed} files in one process, but the limit is {limit}: raise it "
        f"(ulimit -n {needed}) or run with --inline"
    )


def _folder() -> str | None:
    folder = temporary_folder()
    cure = "set RAY_TMPDIR to a folder of your own with a short name, such as /tmp/NAME"
    if not str(folder).isascii():
        return f"Ray's addresses cannot name the folder {folder}, which is not ASCII: {cure}"
    if (length := len(str(folder))) > LONGEST_FOLDER:
        return (
            f"the name of the folder {folder} has {length} bytes, {LONGEST_FOLDER} is the most with which Ray's "
            f"sockets fit: {cure}"
        )
    within = folder / "ray"
    there = next(path for path in (within, *within.parents) if os.path.exists(path))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return f"{there}, where Ray keeps its files, is not a folder that this user may write to: {cure}"
    return None
