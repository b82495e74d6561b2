"""The actors of a run of chance-sampled CFR on Cheat: the solver and the evaluation."""

from pathlib import Path
from typing import Any

from actors.cheat_solving import CheatSolverServer
from actors.remote import Handle
from dancfr.evaluation.cheat import CheatEvaluationServer
from dancfr.experiments.cheat_cfr_config import CheatCfrConfig
from dancfr.experiments.crew import Crew, Place
from dancfr.registry import make_game


class CheatCfrCrew(Crew):
    """The solver, which needs one core, and the evaluation.

    Args:
        config: The run's configuration.
        place: Where they live.
    """

    def __init__(self, config: CheatCfrConfig, place: Place) -> None:
        super().__init__(place)
        first, game = (make_game(config.game, **o) for o in (config.options_at(1), config.game_options))
        self.solver = self.runtime.start(
            CheatSolverServer, first, config.keys, config.seed, cpus=1, home=True, name="solver"
        )
        started = [self.solver]
        if config.evaluation.every:
            self.evaluation = self.runtime.start(
                CheatEvaluationServer, game, config.keys, config.evaluation, cpus=0, home=True, name="evaluation"
            )
            started.append(self.evaluation)
        self.runtime.get([handle.ready() for handle in started])

    def enter(self, game: Any) -> None:
        self.runtime.get(self.solver.call("enter", game))

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        return [(self.solver, folder / "solver.safetensors")]
