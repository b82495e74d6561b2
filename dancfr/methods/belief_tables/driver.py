"""The driver of belief states and depth-limited external sampling in tables (paper 002, Algorithms 1 to 3).

For t = 1, 2, ..., so many times an iteration:
    self-play by the average policies, with exploration, until N belief states are met;
    from each of them, for either traverser, external sampling to a few moves below: all its own moves, one of the
    opponent's. At the leaves stands the value that the table has for the traverser. Regrets and policies weigh t.
"""

from functools import partial
from typing import Any

from actors.belief_solving import BeliefSolverServer
from actors.remote import Handle
from dancfr.games.registry import make_game
from dancfr.methods.belief_tables.config import BeliefTablesConfig
from dancfr.methods.crew import Place
from dancfr.methods.depth_limited.agent import BeliefEvaluationServer
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.methods.table_loop import TableCrew, TableLoop
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


def train(run: Run, config: BeliefTablesConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a run on tables of belief states to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(belief_tables, run, config, tracker), run, config, tracker, options)


def belief_tables(
    run: Run, config: BeliefTablesConfig, tracker: Tracker, progress: Progress, place: Place
) -> TableLoop:
    """A run between iterations."""
    return TableLoop(run, config, tracker, progress, BeliefTablesCrew(config, place), "tables", "traversing")


class BeliefTablesCrew(TableCrew):
    """The actors of a run.

    Args:
        config: The run's configuration.
        place: Where they live.
    """

    def __init__(self, config: BeliefTablesConfig, place: Place) -> None:
        self._config = config
        self._game = make_game(config.game, **config.game_options)
        super().__init__(config, place)

    def start_solver(self) -> Handle:
        return self.runtime.start(
            BeliefSolverServer,
            self._game,
            self._config.tables,
            self._config.seed,
            cpus=1,
            home=True,
            name="solver",
        )

    def start_evaluation(self) -> Handle:
        return self.runtime.start(
            BeliefEvaluationServer,
            self._game,
            self._config.tables.belief,
            self._config.evaluation.opponents,
            cpus=0,
            home=True,
            name="evaluation",
        )
