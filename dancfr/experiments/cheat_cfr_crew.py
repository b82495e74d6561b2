"""The actors of a run of chance-sampled CFR on Cheat: the solver and the evaluation."""

from pathlib import Path
from typing import Any

from actors.cheat_solving import CheatSolverServer
from actors.remote import Handle
from dancfr.evaluation.cheat import CheatEvaluationServer
from dancfr.experiments.cheat_cfr_config import CheatCfrConfig
from dancfr.experiments.crew import Crew
from dancfr.options import TrainOptions
from dancfr.registry import make_game


class CheatCfrCrew(Crew):
    """The solver, which needs one core, and the evaluation.

    Args:
        config: The run's configuration.
        options: Where they are.
    """

    def __init__(self, config: CheatCfrConfig, options: TrainOptions) -> None:
        super().__init__(options)
        try:
            self._start(config)
        except BaseException:
            self.runtime.shutdown()
            raise

    def _start(self, config: CheatCfrConfig) -> None:
        first, game = (make_game(config.game, **o) for o in (config.options_at(1), config.game_options))
        self.solver = self.runtime.start(CheatSolverServer, first, config.keys, config.seed, cpus=1, name="solver")
        started = [self.solver]
        if config.evaluation.every:
            self.evaluation = self.runtime.start(
                CheatEvaluationServer, game, config.keys, config.evaluation, cpus=0, name="evaluation"
            )
            started.append(self.evaluation)
        self.runtime.get([handle.ready() for handle in started])

    def enter(self, game: Any) -> None:
        self.runtime.get(self.solver.call("enter", game))

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        return [(self.solver, folder / "solver.safetensors")]
