"""A run is locked on file systems without `flock` too; a library in its place fails there as such file systems do."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SHIM = """
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int flock(int descriptor, int operation) {
    errno = atoi(getenv("FLOCK_ERROR"));
    return -1;
}

int fsync(int descriptor) {
    struct stat found;
    if (fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_fsync, descriptor);
}
"""
START = """
import sys
from pathlib import Path
from dancfr.errors import UsageError
from dancfr.runs.config import Config
from dancfr.runs.lock import find_holder
from dancfr.runs.run import Run
path = Path(sys.argv[1])
"""
CREATE = f"{START}run = Run.create(path, 'geister-quick', 'dream', Config())\n"
TRY = """
try:
    Run.open(path, writing=True).close()
except UsageError as error:
    print(error)
else:
    print("opened")
print(find_holder(path))
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "shim.so", "shim.c"], cwd=folder, check=True)
    return folder / "shim.so"


@pytest.fixture
def start(shim: Path, tmp_path: Path) -> Start:
    def run(script: str, error: int = errno.ENOSYS) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "run")],
            env=os.environ | {"LD_PRELOAD": str(shim), "FLOCK_ERROR": str(error)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


@pytest.mark.parametrize("error", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_run_is_locked_on_a_file_system_without_locks(error: int, start: Start, tmp_path: Path) -> None:
    process = start(f"{CREATE}{TRY}run.close()\n{TRY}", error)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    held, holder, free, none = out.splitlines()
    assert held.startswith(f"{tmp_path / 'run'} is in use by process {process.pid} on ")
    assert f"if it has ended, remove {tmp_path / 'run' / 'run.lock-'}" in held
    assert f"'process': {process.pid}" in holder
    assert (free, none) == ("opened", "None")
    assert "is on a file system without locks: run.lock-" in err
    assert [file.name for file in (tmp_path / "run").glob("*.lock*")] == ["run.lock"]


def test_claim_of_a_killed_process_is_given_up(start: Start, tmp_path: Path) -> None:
    holder = start(f"{CREATE}print(flush=True)\nsys.stdin.read()")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "\n"
    out, _ = start(START + TRY).communicate(timeout=60)
    assert f"is in use by process {holder.pid} on " in out
    holder.kill()
    holder.communicate()
    assert len(list((tmp_path / "run").glob("run.lock-*"))) == 1
    assert start(START + TRY).communicate(timeout=60)[0] == "opened\nNone\n"
    assert not list((tmp_path / "run").glob("run.lock-*"))


def test_claim_of_another_machine_holds_until_it_is_removed(start: Start, tmp_path: Path) -> None:
    start(f"{CREATE}run.close()").communicate(timeout=60)
    claim = tmp_path / "run" / "run.lock-00000000"
    claim.write_text("process 1 on elsewhere.example\nanother machine\n5\n")
    out, _ = start(START + TRY).communicate(timeout=60)
    assert out.startswith(f"{tmp_path / 'run'} is in use by process 1 on elsewhere.example: ")
    claim.unlink()
    assert start(START + TRY).communicate(timeout=60)[0] == "opened\nNone\n"
