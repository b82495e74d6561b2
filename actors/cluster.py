"""Starting a Ray of one's own, or joining one that runs: addresses, environment, memory. Imports Ray only
when asked.

A Ray started here listens on the loopback interface only, asks for a token, sends no usage statistics, and
leaves standard output and the caller's signal handlers alone.
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
PACKAGES = ("dancfr", "actors", "learners", "envs")

# Each actor computes on one core: with more threads than cores they only wait for each other.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

# The first makes the node's address 127.0.0.1, so that every server of Ray binds to loopback. A Ray that
# other machines may join is started with `ray start` and joined by its address.
_CLUSTER_SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
# Ray's control service remembers the last 100,000 calls, a quarter of a gigabyte, for a page of its dashboard.
# Ray gives its workers the lowest priority but a few; on a machine that does anything else they would hardly run.
_PRIVATE = {
    _CLUSTER_SWITCH: "0",
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_task_events_max_num_task_in_gcs": "2000",
}

_MIB = 2**20


class RayUnavailable(RuntimeError):
    """Ray is not installed, did not start, or does not answer at the address. The message is one line."""


def available_cpus() -> int:
    """Cores this process may use: its affinity, and the quota of its control group (containers)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cores = min(cores, max(1, math.floor(int(quota) / int(period))))
    except (OSError, ValueError):
        pass  # no control groups of version 2 here
    return cores


def object_store_bytes(limit: int = 4096 * _MIB) -> int:
    """Shared memory for what actors hand to each other: a quarter of what is free, 256 MiB to 4 GiB.

    Blocks in flight are a few megabytes each and the pool bounds their number, so more would only be idle.
    """
    try:
        stat = os.statvfs("/dev/shm")
        free = stat.f_bavail * stat.f_frsize
    except OSError:
        free = 4 * limit
    return max(256 * _MIB, min(limit, free // 4))


def installed() -> bool:
    """Whether the packages are installed, and not loaded from a checkout (as editable ones are)."""
    places = [sysconfig.get_path("purelib"), *site.getsitepackages(), site.getusersitepackages()]
    return any(Path(place).resolve() == ROOT for place in places)


def running() -> bool:
    """Whether this process has a connection to a Ray; does not import it."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()


def start_local(cpus: int, dashboard: bool) -> None:
    """Starts a Ray for this process alone.

    Args:
        cpus: Cores that actors may share.
        dashboard: Serve Ray's dashboard on 127.0.0.1.

    Raises:
        RayUnavailable: it did not come up.
    """
    environment = THREADS | _PRIVATE
    if "ray" in sys.modules:  # it has read its mode already; by default it is `token` as well, with a warning
        del environment["RAY_AUTH_MODE"]
    if not installed():  # actors must find the checkout wherever this process was started
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    with _variables(environment):  # inherited by Ray's processes; a runtime environment costs 1 s an actor
        _init(
            address="local",
            num_cpus=cpus,
            include_dashboard=dashboard,
            dashboard_host="127.0.0.1",
            object_store_memory=object_store_bytes(),
        )


def join(address: str) -> None:
    """Joins the Ray at `address` (``auto``, or ``host:port``). From a checkout, the packages are sent along.

    Raises:
        RayUnavailable: nothing answers there, or the address is of a kind that cannot serve.
    """
    if address.startswith("ray://"):
        raise RayUnavailable(
            f"{address}: Ray Client cannot carry a training run; start it with `ray job submit` "
            "or on a node of the cluster with --address auto"
        )
    host, _, port = address.rpartition(":")
    if address != "auto":  # Ray itself would try for a minute and a half
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=5) as connection:
                speaks = _speaks_http2(connection)
        except ValueError:
            raise RayUnavailable(f"{address!r} is no address of a Ray: say auto, or host:port") from None
        except OSError as error:
            raise RayUnavailable(f"nothing answers at {address} ({error.strerror or error})") from error
        if not speaks and os.environ.get("RAY_USE_TLS", "0") in ("", "0"):
            raise RayUnavailable(f"what answers at {address} is no Ray: another program has that port")
    environment: dict[str, Any] = {"env_vars": dict(THREADS)}
    shipped = "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ  # by `ray job submit --working-dir`
    if not installed() and not shipped:
        environment["py_modules"] = [str(ROOT / package) for package in PACKAGES if (ROOT / package).is_dir()]
    _init(address=address, runtime_env=environment)


def _speaks_http2(connection: socket.socket) -> bool:
    """Whether the other side answers the preface of HTTP/2, which carries Ray's calls (RFC 9113, 3.4)."""
    empty_settings = bytes(3) + b"\x04" + bytes(5)
    try:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + empty_settings)
        answer = b""
        while len(answer) < 4 and (more := connection.recv(9)):
            answer += more
    except OSError:  # a timeout, too
        return False
    return answer[3:4] == b"\x04"


def _init(**options: Any) -> None:
    try:
        ray = importlib.import_module("ray")  # within the environment that its import reads
        ray_constants = importlib.import_module("ray._private.ray_constants")
    except ImportError as error:
        raise RayUnavailable(f"Ray cannot be imported ({error}); install it, or run with --inline") from error
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # whoever waits for a result tells of its error
    local = options["address"] == "local"
    vars(ray_constants)["ENABLE_RAY_CLUSTER"] = not local  # read at import, which may have been earlier
    with _own_signals():
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, configure_logging=True, **options)
        except Exception as error:
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            if local:
                raise RayUnavailable(f"no local Ray could be started: {reason}") from error
            cure = "" if "RAY_AUTH_MODE" in os.environ else "; if it asks for a token, set RAY_AUTH_MODE=token"
            raise RayUnavailable(f"no Ray could be joined at {options['address']}: {reason}{cure}") from error
    _keep_stdout_clean()


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the processes started within."""
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
    """Ray replaces the handler of SIGTERM by one that exits; ours writes a checkpoint first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGTERM, handler)


def _keep_stdout_clean() -> None:
    """Ray prints what its node manager reports (a worker's death, say) to standard output, where results
    belong.

    The pool reports deaths in one line, so the original goes to the log of this module.
    """
    import ray._private.worker as internals

    if not hasattr(internals, "print_to_stdstream"):
        log.debug("this Ray prints the reports of its node manager by other means")
        return

    def to_log(data: Mapping[str, Any], *_: Any, **__: Any) -> None:
        log.info("%s: %s", data.get("pid", "ray"), "\n".join(map(str, data.get("lines", []))))

    internals.print_to_stdstream = to_log
