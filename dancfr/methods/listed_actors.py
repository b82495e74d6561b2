"""The actors of a run that learns over listed actions."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from actors.data_parallel import start_learner
from actors.learning import Learner
from actors.listed_play import ListedPlayer, PlayerOptions
from actors.pool import WorkerPool
from actors.remote import Handle
from actors.runtime import Saved
from actors.sharding import start_buffer
from dancfr.evaluation.lengths import evaluated_as
from dancfr.games.registry import make_game
from dancfr.methods.listed_agent import ListedPolicies, starting_net
from dancfr.methods.listed_settings import ListedConfig
from dancfr.methods.run_actors import Placement, RunActors
from dancfr.methods.streams import net_seed
from envs.capabilities import full_view
from envs.game import GameBase, ListedGame, listed
from learners.buffers import CircularBuffer

SELF_PLAY_DEADLINE_S = 1800.0


class ListedActors(RunActors):
    """Self-play workers, the sample pool, the learner, and the evaluation actor.

    Args:
        config: Configuration of the run.
        placement: Where the actors run.
        say: Function that reports a worker that died, hung or raised.

    Attributes:
        played_on: Where nets play without Ray, if neither a user nor the lack of a GPU decides.
    """

    played_on: ClassVar[Literal["cpu", "learners"]] = "cpu"

    def __init__(self, config: ListedConfig, placement: Placement, say: Callable[[object], None]) -> None:
        super().__init__(placement, say)
        self.config = config
        game = listed(make_game(config.game, **config.game_options))
        self.enter(make_game(config.game, **config.options_at(1)))
        net = {"game": game, "network": config.network, "training": config.training}
        if config.start is not None:
            net["start"] = starting_net(config.start, placement.options.make_agent(config.start, game), config)
        self.learner = start_learner(
            self.runtime,
            self.learner_kind,
            {0: {**net, "seed": net_seed(config.seed, 0, 0)}},
            placement.device,
            name="learner",
            **placement.learner_options(1),
        )
        dtype = self.record(game, 0 if config.trace is None else full_view(game).hidden_size)
        self.buffer = start_buffer(
            self.runtime, CircularBuffer, config.pool, dtype, "values", name="pool", **placement.buffer_options
        )
        if config.evaluation.every:
            self.start_evaluation(ListedPolicies(game, config), evaluated_as(game), config.evaluation.opponents)
        self.wait_until_ready([self.buffer, self.learner])

    @property
    @abstractmethod
    def learner_kind(self) -> Callable[..., Learner]:
        """Class of the learner; takes game, network, training and seed, and the weights to start with."""

    @abstractmethod
    def record(self, game: ListedGame, hidden: int) -> np.dtype:
        """Record of a sample, with `hidden` bytes that its player does not see."""

    @abstractmethod
    def start_workers(self, game: ListedGame) -> WorkerPool[ListedPlayer]:
        """Starts the self-play workers, instances of a subclass of `actors.listed_play.ListedPlayer`."""

    def player_options(self, game: ListedGame) -> PlayerOptions:
        """The options of the workers that do not depend on the method."""
        config, make_agent = self.config, self.placement.options.make_agent
        rivals, partners = (
            [(make_agent(name, game), share) for name, share in agents.items()]
            for agents in (config.opponents, config.partners)
        )
        return {
            "learn_scripted": config.tribute == "learnt",
            "device": self.placement.playing_device(self.played_on),
            "rivals": rivals,
            "partners": partners,
            "win_bonus": config.training.win_bonus,
        }

    def enter(self, game: GameBase) -> None:
        self.workers = self.start_workers(listed(game))

    def files(self, folder: Path) -> Sequence[tuple[Handle[Saved], Path]]:
        return [(self.learner, folder / "learner.safetensors"), (self.buffer, folder / "pool.safetensors")]
