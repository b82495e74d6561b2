"""Configuration of a Deep Monte-Carlo run: every key that `dancfr train PRESET key=value` knows."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, RunConfig
from envs.game import RaggedGame
from learners.dmc.settings import DmcTrainingSettings, QNetworkSettings


class DmcConfig(RunConfig):
    """Deep Monte-Carlo of DanZero (paper 004) by self-play.

    Attributes:
        games: Games of self-play in an iteration: rounds or matches, as `game_options.length` says.
        chunk: Games of a chunk, the unit of work of a self-play worker. Part of what the seed determines.
        tables: Games that a worker plays in lock step.
        epsilon: Share of decisions at which an actor plays a random action.
        tribute: ``heuristic`` leaves tributes to the game's heuristic, as in the paper; ``learnt`` decides them by the
            Q-net as well, and trains it on them (the network's encoding must tell these decisions apart).
        network: The Q-net.
        training: How to fit it.
        pool: Rows of the circular sample pool.
        average: The agent that is evaluated and kept is a running average of the weights that have played: those of
            the n-th fit weigh n to this power. It takes out of the net what the last minibatches put into it; actors
            go on playing by the weights as they are. 0 keeps the last weights alone, as in the paper.
    """

    buffers: ClassVar[tuple[str, ...]] = ("pool",)

    game: str = "guandan"
    games: int = Field(64, ge=1, le=10_000_000)
    chunk: int = Field(16, ge=1, le=1_000_000)
    tables: int = Field(16, ge=1, le=100_000)
    epsilon: float = Field(0.01, ge=0, le=1)
    tribute: Literal["heuristic", "learnt"] = "heuristic"
    network: QNetworkSettings = QNetworkSettings()
    training: DmcTrainingSettings = DmcTrainingSettings()
    pool: int = Field(65_536, ge=1)
    average: float = Field(0.0, ge=0, le=1000)
    evaluation: EvaluationSettings = EvaluationSettings(opponents=("random", "greedy", "planner"))

    @model_validator(mode="after")
    def _pool_holds_a_batch(self) -> "DmcConfig":
        if self.pool < self.training.batch:
            raise ValueError(f"pool={self.pool} is smaller than training.batch={self.training.batch}")
        return self

    def check(self) -> None:
        """Raises UsageError where the game, its options, the network and the opponents do not fit together."""
        from dancfr.games.registry import make_game

        game: Any = make_game(self.game, **self.game_options)
        if not isinstance(game, RaggedGame):
            raise UsageError(f"Deep Monte-Carlo is for games with ragged actions, such as guandan, not {self.game}")
        try:
            self.network.check(game.spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        encoding = self.network.encoding_of(game.spec)
        if self.tribute == "learnt" and not encoding.startswith("tribute"):
            raise UsageError(
                f"tribute=learnt needs to tell tributes from plays, which the encoding {encoding} does not: "
                "set network.encoding=tribute"
            )
        self.curriculum.check_games(self.game, self.game_options)
        self.check_opponents(game)


PAPER = DmcConfig(
    game="guandan",
    game_options={"length": "match", "situation": "first"},
    iterations=1_000_000,
    games=32,
    chunk=8,
    tables=8,
    epsilon=0.01,
    network=QNetworkSettings(width=512, depth=5, activation="tanh"),
    training=DmcTrainingSettings(
        batch=32_768, minibatches=2, optimiser="rmsprop", learning_rate=1e-3, epsilon=1e-5, staleness=0.65
    ),
    pool=65_536,
    evaluation=EvaluationSettings(every=50, opponents=("random", "greedy", "planner"), games=1000),
    checkpoint_every=25,
)
"""Paper 004, IV and V-A: its network, optimiser, pool and staleness clip, whole matches of self-play."""

QUICK = PAPER.varied(
    game_options={"length": "round", "situation": "drawn"},
    minutes=15.0,
    games=64,
    chunk=16,
    tables=16,
    network=QNetworkSettings(width=128, depth=3, activation="tanh"),
    training=DmcTrainingSettings(batch=512, minibatches=16, optimiser="adam", learning_rate=5e-4),
    average=3.0,
    pool=32_768,
    evaluation=EvaluationSettings(every=250, opponents=("random", "greedy", "planner"), games=400),
    checkpoint_every=500,
)
"""What makes Deep Monte-Carlo learn GuanDan fast on two cores: a small net, small minibatches by Adam, averaged
weights, and single rounds in situations drawn from matches. docs/danzero-on-guandan.md has the experiments."""

PRESETS = (
    Preset("guandan-dmc", PAPER, "paper 004: DanZero's Deep Monte-Carlo on whole matches of GuanDan"),
    Preset(
        "guandan-dmc-no-wild",
        PAPER.varied(network=QNetworkSettings(width=512, depth=5, encoding="no_wild_flags")),
        "the same without the flags for wild cards: the paper's Ours-",
    ),
    Preset("guandan-quick", QUICK, "a GuanDan agent that beats simple bots, in 15 minutes on 2 cores"),
)
