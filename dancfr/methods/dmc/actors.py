"""The actors of a Deep Monte-Carlo run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from actors.data_parallel import start_learner
from actors.remote import Handle
from actors.self_play import PolicySelfPlayer, SelfPlayer
from actors.sharding import start_buffer
from dancfr.evaluation.lengths import evaluated_as
from dancfr.games.registry import make_game
from dancfr.methods.dmc.agent import DmcPolicies, starting_net
from dancfr.methods.dmc.config import DmcConfig
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.streams import net_seed
from learners.buffers import CircularBuffer
from learners.dmc.decisions import DecisionEncoder
from learners.dmc.learner import QLearner
from learners.dmc.policy import ChoiceLearner
from learners.samples import choice_dtype, value_dtype

SELF_PLAY_DEADLINE_S = 1800.0


class DmcActors(RunActors):
    """Self-play workers, the sample pool, the learner, and the evaluation actor.

    Args:
        config: Configuration of the run.
        placement: Where the actors run. Inline, self-play evaluates its net on the device of the learner.
        say: Function that reports a worker that died, hung or raised.
    """

    def __init__(self, config: DmcConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.config = config
        self._policy = config.training.objective == "policy"
        game: Any = make_game(config.game, **config.game_options)
        self.enter(make_game(config.game, **config.options_at(1)))
        net = {"game": game, "network": config.network, "training": config.training}
        if config.start is not None:
            agent = placement.options.make_agent(config.start, game)
            scale = 1 / config.start_temperature if self._policy else 1.0
            net["start"] = starting_net(config.start, agent, config, scale)
        self.learner = start_learner(
            self.runtime,
            ChoiceLearner if self._policy else QLearner,
            {0: {**net, "seed": net_seed(config.seed, 0, 0)}},
            placement.device,
            name="learner",
            **placement.learner_options(1),
        )
        hidden = 0 if config.training.critic == "none" else game.hidden_size
        dtype = value_dtype(game.spec, game.action_dtype, hidden)
        if self._policy:
            notes = DecisionEncoder(game, config.network.encoding_of(game.spec)).notes
            dtype = choice_dtype(game.spec, game.action_dtype, config.training.proposals, hidden, notes)
        self.buffer = start_buffer(
            self.runtime, CircularBuffer, config.pool, dtype, "values", name="pool", **placement.buffer_options
        )
        if config.evaluation.every:
            self.start_evaluation(DmcPolicies(game, config), evaluated_as(game), config.evaluation.opponents)
        self.wait_until_ready([self.buffer, self.learner])

    def enter(self, game: Any) -> None:
        config, options = self.config, self.placement.options
        rivals, partners = (
            [(options.make_agent(name, game), share) for name, share in agents.items()]
            for agents in (config.opponents, config.partners)
        )
        trace = None if config.training.critic == "none" else config.training.trace
        arguments: tuple[Any, ...] = (
            game,
            config.network,
            config.epsilon,
            config.tribute == "learnt",
            self.placement.playing_device,
            rivals,
            partners,
            trace,
            None if config.teacher is None else options.make_agent(config.teacher, game),
            config.training.win_bonus,
        )
        if self._policy:
            arguments = (config.training.proposals, *arguments)
        self.workers = self.start_pool(
            PolicySelfPlayer if self._policy else SelfPlayer, arguments, SELF_PLAY_DEADLINE_S
        )

    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        return [(self.learner, folder / "learner.safetensors"), (self.buffer, folder / "pool.safetensors")]
