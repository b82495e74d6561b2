"""The actors of a run, of any method: where they live, how they are saved and restored, how workers are made."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from actors.pool import PoolEvent, WorkerPool
from actors.remote import Handle, InlineRuntime, RayRuntime, Runtime
from dancfr.errors import warn
from dancfr.evaluation.server import EvaluationServer
from dancfr.methods.options import TrainOptions
from dancfr.methods.settings import Resources

RECOVERY_PATIENCE_S = 120.0
"""Seconds that a run which has lost a machine waits for another one."""


class Placement:
    """Where the actors of a run live. The runtime starts at its first use and outlives the recovery of the actors.

    Args:
        options: Inline, or on which Ray and with how many workers.
        resources: What the actors take of the machines.

    Attributes:
        counts: Workers that died, were late, raised or were replaced, and chunks replayed.
    """

    def __init__(self, options: TrainOptions, resources: Resources) -> None:
        self.options, self.resources = options, resources
        self.counts: Counter[str] = Counter()

    @cached_property
    def runtime(self) -> Runtime:
        """Inline or Ray. Raises ResourcesMissing and RayUnavailable, see `RayRuntime`."""
        return make_runtime(self.options, self.resources.wait_s)

    @property
    def worker_options(self) -> dict[str, Any]:
        """Keyword arguments of a `WorkerPool`."""
        deadline = self.resources.deadline_s
        given = {} if deadline is None else {"deadline_s": deadline}
        return {"size": self.runtime.workers, "cpus": self.resources.worker_cpus, "counts": self.counts, **given}

    def learner_options(self, learners: int) -> dict[str, Any]:
        """Keyword arguments of `start_learner` for each of so many kinds of learners."""
        gpus = 0.0
        if self.options.device == "cuda" and not self.options.inline:
            data_parallel = self.resources.learners > 1  # NCCL wants a GPU for each rank
            gpus = self.resources.learner_gpus or (1.0 if data_parallel else 1.0 / learners)
        return {"learners": self.resources.learners, "cpus": self.resources.learner_cpus, "gpus": gpus, "home": True}

    @property
    def buffer_options(self) -> dict[str, Any]:
        """Keyword arguments of `start_buffer`."""
        return {"shards": self.resources.buffer_shards, "cpus": 0, "home": True}

    def stop_actors(self) -> None:
        """Ends all actors, so that others can take their places as soon as resources are free again."""
        self.runtime.stop_all()
        if isinstance(self.runtime, RayRuntime):
            self.runtime.patience_s = max(RECOVERY_PATIENCE_S, self.resources.wait_s)

    def close(self) -> None:
        """Ends all actors, and Ray where it was started for them."""
        if "runtime" in self.__dict__:
            self.runtime.shutdown()


class RunActors(ABC):
    """The actors of a run.

    Coordinators and buffers ask for no CPU: they wait most of the time, and on a machine of two cores everything has
    to fit beside two workers.

    Args:
        placement: Where they live.
        say: Prints a line for a person; gets the workers that died, hung or raised.

    Attributes:
        evaluation: The actor that evaluates; None where nothing is evaluated.
        pool: The workers; None for methods without them.
    """

    def __init__(self, placement: Placement, say: Callable[[object], None]) -> None:
        self.placement = placement
        self.runtime: Runtime = placement.runtime
        self.evaluation: Handle | None = None
        self.pool: WorkerPool | None = None
        self._say = say

    @abstractmethod
    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        """The actors that have a state, and where in a checkpoint's folder each one writes it."""

    @abstractmethod
    def enter(self, game: Any) -> None:
        """Lets the actors play this game from now on, the next one of a curriculum."""

    def start_pool(self, kind: Any, arguments: tuple[Any, ...], deadline_s: float) -> WorkerPool:
        """Workers of one class, in the place of those there were.

        Args:
            kind: Class of the workers.
            arguments: Of its constructor.
            deadline_s: Seconds after which a worker counts as hanging, unless the run's configuration says otherwise.
        """
        if self.pool is not None:
            self.pool.stop()
        options = {"deadline_s": deadline_s, **self.placement.worker_options}
        self.pool = WorkerPool(self.runtime, kind, arguments, on_event=self._on_event, **options)
        return self.pool

    def start_evaluation(self, *arguments: Any, kind: Any = EvaluationServer) -> Handle:
        """The actor that evaluates; arguments as of its class."""
        self.evaluation = self.runtime.start(kind, *arguments, cpus=0, home=True, name="evaluation")
        return self.evaluation

    def wait_until_ready(self, handles: list[Handle]) -> None:
        """Returns when these actors, and the one that evaluates, are up."""
        waited = [*handles, *([self.evaluation] if self.evaluation is not None else [])]
        self.runtime.get([handle.ready() for handle in waited])

    def save(self, folder: Path) -> None:
        """Every buffer and learner writes its state into the checkpoint's folder, all at the same time."""
        self.runtime.get([handle.call("save", str(path)) for handle, path in self.files(folder)])

    def load(self, folder: Path) -> None:
        """Reverse of `save`."""
        self.runtime.get([handle.call("load", str(path)) for handle, path in self.files(folder)])

    def _on_event(self, event: PoolEvent) -> None:
        """Passes on what happened to workers, not what the pool does about it."""
        if event.kind in ("died", "late", "raised"):
            self._say(event)


def make_runtime(options: TrainOptions, patience_s: float = 0.0) -> Runtime:
    """Inline, or on Ray."""
    if options.inline:
        return InlineRuntime()
    started = RayRuntime(options.address, options.workers, options.dashboard, patience_s)
    if (url := started.dashboard_url) is not None:
        warn(f"Ray's dashboard: {url} (it asks for the token that `ray get-auth-token` prints)")
    return started
