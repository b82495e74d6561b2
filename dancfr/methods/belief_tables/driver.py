"""The driver of belief states and depth-limited external sampling in tables (paper 002, Algorithms 1 to 3)."""

from functools import partial
from typing import Any

from actors.belief_solving import BeliefSolverServer
from actors.remote import Handle
from dancfr.games.registry import make_game
from dancfr.methods.belief_tables import METHOD
from dancfr.methods.belief_tables.agent import BeliefTablePolicies
from dancfr.methods.belief_tables.config import BeliefTablesConfig
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.table_loop import TableActors, TableLoop
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


def train(run: Run, config: BeliefTablesConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a run on tables of belief states to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(BeliefTables, run, config, tracker), METHOD, run, config, tracker, options)


class BeliefTables(TableLoop):
    """A run on tables of belief states."""

    method = METHOD

    def __init__(
        self, run: Run, config: BeliefTablesConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        actors = BeliefTablesActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, actors, "tables", "traversing")

    def learn(self) -> None:
        """For t = 1, 2, ...: self-play by the average policies, with exploration, until N belief states are met; from
        each of them, for either traverser, external sampling to a few moves below: all its own moves, one of the
        opponent's. The leaves have the value that the table holds for the traverser. Regrets and policies weigh t."""
        for t, row in self.iterations():
            self.solve(row)
            if self.evaluation_due(t):
                self.evaluate(t)


class BeliefTablesActors(TableActors):
    """The solver and the evaluation of a run."""

    def __init__(self, config: BeliefTablesConfig, placement: Placement, say: Any) -> None:
        self._config = config
        self._game = make_game(config.game, **config.game_options)
        super().__init__(config, placement, say)

    def start_solver(self) -> Handle:
        arguments = (self._game, self._config.tables, self._config.seed)
        return self.runtime.start(BeliefSolverServer, *arguments, cpus=1, home=True, name="solver")

    def start_policies(self) -> None:
        policies = BeliefTablePolicies(self._config.tables.belief)
        self.start_evaluation(policies, self._game, self._config.evaluation.opponents)
