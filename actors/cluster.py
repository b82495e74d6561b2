"""Starts a local Ray or joins a running one: addresses, environment variables, memory.

Ray is imported only when it is needed. A Ray that is started here listens on the loopback interface only, requires a
token, sends no usage statistics, and leaves the caller's signal handlers alone.
"""

import importlib
import logging
import math
import os
import signal
import site
import socket
import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parent.parent

THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""Environment variables that limit a process to one thread of computation.

The libraries read them when NumPy and torch are imported. Each process here computes on one core: several processes
with as many threads as there are cores each would spend their time waiting for each other.
"""

_LOCAL = {
    # Makes the node's address 127.0.0.1, so that every server of Ray binds to the loopback interface. Ray reads this
    # variable, and the next one, when it is imported.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # By default Ray gives its workers a low priority; on a machine that does anything else they would hardly run.
    "RAY_worker_niceness": "0",
    # The control service remembers the last 100,000 calls, a quarter of a gigabyte, for a page of the dashboard.
    "RAY_task_events_max_num_task_in_gcs": "2000",
}

_MIB = 2**20


class RayUnavailable(RuntimeError):
    """Ray is not installed, did not start, or does not answer at the address. The message is one line."""


def available_cpus() -> int:
    """Number of cores that this process may use, given its CPU affinity and the quota of its control group."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cores = min(cores, max(1, math.floor(int(quota) / int(period))))
    except (OSError, ValueError):
        pass  # this machine has no control groups of version 2
    return cores


def object_store_bytes(limit: int = 4096 * _MIB) -> int:
    """Size of Ray's object store: a quarter of the free shared memory, between 256 MiB and `limit`.

    Blocks in flight are a few megabytes each and the pool bounds their number, so more would be idle.
    """
    try:
        stat = os.statvfs("/dev/shm")
        free = stat.f_bavail * stat.f_frsize
    except OSError:
        free = 4 * limit
    return max(256 * _MIB, min(limit, free // 4))


def installed() -> bool:
    """Whether the packages are installed in site-packages; False for a checkout and for an editable installation."""
    folders = [sysconfig.get_path("purelib"), *site.getsitepackages(), site.getusersitepackages()]
    return any(Path(folder).resolve() == ROOT for folder in folders)


def running() -> bool:
    """Whether this process is connected to a Ray. Does not import Ray."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()


def start_local(cpus: int, dashboard: bool) -> str | None:
    """Starts a Ray for this process alone.

    Args:
        cpus: Number of cores that actors share.
        dashboard: Serve Ray's dashboard on 127.0.0.1.

    Returns:
        URL of the dashboard; None without one.

    Raises:
        RayUnavailable: Ray did not start.
    """
    environment = THREADS | _LOCAL | _python_path()
    if "ray" in sys.modules:  # Ray has read its mode already; the default is `token`, with a warning
        del environment["RAY_AUTH_MODE"]
        if os.environ.get("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER") != "0":
            log.warning("Ray was imported before dancfr could configure it, so its servers listen on all interfaces")
    with variables(environment):  # inherited by Ray's processes; a runtime environment costs 1 s an actor
        context = _init(
            address="local",
            num_cpus=cpus,
            include_dashboard=dashboard,
            dashboard_host="127.0.0.1",
            object_store_memory=object_store_bytes(),
        )
    return f"http://{context.dashboard_url}" if context.dashboard_url else None


def join(address: str) -> None:
    """Joins the Ray at `address` (``auto``, or ``host:port``).

    Every machine of the cluster must have the packages: installed, in a checkout at the same path as this one, or as
    the working directory of a job.

    Raises:
        RayUnavailable: No Ray answers there, or the address is of a kind that cannot carry a training run.
    """
    if address.startswith("ray://"):
        raise RayUnavailable(
            f"{address}: Ray Client cannot carry a training run; start it with `ray job submit` "
            "or on a node of the cluster with --address auto"
        )
    if address != "auto":
        _check_server(address)
    _init(address=address, runtime_env={"env_vars": THREADS | _python_path()})


def _python_path() -> dict[str, str]:
    """Environment variables with which actors import this checkout, whatever their current folder is."""
    if installed():
        return {}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def _check_server(address: str, seconds: float = 5.0) -> None:
    """Raises RayUnavailable unless a gRPC server, which Ray's control service is, answers at ``host:port``.

    `ray.init` itself would try for more than three minutes, for instance at the port of the dashboard.
    """
    try:
        host, _, port = address.rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
    except ValueError:
        raise RayUnavailable(f"the address of Ray must be auto or host:port, got {address!r}") from None
    except OSError as error:
        raise RayUnavailable(f"nothing answers at {address} ({error.strerror or error})") from error
    if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
        return
    try:
        import grpc  # a dependency of Ray
    except ImportError:
        return
    with grpc.insecure_channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=seconds)
        except grpc.FutureTimeoutError:
            raise RayUnavailable(f"the program that answers at {address} is not Ray's control service") from None


def _init(**options: Any) -> Any:
    """Calls `ray.init` and returns its context."""
    try:
        ray = importlib.import_module("ray")  # within the environment that its import reads
    except ImportError as error:
        raise RayUnavailable(f"Ray cannot be imported ({error}); install it, or run with --inline") from error
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # the caller that waits for a result reports its error
    address = options["address"]
    with _own_signals():
        try:
            return ray.init(log_to_driver=False, logging_level=logging.ERROR, configure_logging=True, **options)
        except Exception as error:
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            if address == "local":
                raise RayUnavailable(f"no local Ray could be started: {reason}") from error
            cure = "" if "RAY_AUTH_MODE" in os.environ else "; if it requires a token, set RAY_AUTH_MODE=token"
            raise RayUnavailable(f"no Ray could be joined at {address}: {reason}{cure}") from error


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables for the duration of a block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restores the handler of SIGTERM: Ray's own exits, the caller's writes a checkpoint first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGTERM, handler)
