"""The base class of drivers of tabular methods, where the state of a run is the state of a solver."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from actors.remote import Handle
from actors.runtime import Saved
from actors.solving import SolverServer
from dancfr.evaluation.server import Evaluations
from dancfr.methods.loop import Loop, Row, timed
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.settings import RunConfig
from dancfr.runs.checkpoints import reading
from dancfr.runs.run import Run
from dancfr.watch.progress import COMPILING, Progress
from dancfr.watch.tracking import Tracker
from envs.game import GameBase


class TableActors(RunActors):
    """The solver, which uses one core, and the evaluation actor.

    Args:
        config: Configuration of the run.
        placement: Where the actors run.
        say: Function that shows a line to the user.
    """

    def __init__(self, config: RunConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.solver = self.start_solver()
        if config.evaluation.every:
            self.start_policies()
        self.wait_until_ready([self.solver])

    @abstractmethod
    def start_solver(self) -> Handle[SolverServer]:
        """Starts an `actors.solving.SolverServer`."""

    @abstractmethod
    def start_policies(self) -> None:
        """Starts the evaluation actor, whose policies accept (iteration, description, arrays) of a strategy."""

    def enter(self, game: GameBase) -> None:
        self.runtime.get(self.solver.call(SolverServer.enter, game))

    def files(self, folder: Path) -> Sequence[tuple[Handle[Saved], Path]]:
        return [(self.solver, folder / "solver.safetensors")]


class TableLoop(Loop):
    """A run of a tabular method.

    Args:
        run, config, tracker, progress, actors: See `Loop`.
        prefix: Prefix of the names of the solver's metrics.
        phase: Description of an iteration, shown as its progress.
    """

    stored_after_checkpoints = True

    def __init__(
        self,
        run: Run,
        config: RunConfig,
        tracker: Tracker,
        progress: Progress,
        actors: TableActors,
        prefix: str,
        phase: str,
    ) -> None:
        super().__init__(run, config, tracker, progress, actors)
        self.config, self.actors = config, actors
        self._prefix, self._phase = prefix, phase
        self.nodes = 0

    def solve(self, row: Row) -> None:
        """Runs one iteration of the solver."""
        self.progress.phase(self._phase)
        with timed(row, "traversal"):
            found = self.get(self.actors.solver.call(SolverServer.run, 1))
        self.nodes += found["nodes"]
        row |= {f"{self._prefix}/{name}": value for name, value in found.items()}
        row[f"{self._prefix}/nodes_per_second"] = found["nodes"] / row["time/traversal_s"]
        row["samples/nodes"] = self.nodes

    def warm_up(self) -> None:
        """Compiles the kernels of the solver."""
        self.progress.step(COMPILING)
        started = perf_counter()
        self.report_compilation(self.get(self.actors.solver.call(SolverServer.warm_up)), perf_counter() - started)

    def prepare_evaluation(self, t: int) -> None:
        """Sends the current strategy to the evaluation actor."""
        assert self.actors.evaluation is not None
        about, arrays = self.actors.solver.call_pair(SolverServer.strategy)
        self.actors.evaluation.call(Evaluations.add, t, about, arrays)

    def ready(self) -> bool:
        return self.iteration > 0 or self.nodes > 0

    def save(self) -> None:
        """Writes a checkpoint and, unless only `checkpoint_minutes` made it due, stores the strategy, which is as large
        as the checkpoint."""
        super().save()
        scheduled = self.iteration % self.config.checkpoint_every == 0
        if not self._save_failures and (scheduled or self.done() or self.stop.requested):
            self._store()

    def _store_missing(self) -> None:
        if self.iteration and self.iteration not in {file.iteration for file in self.run.list_strategies()}:
            self._store()

    def _store(self) -> None:
        about, arrays = self.actors.runtime.get(list(self.actors.solver.call_pair(SolverServer.strategy)))
        final = {"final": True} if self.iteration % self.config.checkpoint_every else {}
        self.run.save_strategy(0, self.iteration, arrays, {**about, **final})
        self.run.discard_final_strategy_before(self.iteration)

    def state(self, folder: Path) -> Row:
        return {"nodes": self.nodes}

    def adopt(self, state: Row, folder: Path) -> None:
        with reading(folder):
            self.nodes = int(state["nodes"])
        if self.iteration % self.config.checkpoint_every == 0:
            self._store_missing()  # the run was killed after the checkpoint and before the strategy was stored

    def finish(self) -> Row:
        """See `Loop.finish`; the newest strategy is stored in any case."""
        result = super().finish()
        self._store_missing()
        return result

    def samples_offered(self) -> int:
        return self.nodes
