"""Plain classes as Ray actors: `RayRuntime` implements the interface that `actors.runtime` describes."""

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actors import addresses, cluster, machine
from actors.cores import available_cpus
from actors.ray_errors import portable, translated
from actors.runtime import (
    BlockLost,
    Gathered,
    Handle,
    InlineRef,
    InlineRuntime,
    RayLost,
    Ref,
    RemoteError,
    ResourcesMissing,
    Runtime,
    T,
    WorkerDied,
    name_of,
)
from actors.watchdog import Watchdog

__all__ = [
    "BlockLost",
    "Handle",
    "InlineRuntime",
    "RayLost",
    "RayRuntime",
    "Ref",
    "RemoteError",
    "ResourcesMissing",
    "Runtime",
    "WorkerDied",
    "end",
    "fetch",
]


def fetch(ref: Ref) -> Any:
    """The value of a ref, or the values of a list of refs; works in the driver, in an actor, and inline.

    Raises:
        Exception: See `Runtime.get`.
    """
    if isinstance(ref, Gathered):
        return ref.merge(fetch(list(ref.parts)))
    if isinstance(ref, list) and all(isinstance(part, InlineRef) for part in ref):
        return [part.value() for part in ref]
    if isinstance(ref, InlineRef):
        return ref.value()
    import ray

    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        known = translated(error)
        raise known from known.__cause__


def end(handle: Handle[Any]) -> None:
    """Ends an actor from within another one; its calls fail with `WorkerDied`. Does nothing to other objects."""
    import ray

    if isinstance(handle, RayHandle):
        ray.kill(handle.actor, no_restart=True)


class _Host:
    """Runs inside an actor's process: holds a plain object and forwards calls to it.

    An exception in the constructor does not end the actor. Every call raises it instead, so that the caller learns the
    cause rather than "the actor died".

    Its process works in the folder of the process that has started it, where that folder exists, so that relative paths
    mean the same in both: Ray's workers stay in the folder in which Ray was started.
    """

    def __init__(self, folder: str, factory: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
        self._target: Any = None
        self._failure: Exception | None = None
        with contextlib.suppress(OSError):
            os.chdir(folder)
        try:
            self._target = factory(*args, **kwargs)
        except Exception as error:
            self._failure = portable(error)

    def ready(self) -> None:
        if self._failure is not None:
            raise self._failure

    def invoke(self, method: str, /, *args: Any, **kwargs: Any) -> Any:
        self.ready()
        try:
            return getattr(self._target, method)(*args, **kwargs)
        except Exception as error:
            raise portable(error) from error


class RayHandle(Handle[T]):
    """A plain object in a Ray actor."""

    def __init__(self, name: str, actor: Any) -> None:
        self.name = name
        self.actor = actor
        self.stopped = False  # Ray ends an actor asynchronously, and may still answer a call after `ray.kill`

    def send(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], returns: int = 1) -> Any:
        """See `Handle.send`.

        Raises:
            WorkerDied: The object was stopped.
        """
        if self.stopped:
            raise WorkerDied(f"{self.name} died: it was stopped")
        if returns == 1:
            return self.actor.invoke.remote(method, *args, **kwargs)
        return tuple(self.actor.invoke.options(num_returns=returns).remote(method, *args, **kwargs))

    def ready(self) -> Ref:
        """See `Handle.ready`."""
        return self.actor.ready.remote()


