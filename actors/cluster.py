"""Starts a local Ray or joins a running one: addresses and environment variables.

Ray is imported only when it is needed. A Ray that is started here listens on the loopback interface only, requires a
token, sends no usage statistics, and leaves the caller's signal handlers alone.
"""

import importlib
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from actors import machine
from actors.addresses import RayUnavailable as RayUnavailable
from actors.addresses import without_proxy
from actors.credentials import make_token, protect_token
from actors.packages import PIN, python_path, shadowing

log = logging.getLogger(__name__)

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
    # Below `uv run`, Ray would send the current folder to the workers and start each by `uv run` again.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # The control service remembers the last 100,000 calls, a quarter of a gigabyte, for a page of the dashboard.
    "RAY_task_events_max_num_task_in_gcs": "2000",
    # Ray puts the driver's current folder in front of the path of its workers, and that of a user's project may have
    # packages of our names. This is imported before.
    "RAY_preload_python_modules": PIN,
}

START_LIMIT_S = 180.0
"""Longest time that a start of Ray may take, in seconds; on two idle cores it takes three."""
JOIN_LIMIT_S = 60.0
"""Longest time until a running Ray has accepted this process, in seconds; without a limit Ray tries for minutes."""

_ended = threading.Event()
"""Set when this process needs its Ray no longer."""


def running() -> bool:
    """Whether this process is connected to a Ray. Does not import Ray."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()


def start_local(cpus: int, dashboard: bool, say: Callable[[str], None] = log.warning) -> str | None:
    """Starts a Ray for this process alone.

    Args:
        cpus: Number of cores that actors share.
        dashboard: Serve Ray's dashboard on 127.0.0.1.
        say: Called with one line if other users could read the token, and one if there is little shared memory.

    Returns:
        URL of the dashboard; None without one.

    Raises:
        RayUnavailable: Ray did not start, or could not on this machine.
    """
    if (obstacle := machine.obstacle(cpus)) is not None:
        raise RayUnavailable(f"no local Ray can start: {obstacle}")
    if (slow := machine.small_shared_memory()) is not None:
        say(slow)
    protect_token(say)
    environment = THREADS | _LOCAL | python_path() | make_token() | without_proxy("127.0.0.1")
    environment["RAY_TMPDIR"] = str(machine.temporary_folder())
    if "ray" in sys.modules:  # Ray has read its mode already; the default is `token`, with a warning
        del environment["RAY_AUTH_MODE"]
        if os.environ.get("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER") != "0":
            log.warning("Ray was imported before dancfr could configure it, so its servers listen on all interfaces")
    with variables(environment):  # inherited by Ray's processes; a runtime environment costs 1 s an actor
        context = _init(
            START_LIMIT_S,
            address="local",
            num_cpus=cpus,
            include_dashboard=dashboard,
            dashboard_host="127.0.0.1",
            object_store_memory=machine.object_store_bytes(),
        )
    return f"http://{context.dashboard_url}" if context.dashboard_url else None


def join(address: str, say: Callable[[str], None] = log.warning) -> None:
    """Joins the Ray at `address` (``auto``, or ``host:port``).

    Every machine of the cluster must have the packages: installed, in a checkout at the same path as this one, or as
    the working directory of a job.

    Args:
        address: The address, which `actors.addresses.Choice.check` has checked.
        say: Called with one line if other users could read the token.

    Raises:
        RayUnavailable: No Ray answers there, or it does not accept this process.
    """
    if (obstacle := machine.unsent_name()) is not None:
        raise RayUnavailable(f"no Ray can be joined: {obstacle}")
    protect_token(say)
    environment: dict[str, Any] = {"env_vars": THREADS | python_path()}
    if _shadowing() is not None:
        environment["worker_process_setup_hook"] = f"{PIN}.pin_packages"  # in place of RAY_preload_python_modules
    with variables(without_proxy("127.0.0.1")):  # Ray itself would send its metrics to this machine's agent through it
        _init(JOIN_LIMIT_S, address=address, runtime_env=environment)


def check_packages() -> None:
    """Checks that the workers of a Ray that the caller has started find our packages.

    Raises:
        RayUnavailable: They would find others, because it is too late to have them import ours first.
    """
    if (other := _shadowing()) is not None:
        raise RayUnavailable(
            f"workers of the Ray that was started before dancfr would import {other} in place of dancfr's package of "
            "that name: let dancfr start or join Ray, or give that package another name"
        )


def _shadowing() -> Path | None:
    """Finds a package that would replace one of ours in the folders that Ray puts first on its workers' path."""
    return shadowing([os.getcwd(), os.path.dirname(os.path.realpath(sys.argv[0]))])


def leave() -> None:
    """Leaves the Ray that `join` has joined, or ends the one that `start_local` has started."""
    importlib.import_module("ray").shutdown()
    _ended.set()


def make_metrics(counters: Mapping[str, str], gauges: Mapping[str, str], tags: tuple[str, ...]) -> dict[str, Any]:
    """Metrics that Ray serves for Prometheus, by name, from their names and descriptions."""
    from ray.util.metrics import Counter, Gauge

    made: dict[str, Any] = {name: Counter(name, text, tag_keys=tags) for name, text in counters.items()}
    return made | {name: Gauge(name, text, tag_keys=tags) for name, text in gauges.items()}


def own_address() -> str:
    """Address of this machine as other machines of the same Ray know it."""
    import ray

    address: str = ray.util.get_node_ip_address()
    return address


def _init(limit_s: float, **options: Any) -> Any:
    """Calls `ray.init` and returns its context.

    The call has a thread of its own, so that this one waits no longer than `limit_s` seconds and answers to signals
    meanwhile. Ray's own handler of SIGTERM, which exits, is not installed from there. The thread lives until `leave`,
    since Linux ends Ray's processes with the thread that has started them.
    """
    try:
        ray = importlib.import_module("ray")  # within the environment that its import reads
    except ImportError as error:
        raise RayUnavailable(f"Ray cannot be imported ({error}); install it, or run with --inline") from error
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # the caller that waits for a result reports its error
    logging.getLogger("ray").setLevel(logging.ERROR)  # Ray would warn that it has set no handler of signals
    address = options["address"]
    failed = "no local Ray could be started" if address == "local" else f"no Ray could be joined at {address}"
    answer: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    _ended.clear()

    def call() -> None:
        # Ray's processes inherit this: a closed terminal sends SIGHUP to them too, and the caller still needs them.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        try:
            options.update(log_to_driver=False, logging_level=logging.ERROR, configure_logging=True)
            answer.put((ray.init(**options), None))
        except BaseException as error:
            answer.put((None, error))
        _ended.wait()

    threading.Thread(target=call, name="ray-init", daemon=True).start()
    cure = "; try again, or run in this process with --inline" if address == "local" else ""
    try:
        context, failure = answer.get(timeout=limit_s)
    except queue.Empty:
        raise RayUnavailable(f"{failed}: it did not answer within {limit_s:g} s{cure}") from None
    if failure is None:
        return context
    _ended.set()
    reason = next(iter(str(failure).strip().splitlines()), type(failure).__name__)
    if address != "local" and "RAY_AUTH_MODE" not in os.environ:
        reason += "; if it requires a token, set RAY_AUTH_MODE=token"
    raise RayUnavailable(f"{failed}: {reason}{cure}") from failure


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
