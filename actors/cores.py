"""The number of cores that this process may use."""

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_SELF = Path("/proc/self")


def available_cpus() -> int:
    """Number of cores that this process may use: at most those of its CPU affinity and of the quotas of its control
    groups, and at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min([cores, *_quotas(_SELF)])))


def _quotas(process: Path) -> Iterator[float]:
    """The quotas, in cores, of a process's control group and of all groups around it, of version 1 or 2.

    Args:
        process: The process's folder in ``/proc``.
    """
    with suppress(OSError, ValueError):
        for folder, top in _groups(process):
            for group in (folder, *folder.parents):
                with suppress(OSError, ValueError):  # no limit is set, or the group is not visible here
                    yield _quota(group)
                if group == top:
                    break


def _groups(process: Path) -> Iterator[tuple[Path, Path]]:
    """The folders of the control groups that limit a process's CPU time, each with the mount point above it."""
    paths = {}
    for line in (process / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            paths["cgroup" if controllers else "cgroup2"] = path
    for line in (process / "mountinfo").read_text().splitlines():
        place, _, kind = line.partition(" - ")
        root, point = place.split()[3:5]
        system, _, options = kind.split()[:3]
        if system == "cgroup2" or (system == "cgroup" and "cpu" in options.split(",")):
            top = Path(point)
            # A container may see its own group, which has another path outside, as the top of all.
            inner = os.path.relpath(paths.get(system, root), root)
            yield (top if inner.startswith("..") else top / inner), top


def _quota(group: Path) -> float:
    """The quota of a control group in cores.

    Raises:
        OSError, ValueError: The group has none.
    """
    limit = group / "cpu.max"
    if limit.exists():
        quota, period = limit.read_text().split()
    else:
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
    if int(quota) <= 0:  # -1 in version 1, where version 2 has `max`
        raise ValueError
    return int(quota) / int(period)
