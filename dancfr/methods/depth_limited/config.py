"""Configuration of depth-limited external sampling with nets: every key that `dancfr train PRESET key=value` knows."""

from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, RunConfig
from learners.geister_beliefs.settings import SearchSettings
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings


class DepthLimitedEvaluation(EvaluationSettings):
    """Evaluation along the run.

    Attributes:
        ply_limit: Length of these games; None keeps the game's own.
        last: Evaluate the policy of the last advantage net too, not only the average one.
    """

    every: int = Field(50, ge=0)
    opponents: tuple[str, ...] = ("random", "heuristic", "rush")
    games: int = Field(400, ge=2, le=10_000_000)
    ply_limit: int | None = Field(300, ge=1, le=32_000)
    last: bool = False

    def for_other_game(self) -> Self:
        """Both boards have the same bots; the smaller one keeps its own length."""
        return self.model_copy(update={"ply_limit": None})


class DepthLimitedConfig(RunConfig):
    """Belief states and depth-limited external sampling with networks on Geister: what paper 002 leaves for later.

    Attributes:
        games: Games of self-play an iteration.
        states: Belief states of them that are searched, for both players.
        chunk: Games of a chunk, the unit of work of a worker. Part of what the seed determines.
        uniform: Share of the chunks in which one player, either in turn, plays uniformly at random, and the other one
            alone learns: self-play alone forgets how to win against weaker opponents. Advantages and values are then
            those of the game in which the opponent is that player with this probability (a restricted Nash response,
            Johanson, Zinkevich and Bowling 2008), whom an infostate does not tell from the other.
        search: Self-play, beliefs and searches.
        network: Advantage and policy nets.
        value_network: Value nets.
        advantage_training, policy_training, value_training: How to fit.
        policy_every: Iterations between fits of the policy net, by which self-play and beliefs go.
        iteration_power: Advantage samples weigh their iteration to this power; 1 is linear CFR.
        average_power: Policies weigh their iteration to this power in the average.
        average_threshold: The agent leaves out actions less probable than this share of the likeliest one.
        reservoir: Rows of the reservoir of advantages.
        policies: Rows of the reservoir of policies.
        circular: Rows of the buffer of values.
    """

    buffers: ClassVar[tuple[str, ...]] = ("reservoir", "policies", "circular")
    resumable: ClassVar[frozenset[str]] = RunConfig.resumable | {"average_threshold"}

    games: int = Field(64, ge=1, le=1_000_000)
    states: int = Field(2048, ge=1, le=100_000_000)
    chunk: int = Field(16, ge=1, le=100_000)
    uniform: float = Field(0.0, ge=0, le=0.9)
    search: SearchSettings = SearchSettings()
    network: NetworkSettings = NetworkSettings(outputs="move")
    value_network: NetworkSettings = NetworkSettings(outputs="value")
    advantage_training: TrainingSettings = TrainingSettings()
    policy_training: TrainingSettings = TrainingSettings()
    value_training: TrainingSettings = TrainingSettings()
    policy_every: int = Field(1, ge=1)
    iteration_power: float = Field(1.0, ge=0, le=100)
    average_power: float = Field(1.0, ge=0, le=100)
    average_threshold: float = Field(0.0, ge=0, le=1)
    reservoir: int = Field(1_000_000, ge=1)
    policies: int = Field(1_000_000, ge=1)
    circular: int = Field(500_000, ge=1)
    evaluation: DepthLimitedEvaluation = DepthLimitedEvaluation()

    @model_validator(mode="after")
    def _value_nets_alone_have_one_output(self) -> "DepthLimitedConfig":
        if self.value_network.outputs != "value":
            raise ValueError("value_network.outputs=value is what a value net has")
        if self.network.outputs == "value":
            raise ValueError("network.outputs=value is for value nets: advantages and policies need move or square")
        return self

    @model_validator(mode="after")
    def _self_play_is_left(self) -> "DepthLimitedConfig":
        if self.uniform and self.games <= self.chunk:
            raise ValueError(
                f"uniform={self.uniform} takes whole chunks, and games={self.games} are a single one of "
                f"chunk={self.chunk}"
            )
        return self

    @model_validator(mode="after")
    def _buffers_hold_a_batch(self) -> "DepthLimitedConfig":
        for buffer, training in (
            ("reservoir", "advantage_training"),
            ("policies", "policy_training"),
            ("circular", "value_training"),
        ):
            rows, batch = getattr(self, buffer), getattr(self, training).batch
            if rows < batch:
                raise ValueError(f"{buffer}={rows} is smaller than {training}.batch={batch}")
        return self

    def check(self) -> None:
        """Raises UsageError where the game, the networks and the opponents do not fit together."""
        from dancfr.games.registry import make_game
        from envs.geister import Geister
        from learners.geister_beliefs.view import BeliefGeister

        game: Any = make_game(self.game, **self.game_options)
        if not isinstance(game, Geister):
            raise UsageError(f"belief states here are for geister and mini-geister, not for {self.game}")
        if not game.random_setup:
            raise UsageError("belief states begin when the colours are drawn: they need game_options.random_setup=true")
        if self.curriculum.option:
            raise UsageError("curriculum.option: this method plays one game only, without a curriculum")
        spec = BeliefGeister.of(game).spec
        try:
            self.network.check(spec)
            self.value_network.check(spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.check_opponents(game)


QUICK = DepthLimitedConfig(
    game="geister",
    game_options={"ply_limit": 100, "random_setup": True, "forced_escape": True},
    iterations=100_000,
    minutes=15.0,
    games=160,
    states=6144,
    chunk=20,
    uniform=0.25,
    policy_every=3,
    network=NetworkSettings(trunk="flat", width=128, depth=3, norm="layer", outputs="move"),
    value_network=NetworkSettings(trunk="flat", width=128, depth=3, norm="layer", outputs="value"),
    advantage_training=TrainingSettings(batch=1024, minibatches=150, weight_average=15.0),
    policy_training=TrainingSettings(batch=1024, minibatches=150, weight_average=15.0),
    value_training=TrainingSettings(batch=1024, minibatches=100, weight_average=15.0),
    iteration_power=0.0,
    average_threshold=0.5,
    checkpoint_every=50,
)
"""Depth-limited external sampling with nets on full Geister, with what docs/dream-on-geister.md has found of weights of
iterations, of averaged weights and of thresholds. docs/depth-limited.md has the experiments."""

PRESETS = (
    Preset(
        "geister-depth-limited",
        QUICK.varied(minutes=120.0, reservoir=4_000_000, policies=4_000_000, circular=1_000_000, checkpoint_every=100),
        "belief states and depth-limited external sampling with nets on Geister, two hours and larger buffers",
    ),
    Preset(
        "geister-depth-limited-quick",
        QUICK,
        "belief states and depth-limited external sampling with nets on Geister, 15 minutes on 2 cores",
    ),
)
