"""What the actors of every method have in common: the place that carries them, and how all are saved and restored."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from actors.pool import PoolEvent, WorkerPool
from actors.remote import Handle, InlineRuntime, RayRuntime, Runtime
from dancfr.errors import warn
from dancfr.methods.options import TrainOptions
from dancfr.methods.settings import Resources

RECOVERY_PATIENCE_S = 120.0
"""So long a run that has lost a machine waits for another one."""


class Place:
    """Where the actors of a run live: started at the first use, and kept when all actors are made anew.

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
        """Raises ResourcesMissing and RayUnavailable, see `RayRuntime`."""
        return make_runtime(self.options, self.resources.wait_s)

    @property
    def worker_options(self) -> dict[str, Any]:
        """Named arguments of a `WorkerPool`."""
        deadline = self.resources.deadline_s
        given = {} if deadline is None else {"deadline_s": deadline}
        return {"size": self.runtime.workers, "cpus": self.resources.worker_cpus, "counts": self.counts, **given}

    def learner_options(self, learners: int) -> dict[str, Any]:
        """Resources of each of so many kinds of learners, named as in `Runtime.start`, and how many train together."""
        gpus = 0.0
        if self.options.device == "cuda" and not self.options.inline:
            together = self.resources.learners > 1  # such talk to each other GPU by GPU
            gpus = self.resources.learner_gpus or (1.0 if together else 1.0 / learners)
        return {"learners": self.resources.learners, "cpus": self.resources.learner_cpus, "gpus": gpus, "home": True}

    @property
    def buffer_options(self) -> dict[str, Any]:
        """Resources of a buffer, and among how many actors it is divided."""
        return {"shards": self.resources.buffer_shards, "cpus": 0, "home": True}

    def clear(self) -> None:
        """Ends all actors; others are going to take their places, as soon as there is room again."""
        self.runtime.stop_all()
        if isinstance(self.runtime, RayRuntime):
            self.runtime.patience_s = max(RECOVERY_PATIENCE_S, self.resources.wait_s)

    def close(self) -> None:
        """Ends all actors, and Ray where it was started for them."""
        if "runtime" in self.__dict__:
            self.runtime.shutdown()


def telling(say: Callable[[object], None]) -> Callable[[PoolEvent], None]:
    """Tells a person of what happened to workers, not of what the pool does about it each time."""
    return lambda event: say(event) if event.kind in ("died", "late", "raised") else None


class Crew(ABC):
    """The actors of a run.

    Coordinators and buffers ask for no CPU: they wait most of the time, and on a machine of two cores everything has
    to fit beside two workers.

    Args:
        place: Where they live.

    Attributes:
        evaluation: The one that evaluates, if it is wanted.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.runtime: Runtime = place.runtime
        self.evaluation: Handle | None = None

    @abstractmethod
    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        """The actors that have a state, and where in a checkpoint's folder each writes it."""

    @abstractmethod
    def enter(self, game: Any) -> None:
        """From now on this game is played, the next one of a curriculum."""

    def players(self) -> WorkerPool | None:
        """The workers that play, where the method has them."""
        return None

    def learners_at_work(self) -> list[Handle]:
        """Those that can leave a fit, see `LearnerServer.halt`."""
        return []

    def save(self, folder: Path, after: int) -> None:
        """Every buffer and learner writes its state after iteration `after` into the checkpoint's folder, all at the
        same time."""
        learners = self.learners_at_work()
        calls = []
        for handle, path in self.files(folder):
            given = {"after": after} if any(handle is learner for learner in learners) else {}
            calls.append(handle.call("save", str(path), **given))
        self.runtime.get(calls)

    def load(self, folder: Path) -> None:
        """Reverse of `save`."""
        self.runtime.get([handle.call("load", str(path)) for handle, path in self.files(folder)])


def make_runtime(options: TrainOptions, patience_s: float = 0.0) -> Runtime:
    """Inline, or on Ray."""
    if options.inline:
        return InlineRuntime()
    started = RayRuntime(options.address, options.workers, options.dashboard, patience_s)
    if (url := started.dashboard_url) is not None:
        warn(f"Ray's dashboard: {url} (it asks for the token that `ray get-auth-token` prints)")
    return started
