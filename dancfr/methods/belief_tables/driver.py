"""The driver of belief states and depth-limited external sampling in tables (paper 002, Algorithms 1 to 3)."""

from collections.abc import Callable
from functools import partial

from actors.belief_tables import BeliefSolverServer
from actors.remote import Handle
from actors.solving import SolverServer
from dancfr.games.registry import make_game
from dancfr.methods.belief_tables import METHOD
from dancfr.methods.belief_tables.agent import BeliefTablePolicies
from dancfr.methods.belief_tables.config import BeliefTablesConfig
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.table_loop import TableActors, TableLoop
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


class BeliefTables(TableLoop):
    """A training with tables of belief states."""

    method = METHOD

    def __init__(
        self, run: Run, config: BeliefTablesConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        actors = BeliefTablesActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, actors, "tables", "traversing")

    def learn(self) -> None:
        """In each iteration t, the average policies play against each other, with exploration, until N belief states
        have been visited. From each of them and for each traverser, external sampling looks a few moves ahead: it
        follows all moves of the traverser and one move of the opponent, and takes the values of the leaves from the
        traverser's table. Regrets and policies have weight t."""
        for t, row in self.iterations():
            self.solve(row)
            if self.evaluation_due(t):
                self.evaluate(t)


train = partial(run_to_end, BeliefTables)
"""Trains a run to its end, see `dancfr.methods.recovery.run_to_end`."""


class BeliefTablesActors(TableActors):
    """The solver and the evaluation actor of a run."""

    def __init__(self, config: BeliefTablesConfig, placement: Placement, say: Callable[[object], None]) -> None:
        self._config = config
        self._game = make_game(config.game, **config.game_options)
        super().__init__(config, placement, say)

    def start_solver(self) -> Handle[SolverServer]:
        arguments = (self._game, self._config.tables, self._config.seed)
        return self.runtime.start(BeliefSolverServer, *arguments, cpus=1, home=True, name="solver")

    def start_policies(self) -> None:
        policies = BeliefTablePolicies(self._config.tables.belief)
        self.start_evaluation(policies, self._game, self._config.evaluation.opponents)
