"""The actors of a policy-gradient run: workers, buffers, a learner, and how they are started."""

from collections.abc import Callable, Sequence
from pathlib import Path

from actors.data_parallel import start_learner
from actors.learning import LearnerServer
from actors.remote import Handle
from actors.runtime import Saved
from actors.sharding import start_buffer
from actors.trajectories import TrajectoryPlayer
from dancfr.games.registry import make_game
from dancfr.methods.policy_gradient.agent import GradientPolicies, Nets
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from dancfr.methods.policy_gradient.starting import starting_net
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.stored import refuse_other_network
from dancfr.methods.streams import net_seed
from envs.game import Game, GameBase, numbered
from learners.buffers import CircularBuffer
from learners.networks.settings import Weights
from learners.policy_gradient.learner import PolicyLearner
from learners.samples import trajectory_dtype

SELF_PLAY_DEADLINE_S = 1800.0


class PolicyGradientActors(RunActors):
    """Self-play workers, a buffer of an iteration for each net, the learner of all nets, and the evaluation.

    Args:
        config: The run's configuration.
        placement: Where they live.
        say: Gets a line about each worker that died, hung or raised.

    Attributes:
        players: Number of players of the game.
        nets: Number of nets of the policy.
        endings: Names of the ways in which the game can end.
    """

    def __init__(self, config: PolicyGradientConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.config = config
        game = numbered(make_game(config.game, **config.game_options))
        self.players: int = game.spec.num_players
        self.nets = 1 if config.nets == "shared" else self.players
        self.endings = game.spec.endings
        self.enter(make_game(config.game, **config.options_at(1)))
        start = self._start("start", config.start, game)
        learners = [(config.training, net_seed(config.seed, number, 0), start) for number in range(self.nets)]
        beside = config.adversary.training(config.training)
        for number, name in enumerate(config.adversaries):
            start = self._start(f"adversary.start.{name}", config.adversary.start.get(name), game)
            learners.append((beside, net_seed(config.seed, number, 1), start))
        self.learner = start_learner(
            self.runtime,
            PolicyLearner,
            {
                number: {"game": game, "network": config.network, "training": training, "seed": seed, "start": start}
                for number, (training, seed, start) in enumerate(learners)
            },
            placement.device,
            name="learner",
            **placement.learner_options(1),
        )
        dtype, options = trajectory_dtype(game.spec, config.training.critic == "all"), placement.buffer_options
        self.buffers = [
            start_buffer(self.runtime, CircularBuffer, config.buffer, dtype, block, name=f"buffer-{n}", **options)
            for n, block in enumerate([*(f"net{n}" for n in range(self.nets)), *map(block_of, config.adversaries)])
        ]
        if config.evaluation.every:
            self.start_evaluation(
                GradientPolicies(game, config),
                make_game(config.game, **config.evaluation.options(config.game_options)),
                config.evaluation.opponents,
                config.evaluation.exploitability,
                game,
                config.evaluation.readable,
            )
        self.wait_until_ready([*self.buffers, self.learner])

    def _start(self, setting: str, name: str | None, game: Game) -> Weights | None:
        """Weights that a net begins with, which are those of the agent that a setting names; None for fresh ones."""
        if name is None:
            return None
        network, weights = starting_net(name, self.placement.options.make_agent(name, game), setting)
        refuse_other_network(setting, name, network, self.config.network)
        return weights

    def enter(self, game: GameBase) -> None:
        config = self.config
        opponents = [self.placement.options.make_agent(name, game) for name in config.opponents]
        training = config.training
        arguments = (
            numbered(game),
            training.discount,
            training.trace,
            opponents,
            False,
            config.noise,
            training.critic == "all",
            self.placement.playing_device(),
        )
        self.workers = self.start_pool(SELF_PLAY_DEADLINE_S, TrajectoryPlayer, *arguments)

    def learner_weights(self) -> tuple[Nets, Nets]:
        """The current nets of the policy, and those of the adversaries."""
        count = len(self.buffers)
        nets = self.runtime.get([self.learner.call(LearnerServer.weights, number) for number in range(count)])
        return tuple(nets[: self.nets]), tuple(nets[self.nets :])

    def files(self, folder: Path) -> Sequence[tuple[Handle[Saved], Path]]:
        return [(self.learner, folder / "learner.safetensors")]


def block_of(adversary: str) -> str:
    """Returns the name of the samples of an adversary, among those of the policy's nets."""
    return f"adversary/{adversary}"
