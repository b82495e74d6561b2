"""What the drivers of tabular methods share: the state of a run is that of its solver."""

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from actors.remote import Handle
from dancfr.methods.loop import Loop, Row, reading, timed
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.settings import RunConfig
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


class TableActors(RunActors):
    """The solver, which takes one core, and the evaluation.

    Args:
        config: The run's configuration.
        placement: Where they live.
        say: Gets lines for a person.
    """

    def __init__(self, config: RunConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.solver = self.start_solver()
        if config.evaluation.every:
            self.start_policies()
        self.wait_until_ready([self.solver])

    @abstractmethod
    def start_solver(self) -> Handle:
        """An `actors.solving.SolverServer`."""

    @abstractmethod
    def start_policies(self) -> None:
        """Starts the evaluation; its policies take (iteration, description, arrays) of a strategy."""

    def enter(self, game: Any) -> None:
        self.runtime.get(self.solver.call("enter", game))

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        return [(self.solver, folder / "solver.safetensors")]


class TableLoop(Loop):
    """A run of a tabular method.

    Args:
        actors: The actors of the run.
        prefix: Beginning of the names of the solver's metrics.
        phase: What an iteration does, for people.
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
        """One iteration of the solver."""
        self.progress.phase(self._phase)
        with timed(row, "traversal"):
            found = self.get(self.actors.solver.call("run", 1))
        self.nodes += found["nodes"]
        row |= {f"{self._prefix}/{name}": value for name, value in found.items()}
        row[f"{self._prefix}/nodes_per_second"] = found["nodes"] / row["time/traversal_s"]
        row["samples/nodes"] = self.nodes

    def warm_up(self) -> None:
        """Solves a small problem, so that the kernels are compiled."""
        self.progress.phase("compiling")
        started = perf_counter()
        self.report_compilation(self.get(self.actors.solver.call("warm_up")), perf_counter() - started)

    def prepare_evaluation(self, t: int) -> None:
        """Gives the strategy as it is now to the actor that evaluates."""
        assert self.actors.evaluation is not None
        about, arrays = self.actors.solver.call("strategy", returns=2)
        self.actors.evaluation.call("add", t, about, arrays)

    def ready(self) -> bool:
        return self.iteration > 0 or self.nodes > 0

    def save(self) -> None:
        """Writes a checkpoint and, at the configured iterations and at the end, the strategy, which is as large."""
        super().save()
        scheduled = self.iteration % self.config.checkpoint_every == 0
        if not self._save_failures and (scheduled or self.done() or self.stop.requested):
            self._store()

    def _store(self) -> None:
        about, arrays = self.actors.runtime.get(list(self.actors.solver.call("strategy", returns=2)))
        final = {"final": True} if self.iteration % self.config.checkpoint_every else {}
        self.run.save_strategy(0, self.iteration, arrays, {**about, **final})
        self.run.discard_final_strategy_before(self.iteration)

    def state(self, folder: Path) -> Row:
        return {"nodes": self.nodes}

    def restore(self) -> None:
        """Goes on from the newest whole checkpoint.

        Raises:
            UsageError: the checkpoints are gone, or none is whole.
        """
        saved = self.load_newest()
        if saved is not None:
            with reading(saved[1]):
                self.nodes = int(saved[0]["nodes"])
            scheduled = self.iteration % self.config.checkpoint_every == 0
            if scheduled and self.iteration not in {file.iteration for file in self.run.list_strategies()}:
                self._store()  # the run ended between the two

    def finish(self) -> Row:
        """See `Loop.finish`; the newest strategy is stored in any case."""
        result = super().finish()
        if self.iteration and self.iteration not in {file.iteration for file in self.run.list_strategies()}:
            self._store()
        return result

    def samples_offered(self) -> int:
        return self.nodes
