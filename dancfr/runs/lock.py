"""The lock of a folder: one process at a time trains a run or plays a league.

run.lock            locked by `flock`; its content names the process
run.lock-5f0c21de   a claim, the lock where the file system has no `flock` (some of NFS, Lustre and FUSE): a file
                    that exists as long as the process that it names
"""

import errno
import fcntl
import os
import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError, warn
from learners.storage import replacing

LOCK = "run.lock"

_IN_USE = (errno.EAGAIN, errno.EACCES)
_UNSUPPORTED = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
_NOTE = re.compile(r"process (\d+) on (\S+)")


class InUse(UsageError):
    """Another process has locked the folder."""


@dataclass(frozen=True)
class Lock:
    """A lock that this process holds, by a file descriptor and perhaps a claim."""

    descriptor: int
    claim: Path | None = None

    def release(self) -> None:
        """Gives the lock back."""
        os.close(self.descriptor)
        if self.claim is not None:
            with suppress(OSError):  # the folder has been removed
                self.claim.unlink()


def is_lock(name: str) -> bool:
    """Whether a file of this name belongs to a lock."""
    return name == LOCK or name.startswith(f"{LOCK}-")


def take_lock(path: Path) -> Lock:
    """Locks a folder until `Lock.release`. However the process ends, a lock of `flock` is released.

    Raises:
        InUse: another process holds the lock.
        OSError: the folder cannot be written.
    """
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        claim = None if _flock(descriptor, fcntl.LOCK_EX) else _claim(path)
    except BlockingIOError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
        os.close(descriptor)
        raise InUse(f"{path} is in use by {holder}: wait for it, stop it, or choose another folder") from None
    except BaseException:
        os.close(descriptor)
        raise
    with suppress(OSError):  # a full disk: the lock still works, without the note
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{_this_process()}\n".encode(), 0)
    return Lock(descriptor, claim)


def find_holder(path: Path) -> dict[str, Any] | None:
    """Returns the holder of a folder's lock: ``process``, ``host``, and whether this is the machine (``here``); None if
    the lock is free.

    The lock of another machine may be invisible here, so a note left by another machine counts as a lock.
    """
    import psutil

    ours = socket.gethostname()
    try:
        with (path / LOCK).open("rb") as file:
            noted = _NOTE.match(file.read(200).decode(errors="replace"))
            process, host = (int(noted[1]), noted[2]) if noted else (None, ours)
            ended = process is not None and host == ours and not psutil.pid_exists(process)
            held = not ended and _is_held(path, file.fileno())  # a lock that no process holds is left to a new training
    except OSError:
        return None
    return {"process": process, "host": host, "here": host == ours} if held or host != ours else None


def _is_held(path: Path, descriptor: int) -> bool:
    try:
        # Closing the file gives a shared lock back.
        return not _flock(descriptor, fcntl.LOCK_SH) and not all(_has_ended(note) for _, note in _claims(path))
    except OSError:
        return True


def _flock(descriptor: int, kind: int) -> bool:
    """Locks a file; returns False if its file system has no locks.

    Raises:
        BlockingIOError: another process has locked the file.
        OSError: the file system has failed.
    """
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _IN_USE:
            raise BlockingIOError from None
        if error.errno not in _UNSUPPORTED:
            raise
        return False
    return True


def _claim(path: Path) -> Path:
    """Claims a folder without a lock of the system.

    Of two processes that claim it at the same time, each sees the claim of the other, and one or both give up.

    Raises:
        InUse: another process has claimed it.
        OSError: the folder cannot be written.
    """
    claim = path / f"{LOCK}-{uuid.uuid4().hex[:8]}"
    with replacing(claim) as file:
        file.write(f"{_this_process()}\n{_machine()}\n{_start(os.getpid())}\n".encode())
    for other, note in _claims(path):
        if other == claim:
            continue
        if not _has_ended(note):
            claim.unlink()
            holder = note.splitlines()[0] if note else "another process"
            raise InUse(
                f"{path} is in use by {holder}: wait for it, stop it, or choose another folder; "
                f"if it has ended, remove {other}"
            )
        other.unlink(missing_ok=True)
    warn(f"{path} is on a file system without locks: {claim.name} marks it as in use instead")
    return claim


def _claims(path: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted(path.glob(f"{LOCK}-*")):
        with suppress(FileNotFoundError):  # released meanwhile
            yield file, file.read_text(errors="replace")


def _has_ended(note: str) -> bool:
    """Whether the process of a claim has certainly ended; one of another machine or container may always be running."""
    name, machine, start = [*note.split("\n"), "", "", ""][:3]
    noted = _NOTE.match(name)
    return (
        noted is not None and machine == _machine() and noted[2] == socket.gethostname() and start != _start(noted[1])
    )


def _this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _machine() -> str:
    """Identifies the scope of process numbers: a machine since its start, and a container on it."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return "unknown"


def _start(process: int | str) -> str:
    """When a process started, in ticks since the start of the machine; ``none`` if it does not run."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return "none"
