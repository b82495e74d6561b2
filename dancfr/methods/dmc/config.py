"""Configuration and presets of Deep Monte-Carlo."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, Resources, RunConfig
from envs.game import FullView, RaggedGame
from learners.dmc.settings import DmcTrainingSettings, QNetworkSettings


class DmcConfig(RunConfig):
    """Deep Monte-Carlo self-play of DanZero (paper 004).

    Attributes:
        games: Self-play games per iteration: rounds or matches, depending on `game_options.length`.
        chunk: Games per chunk, the unit of work of a worker. Results depend on it, as on the seed.
        tables: Games that a worker plays in lock step.
        epsilon: Probability of a uniformly random action at each decision of self-play; a policy
            (`training.objective`) has none but its own.
        start: Agent of a Q-net with which training begins: a run of the same network, whose critic is taken over if it
            has the same size; None: a fresh net.
        start_temperature: Where a policy begins with a Q-net, its logits are the values divided by this; 1 where it
            begins with a policy.
        opponents: Share of the games in which a frozen agent plays all seats of one team, by its name.
        partners: Share of the games in which a frozen agent plays a single seat, by its name.
        teacher: Agent that plays in place of the net in the first iterations, by its name; the net learns the values of
            its play. None: no teacher.
        taught: Number of these iterations.
        overlap: Whether self-play runs beside the fit before, by weights that are one fit older. Without it each waits
            for the other; `resources.learners` then lets several CPUs share a fit.
        tribute: Who decides tributes: ``heuristic``, the game's heuristic, as in the paper; or ``learnt``, the Q-net,
            which is then trained on them as well and needs an encoding that marks these decisions.
        network: Architecture of the Q-net.
        training: Optimisation of the Q-net.
        pool: Capacity of the circular sample pool, in rows.
        average: Exponent p of a running average of the weights of all fits, in which the n-th fit has weight n^p. The
            evaluated and stored agent uses this average, which removes the noise of the last minibatches; self-play
            uses the newest weights. 0: no averaging, as in the paper.
    """

    buffers: ClassVar[tuple[str, ...]] = ("pool",)

    game: str = "guandan"
    games: int = Field(64, ge=1, le=10_000_000)
    chunk: int = Field(16, ge=1, le=1_000_000)
    tables: int = Field(16, ge=1, le=100_000)
    epsilon: float = Field(0.01, ge=0, le=1)
    start: str | None = None
    start_temperature: float = Field(0.2, gt=0)
    opponents: dict[str, float] = Field(default_factory=dict)
    partners: dict[str, float] = Field(default_factory=dict)
    teacher: str | None = None
    taught: int = Field(0, ge=0)
    overlap: bool = True
    tribute: Literal["heuristic", "learnt"] = "heuristic"
    network: QNetworkSettings = QNetworkSettings()
    training: DmcTrainingSettings = DmcTrainingSettings()
    pool: int = Field(65_536, ge=1)
    average: float = Field(0.0, ge=0, le=1000)
    evaluation: EvaluationSettings = EvaluationSettings(opponents=("random", "greedy", "planner"))

    @model_validator(mode="after")
    def _pool_holds_a_batch(self) -> "DmcConfig":
        if self.pool < self.training.batch:
            raise ValueError(f"pool must be at least training.batch={self.training.batch}, got {self.pool}")
        return self

    @model_validator(mode="after")
    def _teacher_has_lessons(self) -> "DmcConfig":
        if (self.teacher is None) != (self.taught == 0):
            raise ValueError(f"teacher and taught belong together, got teacher={self.teacher} taught={self.taught}")
        if self.teacher is not None and self.training.objective == "policy":
            raise ValueError(
                "a policy learns from its own play alone: teach a net with training.objective=values, and start with it"
            )
        return self

    @model_validator(mode="after")
    def _shares_add_up(self) -> "DmcConfig":
        shares = [*self.opponents.values(), *self.partners.values()]
        if any(not 0 < share <= 1 for share in shares) or sum(shares) > 1 + 1e-9:
            raise ValueError(
                "the shares of opponents and partners must be above 0 and add up to at most 1, got "
                f"opponents={self.opponents}, partners={self.partners}"
            )
        return self

    def check(self) -> None:
        """Raises UsageError if the game, its options, the network and the opponents are not compatible."""
        from dancfr.games.registry import make_game

        game: Any = make_game(self.game, **self.game_options)
        if not isinstance(game, RaggedGame):
            raise UsageError(f"game must have ragged actions for Deep Monte-Carlo, such as guandan, got {self.game}")
        try:
            self.network.check(game.spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        encoding = self.network.encoding_of(game.spec)
        if self.tribute == "learnt" and not encoding.startswith(("tribute", "ranks")):
            raise UsageError(
                f"tribute=learnt needs an encoding that distinguishes tributes from plays, got {encoding}: "
                "set network.encoding=tribute or ranks"
            )
        if self.training.critic == "all" and not isinstance(game, FullView):
            raise UsageError(f"training.critic=all needs a game that shows a critic all cards, not {self.game}")
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
        batch=32_768,
        minibatches=2,
        optimiser="rmsprop_tf",
        learning_rate=1e-3,
        epsilon=1e-5,
        staleness=0.65,
        staleness_floor=0.0,
    ),
    pool=65_536,
    evaluation=EvaluationSettings(every=50, opponents=("random", "greedy", "planner"), games=1000),
    checkpoint_every=25,
)
"""Network, optimiser, pool and staleness clip (`staleness_floor` 0) of paper 004 (IV and V-A); self-play of whole
matches. RMSProp is TensorFlow's: with torch's, values swing far beyond the returns and then vanish for half an hour,
see docs/danzero-on-guandan.md."""

SMALL = PAPER.varied(
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
"""The paper's method in minutes: a small net, small minibatches with Adam, averaged weights, and single rounds that
start from situations of matches. docs/danzero-on-guandan.md has the experiments."""

QUICK = SMALL.varied(
    games=128,
    chunk=64,
    tables=64,
    network=QNetworkSettings(
        width=64, depth=1, tower=2, tower_width=256, encoding="plans", choices="candidates", activation="tanh"
    ),
    training=DmcTrainingSettings(
        batch=1024,
        minibatches=12,
        optimiser="adam",
        learning_rate=1e-3,
        learning_rate_end=1e-4,
        clip=1.0,
        max_age=1,
        critic="all",
        trace=0.9,
        objective="policy",
        entropy=0.02,
        entropy_end=0.004,
        schedule=700,
    ),
    overlap=False,
    average=7.0,
    pool=6144,
    resources=Resources(learners=2),
    evaluation=EvaluationSettings(every=150, opponents=("random", "greedy", "planner"), games=400),
    checkpoint_every=150,
)
"""A policy over candidates with features by plans. An iteration samples some 6,300 decisions, which two processes fit
twice."""

STRONG = QUICK.varied(
    minutes=150.0,
    games=256,
    network=QNetworkSettings(
        width=128, depth=1, tower=2, tower_width=384, encoding="plans", choices="candidates", activation="tanh"
    ),
    training=QUICK.training.model_copy(
        update={"batch": 2048, "learning_rate_end": 3e-5, "entropy_end": 0.002, "schedule": 4600}
    ),
    pool=12_288,
    evaluation=EvaluationSettings(every=250, opponents=("random", "greedy", "planner"), games=1000),
    checkpoint_every=250,
)

PRESETS = (
    Preset(
        "guandan-dmc",
        PAPER,
        "paper 004: DanZero's Deep Monte-Carlo on matches of GuanDan",
    ),
    Preset(
        "guandan-dmc-no-wild",
        PAPER.varied(network=QNetworkSettings(width=512, depth=5, encoding="no_wild_flags")),
        "paper 004: DanZero without the flags for wild cards (Ours-)",
    ),
    Preset("guandan-dmc-quick", SMALL, "paper 004's method with a small net, in 15 minutes on 2 cores"),
    Preset("guandan-quick", QUICK, "a GuanDan agent that plays like its best bot, in 15 minutes on 2 cores"),
    Preset("guandan-strong", STRONG, "a GuanDan agent that beats its best bot, in 2.5 hours on 2 cores"),
)
