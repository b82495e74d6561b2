"""The base of the actors of a run: where they run, how workers are started, and how their states are saved."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from actors import addresses
from actors.cores import available_cpus
from actors.counters import Counters
from actors.pool import PoolEvent, StartFailed, WorkerPool
from actors.remote import Handle, InlineRuntime, RayRuntime, Runtime
from actors.runtime import Saved
from actors.threads import ThreadRuntime
from actors.warm_up import WarmUp
from dancfr.errors import warn
from dancfr.evaluation.server import Evaluations, EvaluationServer, Policies
from dancfr.methods.method import Method
from dancfr.methods.options import TrainOptions, joins_cluster
from dancfr.methods.settings import Resources
from dancfr.runs.run import Run
from envs.game import GameBase
from learners.storage import ForeignState

P = ParamSpec("P")
E = TypeVar("E", bound=Evaluations)
W = TypeVar("W", bound=WarmUp)

MOST_THREADS = 8
"""Workers in one process whose nets are on a GPU, at most: more would wait for the interpreter's lock."""

RECOVERY_PATIENCE_S = 120.0
"""Seconds that a run waits for another machine after it has lost one."""

GPU_PATIENCE_S = 900.0
"""Seconds that a run with --device cuda waits for a GPU of the cluster that it has joined."""


LOOK_EVERY_S = 0.5
"""Interval at which a wait for actors checks whether Ray is still running."""

START_S = 600.0
"""Seconds in which the learners, buffers and the evaluation must have started."""


class Placement:
    """The runtime and the resources of a run's actors.

    The runtime is started at its first use, and stays while actors are started again after a loss.

    Args:
        options: Whether to run inline or on Ray, on which cluster, and with how many workers.
        resources: Resources of the actors.

    Attributes:
        counts: Number of workers that died, were late, raised or were replaced, and of chunks that were replayed.
    """

    def __init__(self, options: TrainOptions, resources: Resources) -> None:
        self.options, self.resources = options, resources
        self.counts: Counter[str] = Counter()
        self._counters: Counters | None = None
        self._said_ranks = 0

    @cached_property
    def runtime(self) -> Runtime:
        """The runtime, inline or Ray. May raise ResourcesMissing and RayUnavailable, see `RayRuntime`."""
        return make_runtime(self.options, self.resources.wait_s)

    def counters_of(self, run: Run, method: Method) -> Counters:
        """Returns the run's counters in Ray. After a loss they are the same, so that totals are not counted again."""
        if self._counters is None:
            self._counters = Counters(self.runtime, run.name, run.method, method.speed.key, method.plies, method.age)
        return self._counters

    @property
    def arrival(self) -> str:
        """The first step of a run, which makes the runtime, in words."""
        if self.options.inline:
            return "starting"
        address = addresses.choose(self.options.address).address
        return "starting Ray" if address is None else f"joining Ray at {address}"

    @cached_property
    def device(self) -> str:
        """Device of the learners, ``cpu`` or ``cuda``: on a cluster, ``auto`` is a GPU if any machine has one, whatever
        the machine of the driver has."""
        if self.options.device != "auto":
            return self.options.device
        return "cuda" if self.runtime.gpus else "cpu"

    def playing_device(self, otherwise: Literal["cpu", "learners"] = "cpu") -> str:
        """Device of the nets by which workers play: on Ray the CPU, of which each worker has a core, else that of
        `resources.playing`, or of `otherwise` if that is not set."""
        return self.device if self.options.inline and (self.resources.playing or otherwise) == "learners" else "cpu"

    @property
    def worker_options(self) -> dict[str, Any]:
        """Keyword arguments of a `WorkerPool`."""
        deadline = self.resources.deadline_s
        given = {} if deadline is None else {"deadline_s": deadline}
        return {"size": self.runtime.workers, "cpus": self.resources.worker_cpus, "counts": self.counts, **given}

    def learner_options(self, learners: int) -> dict[str, Any]:
        """Returns keyword arguments of `start_learner` for each of `learners` kinds of learners."""
        gpus, ranks = 0.0, self.resources.learners
        if self.device == "cuda" and not self.options.inline:
            if self.resources.learner_gpus is None:  # NCCL requires a GPU for each rank
                ranks = min(ranks, max(int(self.runtime.gpus / learners), 1))
                if ranks < self.resources.learners:
                    self._say_fewer_learners(ranks, learners)
            gpus = self.resources.learner_gpus or (1.0 if ranks > 1 else 1.0 / learners)
        cpus, deterministic = self.resources.learner_cpus, self.resources.deterministic
        return {"learners": ranks, "cpus": cpus, "gpus": gpus, "home": True, "deterministic": deterministic}

    def _say_fewer_learners(self, ranks: int, kinds: int) -> None:
        joins, gpus = joins_cluster(self.options), self.runtime.gpus
        if ranks == self._said_ranks or (not gpus and not joins):
            return  # actors are started again after each loss; a machine without any GPU is refused
        self._said_ranks, wanted = ranks, self.resources.learners
        have = f"({gpus:g} joined so far); resources.learner_gpus=1 waits for all" if joins else f"of {gpus:g} here"
        warn(
            f"warning: {ranks} learner{'s' if ranks > 1 else ''} per net instead of resources.learners={wanted}, which "
            f"needs {wanted * kinds} GPUs {have}"
        )

    @property
    def buffer_options(self) -> dict[str, Any]:
        """Keyword arguments of `start_buffer`."""
        return {"shards": self.resources.buffer_shards, "cpus": 0, "home": True}

    def stop_actors(self) -> None:
        """Ends all actors, so that new ones can be started as soon as resources are free."""
        self.runtime.stop_all()
        if isinstance(self.runtime, RayRuntime):
            self.runtime.patience_s = max(RECOVERY_PATIENCE_S, self.resources.wait_s)

    def close(self) -> None:
        """Ends all actors, and Ray if it was started for them."""
        if "runtime" in self.__dict__:
            self.runtime.shutdown()


