"""The driver of chance-sampled CFR on Cheat with Ordered Abstraction (paper 001, 4.1.1 and 5).

For n = 1, 2, ..., the health points of the curriculum and then those of the run's own game:
    every infoset of Cheat-n starts from the regrets and the average strategy of that which it was in Cheat-(n - 1);
    each iteration draws a deal and walks the whole tree below it for both players.
"""

from functools import partial
from typing import Any

from actors.cheat_solving import CheatSolverServer
from actors.remote import Handle
from dancfr.games.registry import make_game
from dancfr.methods.cheat_cfr.agent import CheatEvaluationServer
from dancfr.methods.cheat_cfr.config import CheatCfrConfig
from dancfr.methods.crew import Place
from dancfr.methods.options import TrainOptions
from dancfr.methods.recovery import run_to_end
from dancfr.methods.table_loop import TableCrew, TableLoop
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker


def train(run: Run, config: CheatCfrConfig, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Trains a run of chance-sampled CFR to its end; see `dancfr.methods.recovery.run_to_end`."""
    return run_to_end(partial(cheat_cfr, run, config, tracker), run, config, tracker, options)


def cheat_cfr(run: Run, config: CheatCfrConfig, tracker: Tracker, progress: Progress, place: Place) -> TableLoop:
    """A run between iterations; each is a deal."""
    return TableLoop(run, config, tracker, progress, CheatCfrCrew(config, place), "cfr", "walking the tree")


class CheatCfrCrew(TableCrew):
    """The actors of a run.

    Args:
        config: The run's configuration.
        place: Where they live.
    """

    def __init__(self, config: CheatCfrConfig, place: Place) -> None:
        self._config = config
        super().__init__(config, place)

    def start_solver(self) -> Handle:
        config = self._config
        first = make_game(config.game, **config.options_at(1))
        return self.runtime.start(CheatSolverServer, first, config.keys, config.seed, cpus=1, home=True, name="solver")

    def start_evaluation(self) -> Handle:
        config = self._config
        game = make_game(config.game, **config.game_options)
        return self.runtime.start(
            CheatEvaluationServer, game, config.keys, config.evaluation, cpus=0, home=True, name="evaluation"
        )
