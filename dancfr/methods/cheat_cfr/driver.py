"""The driver of chance-sampled CFR on Cheat with Ordered Abstraction (paper 001, 4.1.1 and 5)."""

from collections.abc import Callable
from functools import partial

from actors.cheat_cfr import CheatSolverServer
from actors.remote import Handle
from actors.solving import SolverServer
from dancfr.games.registry import make_game_as
from dancfr.methods.cheat_cfr import METHOD
from dancfr.methods.cheat_cfr.agent import CheatPolicies
from dancfr.methods.cheat_cfr.config import CheatCfrConfig
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import Placement
from dancfr.methods.table_loop import TableActors, TableLoop
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker
from envs.cheat import Cheat


class CheatCfr(TableLoop):
    """A training by chance-sampled CFR, with one deal per iteration."""

    method = METHOD

    def __init__(
        self, run: Run, config: CheatCfrConfig, tracker: Tracker, progress: Progress, placement: Placement
    ) -> None:
        actors = CheatCfrActors(config, placement, progress.event)
        super().__init__(run, config, tracker, progress, actors, "cfr", "walking the tree")

    def learn(self) -> None:
        """Each iteration draws a deal and traverses the whole tree below it for both players.

        A curriculum starts with fewer health points than the run's own game. At the step to the next number, an
        infoset starts with the regrets and the average strategy that it has in the smaller game.
        """
        for t, row in self.iterations():
            self.solve(row)
            if self.evaluation_due(t):
                self.evaluate(t)


train = partial(run_to_end, CheatCfr)
"""Trains a run to its end, see `dancfr.methods.recovery.run_to_end`."""


class CheatCfrActors(TableActors):
    """The solver and the evaluation actor of a run."""

    def __init__(self, config: CheatCfrConfig, placement: Placement, say: Callable[[object], None]) -> None:
        self._config = config
        super().__init__(config, placement, say)

    def start_solver(self) -> Handle[SolverServer]:
        config = self._config
        first = make_game_as(Cheat, config.game, **config.options_at(1))
        arguments = first, config.key_form, config.seed, config.keep_sums, config.copy_infosets
        return self.runtime.start(CheatSolverServer, *arguments, cpus=1, home=True, name="solver")

    def start_policies(self) -> None:
        config = self._config
        game = make_game_as(Cheat, config.game, **config.game_options)
        policies = CheatPolicies(game, config.key_form, config.evaluation.last)
        self.start_evaluation(policies, game, config.evaluation.opponents, config.evaluation.exploitability)
