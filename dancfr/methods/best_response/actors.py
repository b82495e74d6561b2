"""The actors of a trained best response: workers that play against the frozen agent, and a buffer and a net a seat."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.best_response import Responder, ResponseTask
from actors.data_parallel import start_learner
from actors.remote import Handle, Ref
from actors.sharding import start_buffer
from dancfr.games.registry import make_game
from dancfr.methods.best_response.agent import Nets
from dancfr.methods.best_response.config import BestResponseConfig, two_player_game
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.streams import net_seed
from learners.best_response.learner import ResponseLearner
from learners.buffers import CircularBuffer
from learners.samples import response_dtype

PLAYERS = (0, 1)
MEASURED = 1024
"""Games of a chunk that only measures."""
DEADLINE_S = 1800.0


class BestResponseActors(RunActors):
    """Workers with a copy of the frozen agent each, a buffer for each seat, and the learner of both nets.

    Args:
        config: The run's configuration.
        placement: Where they live.
        say: Gets a line about each worker that died, hung or raised.
    """

    def __init__(self, config: BestResponseConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.config = config
        self.game = two_player_game(make_game(config.game, **config.game_options))
        self.enter(self.game)
        net = {"game": self.game, "network": config.network, "training": config.training}
        self.learner = start_learner(
            self.runtime,
            ResponseLearner,
            {player: {**net, "seed": net_seed(config.seed, player, 0)} for player in PLAYERS},
            placement.options.device,
            name="learner",
            **placement.learner_options(1),
        )
        dtype, options = response_dtype(self.game.spec), placement.buffer_options
        self.buffers = [
            start_buffer(
                self.runtime, CircularBuffer, config.buffer, dtype, "responses", name=f"buffer-{player}", **options
            )
            for player in PLAYERS
        ]
        self.wait_until_ready([self.learner, *self.buffers])

    def enter(self, game: Any) -> None:
        config = self.config
        agent = self.placement.options.make_agent(config.agent, game)
        arguments = (game, config.network, agent, config.explore, config.explore_least)
        self.workers = self.start_pool(Responder, arguments, DEADLINE_S)

    def newest_nets(self) -> Nets:
        """The nets as they are now, by player."""
        nets: Nets = tuple(self.runtime.get([self.learner.call("weights", player) for player in PLAYERS]))
        return nets

    def measure(
        self, weights: Ref, seed: tuple[int, ...], games: int, seats: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """Returns of greedy play, ``float32[games]`` for each of the seats."""
        tasks: list[tuple[ResponseTask, Ref]] = []
        for seat in seats:
            for number, first in enumerate(range(0, games, MEASURED)):
                task = ResponseTask((*seed, 2 * number + seat), seat, min(MEASURED, games - first))
                tasks.append((task, weights))
        found: dict[int, list[NDArray[np.float32]]] = {seat: [] for seat in seats}
        for (task, _), returns, _ in self.workers.run("measure", tasks):
            found[task.seat].append(returns)
        return [np.concatenate(found[seat]) for seat in seats]

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        buffers = [(buffer, folder / f"buffer-{player}.safetensors") for player, buffer in enumerate(self.buffers)]
        return [(self.learner, folder / "learner.safetensors"), *buffers]
