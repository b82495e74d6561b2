"""What the drivers of tabular methods share: all state of a run is its solver's."""

from abc import abstractmethod
from pathlib import Path
from time import perf_counter
from typing import Any

from actors.remote import Handle
from dancfr.methods.crew import Crew, Place
from dancfr.methods.loop import Loop, reading, timed
from dancfr.methods.settings import RunConfig
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


class TableCrew(Crew):
    """The solver, which needs one core, and the evaluation.

    Args:
        config: The run's configuration.
        place: Where they live.
    """

    def __init__(self, config: RunConfig, place: Place) -> None:
        super().__init__(place)
        self.solver = self.start_solver()
        started = [self.solver]
        if config.evaluation.every:
            self.evaluation = self.start_evaluation()
            started.append(self.evaluation)
        self.runtime.get([handle.ready() for handle in started])

    @abstractmethod
    def start_solver(self) -> Handle:
        """An `actors.solving.SolverServer`."""

    @abstractmethod
    def start_evaluation(self) -> Handle:
        """One that can `take` strategies, and `evaluate` the newest one."""

    def enter(self, game: Any) -> None:
        self.runtime.get(self.solver.call("enter", game))

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        return [(self.solver, folder / "solver.safetensors")]


class TableLoop(Loop):
    """State of a run between iterations.

    Args:
        crew: The actors.
        prefix: Of the solver's numbers in a row of metrics.
        phase: What an iteration is, for people.
    """

    stored_after_checkpoints = True
    reopens_evaluations = False  # the table of an iteration is gone with the next one

    def __init__(
        self,
        run: Run,
        config: RunConfig,
        tracker: Tracker,
        progress: Progress,
        crew: TableCrew,
        prefix: str,
        phase: str,
    ) -> None:
        super().__init__(run, config, tracker, progress, crew)
        self.config, self.crew = config, crew
        self._prefix, self._phase = prefix, phase
        self.nodes = 0

    def iterate(self) -> None:
        """One iteration of the solver."""
        started = perf_counter()
        t = self.iteration + 1
        row: dict[str, Any] = {"kind": "train", "iteration": t}
        self.progress.phase(self._phase)
        with timed(row, "traversal"):
            found = self.get(self.crew.solver.call("run", 1))
        self.nodes += found["nodes"]
        row |= {f"{self._prefix}/{name}": value for name, value in found.items()}
        row[f"{self._prefix}/nodes_per_second"] = found["nodes"] / row["time/traversal_s"]
        self.end_iteration(t, started, row | {"samples/nodes": self.nodes})

    def evaluate(self, t: int) -> None:
        """Evaluates the strategy as it is now."""
        if self.crew.evaluation:
            about, arrays = self.crew.solver.call("strategy", returns=2)
            self.crew.evaluation.call("take", about, arrays)
        super().evaluate(t)

    def ready(self) -> bool:
        return self.iteration > 0

    def settle(self) -> None:
        """Nothing goes on between iterations."""

    def save(self) -> None:
        """Writes a checkpoint, and then the strategy, which is as large as that."""
        super().save()
        if not self._save_failures:
            self._store()

    def _store(self) -> None:
        about, arrays = self.crew.runtime.get(list(self.crew.solver.call("strategy", returns=2)))
        final = {"final": True} if self.iteration % self.config.checkpoint_every else {}
        self.run.save_strategy(0, self.iteration, arrays, {**about, **final})
        self.run.discard_final_strategy_before(self.iteration)

    def state(self, folder: Path) -> dict[str, Any]:
        return {"nodes": self.nodes}

    def restore(self) -> None:
        """Continues from the newest whole checkpoint.

        Raises:
            UsageError: the checkpoints are gone, or none is whole.
        """
        saved = self.load_newest()
        if saved is not None:
            with reading(saved[1]):
                self.nodes = int(saved[0]["nodes"])
            if self.iteration not in {file.iteration for file in self.run.list_strategies()}:
                self._store()  # the run ended between the two

    def samples_offered(self) -> int:
        return self.nodes
