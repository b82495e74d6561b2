"""A disk that is really full: a small tmpfs where mounting is allowed; elsewhere a limit on the size of files."""

import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LIMIT = 50_000


def can_mount() -> bool:
    """Whether this process may mount a file system: root, and not in a container that forbids it."""
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "dancfr-test", folder]
        if subprocess.run(command, capture_output=True).returncode != 0:
            return False
        subprocess.run(["umount", folder], check=True)
    return True


@contextmanager
def small_disk(folder: Path, mount: bool) -> Iterator[Callable[[bool], None]]:
    """Makes `folder` a disk of 4 MiB; yields a switch that fills it up, or makes room again.

    Without `mount`, full means that no file may grow beyond `LIMIT` bytes.
    """
    folder.mkdir()
    if mount:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "dancfr-test", folder], check=True)
        try:
            yield _filler(folder)
        finally:
            subprocess.run(["umount", folder], check=True)
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(full: bool) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT if full else before[0], before[1]))

    try:
        yield limit
    finally:
        limit(False)
        signal.signal(signal.SIGXFSZ, ignored)


def _filler(folder: Path) -> Callable[[bool], None]:
    filler = folder / ".filler"

    def fill(full: bool) -> None:
        filler.unlink(missing_ok=True)
        if not full:
            return
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                return

    return fill
