"""The actors of a run that trains a value function."""

from collections.abc import Callable, Sequence
from pathlib import Path

from actors.data_parallel import start_learner
from actors.remote import Handle
from actors.runtime import Saved
from actors.sharding import start_buffer
from actors.value_functions import ValueSolver
from dancfr.games.registry import make_game
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.streams import net_seed
from dancfr.methods.value_functions.agent import ValueEvaluationServer
from dancfr.methods.value_functions.config import ValueFunctionConfig
from envs.game import GameBase
from learners.buffers import CircularBuffer
from learners.samples import range_value_dtype
from learners.value_functions.learner import RangeValueLearner
from learners.value_functions.parts import split_game

DEADLINE_S = 1800.0


class ValueFunctionActors(RunActors):
    """Workers that solve subgames, a buffer, a learner, and the evaluation actor.

    Args:
        config: Configuration of the run.
        placement: Where the actors run.
        say: Function that reports a worker that died, hung or raised.
    """

    def __init__(self, config: ValueFunctionConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.config = config
        self.game = make_game(config.game, **config.game_options)
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
        self.held: Handle[ValueEvaluationServer] | None = None
        if config.evaluation.every:
            arguments = (self.game, config.cut, config.network, config.evaluation.iterations)
            self.held = self.start_evaluation_by(ValueEvaluationServer, *arguments)
        self.wait_until_ready([self.buffer, self.learner])

    def enter(self, game: GameBase) -> None:
        config = self.config
        arguments = (game, config.cut, config.network, config.solving)
        self.workers = self.start_pool(DEADLINE_S, ValueSolver, *arguments)

    def files(self, folder: Path) -> Sequence[tuple[Handle[Saved], Path]]:
        held = [(self.held, folder / "held-out.safetensors")] if self.held else []
        return [
            (self.learner, folder / "learner-values.safetensors"),
            (self.buffer, folder / "buffer-values.safetensors"),
            *held,
        ]