class RayRuntime:
    """Objects as Ray actors, on a Ray that this process starts or joins.

    Ray neither restarts actors nor repeats calls: the callers know which calls can be repeated (see `actors.pool`).

    Args:
        address: `auto` or `host:port` of a running Ray, or `local` for a new one, which listens on 127.0.0.1 only. None
            means the Ray that the variable RAY_ADDRESS names, as it does in a job of a cluster, or else `local`.
        workers: Number of one-core workers; by default the number of CPUs.
        dashboard: Serve Ray's dashboard on 127.0.0.1. Only for a local Ray.
        patience_s: Seconds to wait for missing resources, which are requested from the autoscaler if there is one.
        gpu_patience_s: The same for an object on a GPU, if that is longer.
        say: Called with lines that say which Ray is started or joined, and one when a wait begins; by default nothing
            is said.

    Attributes:
        patience_s: As above; may be changed at any time.
        dashboard_url: URL of the dashboard of a local Ray; None without one.

    Raises:
        ResourcesMissing: There are fewer CPUs than `workers`.
        RayUnavailable: Ray is not installed, did not start, or does not answer.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        dashboard: bool = False,
        patience_s: float = 0.0,
        gpu_patience_s: float = 0.0,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.parallel, self.processes = True, True
        self.patience_s, self._gpu_patience_s = patience_s, gpu_patience_s
        self._say = say or (lambda line: None)
        self._requested = False  # of the autoscaler
        self.dashboard_url: str | None = None
        self._handles: dict[str, tuple[RayHandle[Any], float, float]] = {}  # by actor name: handle, CPUs, GPUs
        self._actors = itertools.count(1)
        self._home: str | None = None
        choice = addresses.choose(address)
        if choice.address is None:
            cpus = available_cpus()
            _check_workers(workers, cpus, "this machine")  # first, since starting Ray takes seconds
        self._owner = not cluster.running()
        if not self._owner:
            cluster.check_packages()
        elif choice.address is None:
            self._say(f"Ray: starting on this machine with {cpus} CPU{'' if cpus == 1 else 's'}{choice.reason} ...")
            self.dashboard_url = cluster.start_local(cpus, dashboard, self._say)
        else:
            choice.check()
            self._say(f"Ray: joining {choice.address} ...")
            try:
                cluster.join(choice.address, self._say)
            except cluster.RayUnavailable as error:
                raise cluster.RayUnavailable(f"{error}{choice.cure}") from error
        import ray

        joined = ray.get_runtime_context().gcs_address
        if self._owner and choice.address is not None:
            self._say(f"Ray: joined {joined}{choice.reason}")
        self._local = self._owner and choice.address is None
        self._watchdog = Watchdog(joined, own=self._local)
        try:
            self._await_workers(workers)
        except BaseException:
            self.shutdown()
            raise
        self.workers = workers or max(self._cpus(), 1)

    def _cpus(self) -> int:
        import ray

        return int(ray.cluster_resources().get("CPU", 0))

    @property
    def gpus(self) -> float:
        """GPUs of all machines."""
        import ray

        return float(ray.cluster_resources().get("GPU", 0.0))

    def _await_workers(self, workers: int | None) -> None:
        """Waits until there is a CPU for each worker; raises ResourcesMissing after `patience_s` seconds."""
        bundles = [{"CPU": 1.0}] * (workers or 0)
        self._patiently(lambda: _check_workers(workers, self._cpus(), "Ray"), self.patience_s, bundles)

    def _patiently(self, check: Callable[[], None], patience_s: float, bundles: list[dict[str, float]]) -> None:
        """Repeats a check that raises ResourcesMissing until it passes or `patience_s` seconds have passed. Before the
        first wait it asks the autoscaler, if there is one, for machines that also hold these bundles of resources; when
        the check passes, it withdraws the request, since a machine with running objects stays anyway."""
        deadline = time.monotonic() + patience_s
        for tries in itertools.count():
            try:
                check()
                return self._request([])
            except ResourcesMissing as error:
                if self._local and not self._cpus():  # the machine's own node has ended, and will not come back
                    raise self._watchdog.error() from error
                if time.monotonic() >= deadline:
                    raise
                if tries == 0:
                    self._say(f"{error}; waiting up to {patience_s:g} s for them")
                    self._request(bundles)
            time.sleep(min(1.0, max(0.05, patience_s)))
            self.check()

    def _request(self, bundles: list[dict[str, float]]) -> None:
        """Asks the autoscaler for machines that hold these bundles beside this run's objects. This replaces the request
        before; no bundles withdraw it. A local Ray has no autoscaler."""
        if self._local or not (bundles or self._requested):
            return
        from ray.autoscaler.sdk import request_resources

        # The autoscaler takes a request for all that is to run, what runs already included.
        held = [{"CPU": cpus, "GPU": gpus} for _, cpus, gpus in self._handles.values() if cpus or gpus]
        request_resources(bundles=[*held, *bundles] if bundles else [])
        self._requested = bool(bundles)

    def start(
        self,
        factory: Callable[..., T],
        *args: Any,
        cpus: float = 1.0,
        gpus: float = 0.0,
        name: str = "",
        preflight: bool = True,
        home: bool = False,
        **kwargs: Any,
    ) -> Handle[T]:
        """See `Runtime.start`."""
        import ray

        name = name or name_of(factory)
        if preflight:
            patience = max(self.patience_s, self._gpu_patience_s if gpus else 0.0)
            bundles = [{"CPU": cpus, "GPU": gpus}] if gpus else []
            self._patiently(lambda: self._check_resources(name, cpus, gpus), patience, bundles)
        # `ps`, `ray list actors` and the dashboard show the name of the class, so it is that of the hosted class.
        named = type(name_of(factory), (_Host,), {"__module__": __name__})
        host: Any = ray.remote(named)
        options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0, "max_task_retries": 0}
        options["name"] = f"{name} #{next(self._actors)}"  # names are unique within Ray, and part of its errors
        if home:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            # Ray ignores a soft affinity of an actor that requests no resources.
            soft = cpus + gpus > 0
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(self._home_node(gpus), soft=soft)
        actor = host.options(**options).remote(machine.current_folder(), factory, *args, **kwargs)
        handle: RayHandle[T] = RayHandle(name, actor)
        self._handles[options["name"]] = (handle, cpus, gpus)
        return handle

    def _home_node(self, gpus: float) -> str:
        """The machine of the learners and their buffers: the driver's, since it stays when others come and go, unless
        the first learner needs a GPU that only another machine has."""
        import ray

        if self._home is None:
            own = ray.get_runtime_context().get_node_id()
            alive = {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
            fit = [node for node, resources in alive.items() if resources.get("GPU", 0.0) >= gpus]
            self._home = own if own in fit or not fit else fit[0]
        return self._home

    def put(self, value: Any) -> Ref:
        """See `Runtime.put`."""
        import ray

        return ray.put(value)

    def get(self, refs: Any, timeout: float | None = None) -> Any:
        """See `Runtime.get`."""
        import ray

        if isinstance(refs, Gathered):
            return refs.merge(self.get(list(refs.parts), timeout))
        try:
            return ray.get(refs, timeout=timeout)
        except ray.exceptions.GetTimeoutError:
            raise TimeoutError(f"no result within {timeout:g} s") from None
        except ray.exceptions.RayError as error:
            known = translated(error)
            raise known from known.__cause__

    def wait(self, refs: Sequence[Ref], count: int = 1, timeout: float | None = None) -> list[Ref]:
        """See `Runtime.wait`."""
        import ray

        if not refs or count == 0:
            return []
        return ray.wait(list(refs), num_returns=min(count, len(refs)), timeout=timeout, fetch_local=False)[0]

    def stop(self, handle: Handle[Any]) -> None:
        """See `Runtime.stop`."""
        import ray

        if not isinstance(handle, RayHandle):
            return
        handle.stopped = True
        for name, (own, _, _) in list(self._handles.items()):
            if own is handle:
                del self._handles[name]
                ray.kill(handle.actor, no_restart=True)

    def stop_all(self) -> None:
        """See `Runtime.stop_all`."""
        for handle, _, _ in list(self._handles.values()):
            self.stop(handle)
        self._home = None

    def check(self) -> None:
        """See `Runtime.check`."""
        self._watchdog.check()

    def shutdown(self) -> None:
        """See `Runtime.shutdown`. A Ray that this runtime has joined, or that the caller had started, keeps running."""
        try:
            self._shut_down()
        finally:
            self._watchdog.take_leave()

    def _shut_down(self) -> None:
        import ray

        if not ray.is_initialized():
            return
        self._watchdog.stop()
        if self._watchdog.lost:  # Ray cannot stop actors any more; they end with the Ray of their machines
            self._handles.clear()
        else:
            with contextlib.suppress(Exception):  # Ray may have been lost just now
                self._request([])
        self.stop_all()
        self._watchdog.take_leave()
        if self._owner:
            cluster.leave()

    def _check_resources(self, name: str, cpus: float, gpus: float) -> None:
        """Raises ResourcesMissing in cases in which Ray would let an actor wait forever without a message."""
        import ray

        total = ray.cluster_resources()
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        held = self._handles.values()
        taken_cpus, taken_gpus = sum(entry[1] for entry in held), sum(entry[2] for entry in held)
        cure = "ask for fewer workers or add machines", "add a machine that has some, or train with --device cpu"
        for kind, wanted, taken, what in (("CPU", cpus, taken_cpus, cure[0]), ("GPU", gpus, taken_gpus, cure[1])):
            there = total.get(kind, 0.0)
            largest = max((node.get(kind, 0.0) for node in nodes), default=0.0)
            if wanted > there - taken + 1e-6 or wanted > largest + 1e-6:
                raise ResourcesMissing(
                    f"{name} asks for {wanted:g} {kind}s, but Ray has {there:g} (at most {largest:g} on one "
                    f"machine), {taken:g} of them in use by this run; {what}"
                )


def _check_workers(workers: int | None, cpus: int, where: str) -> None:
    if workers is not None and not 1 <= workers <= cpus:
        there = f"{cpus} CPUs; use 1 to {cpus} workers" if cpus > 1 else "1 CPU; use 1 worker"
        raise ResourcesMissing(f"{workers} workers do not fit: {where} has {there}")
