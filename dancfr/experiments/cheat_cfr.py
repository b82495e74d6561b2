"""The driver of chance-sampled CFR on Cheat with Ordered Abstraction (paper 001, 4.1.1 and 5).

For n = 1, 2, ..., the health points of the curriculum and then those of the run's own game:
    every infoset of Cheat-n starts from the regrets and the average strategy of that which it was in Cheat-(n - 1);
    each iteration draws a deal and walks the whole tree below it for both players.
"""

from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from dancfr.experiments.cheat_cfr_config import CheatCfrConfig
from dancfr.experiments.cheat_cfr_crew import CheatCfrCrew
from dancfr.experiments.crew import Place
from dancfr.experiments.loop import Loop, reading, timed
from dancfr.experiments.recovery import run_to_end
from dancfr.options import TrainOptions
from dancfr.progress import Progress
from dancfr.runs import Run
from dancfr.tracking import Tracker


def train(run: Run, config: CheatCfrConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a run of chance-sampled CFR to its end; see `dancfr.experiments.recovery.run_to_end`."""
    return run_to_end(partial(CheatCfr, run, config, tracker), run, config, tracker, options)


class CheatCfr(Loop):
    """State of a run between iterations: all of it is the solver's."""

    stored_after_checkpoints = True
    reopens_evaluations = False  # the table of an iteration is gone with the next one

    def __init__(self, run: Run, config: CheatCfrConfig, tracker: Tracker, progress: Progress, place: Place) -> None:
        self.config = config
        self.crew = CheatCfrCrew(config, place)
        super().__init__(run, config, tracker, progress, self.crew)
        self.nodes = 0

    def iterate(self) -> None:
        """One deal."""
        started = perf_counter()
        t = self.iteration + 1
        row: dict[str, Any] = {"kind": "train", "iteration": t}
        self.progress.phase("walking the tree")
        with timed(row, "traversal"):
            found = self.get(self.crew.solver.call("run", 1))
        self.nodes += found["nodes"]
        row |= {f"cfr/{name}": value for name, value in found.items()}
        row |= {"cfr/nodes_per_second": found["nodes"] / row["time/traversal_s"], "samples/nodes": self.nodes}
        self.end_iteration(t, started, row)

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
