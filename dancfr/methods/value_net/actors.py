"""The actors of a run that trains a value function."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from actors.data_parallel import start_learner
from actors.remote import Handle
from actors.sharding import start_buffer
from actors.value_solving import ValueSolver
from dancfr.games.registry import make_game
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.streams import net_seed
from dancfr.methods.value_net.agent import ValueEvaluationServer
from dancfr.methods.value_net.config import ValueNetConfig
from learners.buffers import CircularBuffer
from learners.samples import range_value_dtype
from learners.value_function.learner import RangeValueLearner
from learners.value_function.parts import split_game

DEADLINE_S = 1800.0


class ValueNetActors(RunActors):
    """Workers that solve subgames, a buffer, a learner, and the evaluation actor.

    Args:
        config: Configuration of the run.
        placement: Where the actors run.
        say: Function that reports a worker that died, hung or raised.
    """

    def __init__(self, config: ValueNetConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.config = config
        self.game: Any = make_game(config.game, **config.game_options)
        width = split_game(self.game, config.cut).encoding.width
        self.enter(self.game)
        net = {
            "game": self.game,
            "limit": config.cut,
            "network": config.network,
            "training": config.training,
            "loss": config.loss,
        }
        self.learner = start_learner(
            self.runtime,
            RangeValueLearner,
            {0: {**net, "seed": net_seed(config.seed, 0, 0)}},
            placement.device,
            name="values-learner",
            **placement.learner_options(1),
        )
        dtype, options = range_value_dtype(width), placement.buffer_options
        self.buffer = start_buffer(self.runtime, CircularBuffer, config.capacity, dtype, None, name="values", **options)
        if config.evaluation.every:
            arguments = (self.game, config.cut, config.network, config.evaluation.iterations)
            self.start_evaluation(*arguments, kind=ValueEvaluationServer)
        self.wait_until_ready([self.buffer, self.learner])

    def enter(self, game: Any) -> None:
        config = self.config
        arguments = (game, config.cut, config.network, config.solving)
        self.workers = self.start_pool(ValueSolver, arguments, DEADLINE_S)

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        held = [(self.evaluation, folder / "held-out.safetensors")] if self.evaluation else []
        return [
            (self.learner, folder / "learner-values.safetensors"),
            (self.buffer, folder / "buffer-values.safetensors"),
            *held,
        ]
