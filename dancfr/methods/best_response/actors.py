"""The actors of trained best responses: workers that play the frozen agent, and the responses' buffers and nets."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from actors.data_parallel import start_learner
from actors.learning import LearnerServer
from actors.remote import Handle, Ref
from actors.runtime import Saved
from actors.sharding import start_buffer
from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, TrajectoryTask, TrajectoryWeights
from dancfr.games.registry import make_game
from dancfr.methods.best_response.config import FRESH, BestResponseConfig, two_player_game
from dancfr.methods.policy_gradient.starting import starting_net
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.streams import net_seed
from envs.game import GameBase, numbered
from learners.buffers import CircularBuffer
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.learner import PolicyLearner
from learners.samples import trajectory_dtype

PLAYERS = (0, 1)
FROZEN = 1
"""Party of the frozen agent; the known agents follow it, see `actors.trajectories`."""
MEASURED = 1024
"""Games of a chunk that only measures."""
DEADLINE_S = 1800.0


class BestResponseActors(RunActors):
    """Workers, each with a copy of the frozen agent and of the known ones; a buffer for each response; and a learner.

    Args:
        config: The run's configuration.
        placement: Where they live.
        say: Gets a line about each worker that died, hung or raised.

    Attributes:
        networks: Architecture of each response.
        cpu: CPU seconds that the workers and the learner have reported.
    """

    def __init__(self, config: BestResponseConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.config = config
        self.cpu = 0.0
        self.game = two_player_game(make_game(config.game, **config.game_options))
        self.enter(self.game)
        starts = [self._start(name) for name in config.starts]
        self.networks = [network for network, _ in starts]
        self.learner = start_learner(
            self.runtime,
            PolicyLearner,
            {
                number: {
                    "game": self.game,
                    "network": network,
                    "training": config.training,
                    "seed": net_seed(config.seed, number, 0),
                    "start": weights,
                }
                for number, (network, weights) in enumerate(starts)
            },
            placement.device,
            name="learner",
            **placement.learner_options(1),
        )
        dtype, options = trajectory_dtype(self.game.spec, config.training.critic == "all"), placement.buffer_options
        self.buffers = [
            start_buffer(self.runtime, CircularBuffer, config.buffer, dtype, "net0", name=f"buffer-{number}", **options)
            for number in range(len(starts))
        ]
        self.wait_until_ready([self.learner, *self.buffers])

    def _start(self, name: str) -> tuple[NetworkSettings, Weights | None]:
        """Architecture and weights that a response begins with; None for fresh ones."""
        if name == FRESH:
            return self.config.network, None
        return starting_net(name, self.placement.options.make_agent(name, self.game))

    def enter(self, game: GameBase) -> None:
        config, make = self.config, self.placement.options.make_agent
        agents = [make(name, game) for name in (config.agent, *config.known)]
        training = config.training
        arguments = (
            numbered(game),
            training.discount,
            training.trace,
            agents,
            True,
            None,
            training.critic == "all",
            self.placement.playing_device(),
        )
        self.workers = self.start_pool(DEADLINE_S, TrajectoryPlayer, *arguments)

    def learner_weights(self) -> list[Weights]:
        """The current net of each response."""
        nets: list[Weights] = self.runtime.get(
            [self.learner.call(LearnerServer.weights, n) for n in range(len(self.networks))]
        )
        return nets

    def measure(
        self, weights: TrajectoryWeights, seed: tuple[int, ...], games: int, seats: Sequence[int], party: int = LEARNER
    ) -> list[NDArray[np.float32]]:
        """Returns of the nets of `weights`, or of a known agent, against the frozen agent.

        Returns:
            ``float32[games]`` for each of the seats.
        """
        ref = self.runtime.put(weights)
        tasks: list[tuple[TrajectoryTask, Ref]] = []
        for seat in seats:
            parties = (party, FROZEN) if seat == 0 else (FROZEN, party)
            for number, first in enumerate(range(0, games, MEASURED)):
                table = ((min(MEASURED, games - first), parties),)
                tasks.append((TrajectoryTask((*seed, 2 * number + seat), table), ref))
        found: dict[int, list[NDArray[np.float32]]] = {seat: [] for seat in seats}
        for (task, _), (returns, cpu), _ in self.workers.run(TrajectoryPlayer.measure, tasks):
            self.cpu += cpu
            seat = task.seed[-1] % 2
            found[seat].append(returns[:, seat])
        return [np.concatenate(found[seat]) for seat in seats]

    def files(self, folder: Path) -> Sequence[tuple[Handle[Saved], Path]]:
        return [(self.learner, folder / "learner.safetensors")]
