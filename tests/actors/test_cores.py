"""The cores of a container: the quotas of control groups of both versions, also of the groups around its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.cores import _quotas, available_cpus

V1 = Path("/sys/fs/cgroup/cpu")
PRINT = "from actors.cores import available_cpus; print(available_cpus())"


@pytest.fixture
def nested() -> Iterator[Path]:
    """A real group of version 1 within another one, if this user may make one."""
    outer = V1 / f"dancfr-test-{os.getpid()}"
    try:
        if not (V1 / "cpu.cfs_quota_us").exists():
            pytest.skip("no control groups of version 1")
        (outer / "inner").mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    yield outer / "inner"
    for group in (outer / "inner", outer):
        group.rmdir()


@pytest.mark.parametrize("limited", ["own", "outer"])
def test_cores_are_those_of_the_control_group(limited: str, nested: Path) -> None:
    group = nested if limited == "own" else nested.parent
    (group / "cpu.cfs_quota_us").write_text("50000")
    enter = ["sh", "-c", f'echo $$ > {nested}/cgroup.procs; exec "$@"', "sh", sys.executable, "-c", PRINT]
    done = subprocess.run(enter, capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) == 1
    (group / "cpu.cfs_quota_us").write_text("-1")
    done = subprocess.run(enter, capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) == available_cpus()


@pytest.mark.parametrize(
    ("cgroup", "mount", "files", "expected"),
    [
        ("0::/a/b\n", "/ {top} rw - cgroup2 cgroup2 rw", {"a/cpu.max": "150000 100000"}, [1.5]),
        ("0::/a/b\n", "/ {top} rw - cgroup2 cgroup2 rw", {"a/b/cpu.max": "max 100000", "cpu.max": "1 2"}, [0.5]),
        ("0::/\n", "/ {top} rw shared:9 - cgroup2 cgroup rw", {"cpu.max": "300000 100000"}, [3.0]),
        # The path outside the container, whose own group is the top that it sees.
        ("0::/../../pod/c\n", "/ {top} rw - cgroup2 cgroup rw", {"cpu.max": "20000 10000"}, [2.0]),
        (
            "4:cpuacct,cpu:/docker/c\n0::/\n",
            "/docker/c {top} ro - cgroup cgroup rw,cpu,cpuacct",
            {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"},
            [0.5],
        ),
        ("0::/a\n", "/ {top} rw - cgroup2 cgroup2 rw", {}, []),
        ("", "", {}, []),
    ],
)
def test_quotas_are_read_from_groups_of_both_versions(
    cgroup: str, mount: str, files: dict[str, str], expected: list[float], tmp_path: Path
) -> None:
    """The files of groups of version 2, and of a container, written by hand: a machine has one kind of them only."""
    top = tmp_path / "groups"
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"{text}\n")
    process = tmp_path / "self"
    process.mkdir()
    (process / "cgroup").write_text(cgroup)
    (process / "mountinfo").write_text(f"32 31 0:29 {mount.format(top=top)}\n" if mount else "")
    assert list(_quotas(process)) == expected


def test_missing_proc_limits_nothing(tmp_path: Path) -> None:
    assert list(_quotas(tmp_path)) == []