class RunActors(ABC):
    """The actors of a run.

    Coordinators and buffers request no CPU, since they wait most of the time, and all actors must fit on a machine of
    two cores together with two workers.

    Args:
        placement: Where the actors run.
        say: Function that reports a worker that died, hung or raised.

    Attributes:
        evaluation: The evaluation actor; None if nothing is evaluated.
        pool: The workers; None for methods without workers.
    """

    def __init__(self, placement: Placement, say: Callable[[object], None]) -> None:
        self.placement = placement
        self.runtime: Runtime = placement.runtime
        self.evaluation: Handle[Evaluations] | None = None
        self.pool: WorkerPool[WarmUp] | None = None
        self._say = say

    @abstractmethod
    def files(self, folder: Path) -> Sequence[tuple[Handle[Saved], Path]]:
        """Returns each actor that has a state, with the file in a checkpoint's folder that holds it."""

    @abstractmethod
    def enter(self, game: GameBase) -> None:
        """Switches the actors to another game, the next one of a curriculum."""

    def start_pool(self, deadline_s: float, kind: Callable[P, W], *args: P.args, **kwargs: P.kwargs) -> WorkerPool[W]:
        """Starts workers, and stops the previous ones.

        Args:
            deadline_s: Seconds after which a worker counts as hung; overridden by `Resources.deadline_s`.
            kind: Class of the workers.
            args, kwargs: Arguments of its constructor.
        """
        if self.pool is not None:
            self.pool.stop()
        options = {"deadline_s": deadline_s, **self.placement.worker_options}
        pool = WorkerPool(self.runtime, kind, args, kwargs=kwargs, on_event=self._on_event, **options)
        self.pool = pool
        return pool

    def start_evaluation(
        self,
        policies: Policies,
        game: GameBase,
        opponents: Sequence[str],
        exact: bool = False,
        tree_game: GameBase | None = None,
        readable: bool = False,
    ) -> Handle[EvaluationServer]:
        """Starts the evaluation actor; the arguments are those of `EvaluationServer`."""
        return self.start_evaluation_by(EvaluationServer, policies, game, opponents, exact, tree_game, readable)

    def start_evaluation_by(self, kind: Callable[..., E], *args: Any) -> Handle[E]:
        """Starts the evaluation actor of a method that has a class of its own for it."""
        handle = self.runtime.start(kind, *args, cpus=0, home=True, name="evaluation")
        self.evaluation = handle
        return handle

    def wait_until_ready(self, handles: Sequence[Handle[Any]]) -> None:
        """Waits until the given actors and the evaluation actor are ready.

        Raises:
            StartFailed: One of them has not started within `START_S` seconds.
        """
        waited = [*handles, *([self.evaluation] if self.evaluation is not None else [])]
        try:
            self.runtime.get([handle.ready() for handle in waited], START_S)
        except TimeoutError:
            names = ", ".join(sorted({handle.name for handle in waited}))
            raise StartFailed(
                f"of {names} not all have started within {START_S:g} s; `ray status` shows how the resources are used"
            ) from None

    def get(self, refs: Any) -> Any:
        """Waits for a ref or a list of refs, and returns their values.

        Raises:
            RayLost: Ray has ended.
            Exception: see `Runtime.get`.
        """
        wanted = refs if isinstance(refs, list) else [refs]
        while len(self.runtime.wait(wanted, len(wanted), LOOK_EVERY_S)) < len(wanted):
            self.runtime.check()
        return self.runtime.get(refs)

    def worker_row(self) -> dict[str, int]:
        """Returns the number of workers, their failures in this process, and the length of their queue."""
        if self.pool is None or not self.runtime.parallel:
            return {}
        kinds, counts = ("died", "late", "raised", "replaced", "replayed"), self.placement.counts
        events = {f"workers/{kind}": counts[kind] for kind in kinds}
        return {"workers/alive": self.pool.alive(), "queue/depth": self.pool.take_depth(), **events}

    def save(self, folder: Path) -> None:
        """Lets all actors of `files` write their states to a checkpoint's folder, in parallel."""
        self.runtime.get([handle.call(Saved.save, str(path)) for handle, path in self.files(folder)])

    def load(self, folder: Path) -> None:
        """Restores the states that `save` has written.

        Raises:
            ForeignState: the checkpoint belongs to another configuration, whose actors have other files.
        """
        try:
            self.runtime.get([handle.call(Saved.load, str(path)) for handle, path in self.files(folder)])
        except FileNotFoundError as error:
            raise ForeignState(" ".join(str(error).split())) from error

    def _on_event(self, event: PoolEvent) -> None:
        """Reports failures of workers, but not how the pool reacts to them."""
        if event.kind in ("died", "late", "raised"):
            self._say(event)


def make_runtime(options: TrainOptions, patience_s: float = 0.0) -> Runtime:
    """Makes the runtime, on Ray or in this process; `patience_s` is the time to wait for resources."""
    if options.inline and options.device == "cuda":
        return ThreadRuntime(max(min(available_cpus(), MOST_THREADS), 2))  # with one, no game is played while it waits
    if options.inline:
        return InlineRuntime()
    gpu_patience_s = GPU_PATIENCE_S if options.device == "cuda" and joins_cluster(options) else 0.0
    started = RayRuntime(options.address, options.workers, options.dashboard, patience_s, gpu_patience_s, warn)
    if (url := started.dashboard_url) is not None:
        warn(f"Ray's dashboard: {url} (log in with the token that `ray get-auth-token` prints)")
    return started
