"""Configuration and presets of depth-limited external sampling with nets."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.method import Preset
from dancfr.methods.settings import LongerEvaluation, RunConfig
from learners.belief_search.settings import SearchSettings
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings


class BeliefSearchEvaluation(LongerEvaluation):
    """Evaluation during training.

    Attributes:
        last: Evaluate the policy of the newest advantage net in addition to the average policy.
    """

    every: int = Field(50, ge=0)
    games: int = Field(400, ge=2, le=10_000_000)

    def for_other_game(self) -> Self:
        """Keeps the opponents, since both board sizes have the same bots, and resets the ply limit."""
        return self.model_copy(update={"ply_limit": None})


class BeliefSearchConfig(RunConfig):
    """Belief states and depth-limited external sampling with networks on Geister, the future work of paper 002.

    Attributes:
        games: Self-play games per iteration.
        states: Belief states of these games to search per iteration, for both players together.
        chunk: Games per chunk, the unit of work of a worker. Results depend on it, as on the seed.
        uniform: Fraction of the chunks in which one player (alternately either) plays uniformly at random and only the
            other one learns, since self-play alone forgets how to beat weaker opponents. One chunk of each iteration is
            always left to self-play: with two chunks the fraction is at most 0.5. Advantages and values then belong to
            the game in which the opponent is uniform with this probability, which infostates do not reveal (a
            restricted Nash response; Johanson, Zinkevich and Bowling 2008).
        search: Settings of self-play, beliefs and searches.
        network: Architecture of the advantage and policy nets.
        value_network: Architecture of the value nets.
        advantage_training, policy_training, value_training: Optimisation of the nets.
        policy_every: Iterations between fits of the policy net, which self-play and beliefs use.
        iteration_power: Exponent p of the weight t^p of advantage samples of iteration t; 1: linear CFR.
        average_power: Exponent p of the weight t^p of policies of iteration t in the average policy.
        average_threshold: The agent never plays actions whose probability is below this fraction of the largest one.
        reservoir: Capacity of the advantage reservoir, in rows.
        policies: Capacity of the policy reservoir, in rows.
        circular: Capacity of the circular buffer of values, in rows.
    """

    batches: ClassVar[dict[str, str]] = {
        "reservoir": "advantage_training",
        "policies": "policy_training",
        "circular": "value_training",
    }
    buffers: ClassVar[tuple[str, ...]] = tuple(batches)
    plays: ClassVar[frozenset[str]] = frozenset({"average_threshold"})
    resumable: ClassVar[frozenset[str]] = RunConfig.resumable | plays

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
    evaluation: BeliefSearchEvaluation = BeliefSearchEvaluation()

    @model_validator(mode="after")
    def _value_nets_alone_have_one_output(self) -> "BeliefSearchConfig":
        if self.value_network.outputs != "value":
            raise ValueError(f"value_network.outputs must be value, got {self.value_network.outputs}")
        if self.network.outputs == "value":
            raise ValueError("network.outputs must be move or square, got value, which is for value nets only")
        return self

    @model_validator(mode="after")
    def _self_play_is_left(self) -> "BeliefSearchConfig":
        if self.uniform and self.games <= self.chunk:
            raise ValueError(
                f"uniform={self.uniform} applies to whole chunks, but games={self.games} and chunk={self.chunk} give "
                "a single one: raise games or lower chunk"
            )
        return self

    def check(self) -> None:
        """Raises UsageError if the game, the networks and the opponents are not compatible."""
        from dancfr.games.registry import make_game
        from envs.geister import Geister
        from learners.belief_search.view import BeliefGeister

        game = make_game(self.game, **self.game_options)
        if not isinstance(game, Geister):
            raise UsageError(f"game must be geister or mini-geister for this method, got {self.game}")
        if not game.random_setup:
            raise UsageError("game_options.random_setup must be true: belief states start from random layouts")
        if game.history:
            raise UsageError("game_options.history must be false: the beliefs of this method take its place")
        self.curriculum.refuse()
        spec = BeliefGeister.of(game).spec
        try:
            self.network.check(spec)
            self.value_network.check(spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.check_opponents(game)
        self.check_ply_limit()


QUICK = BeliefSearchConfig(
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
"""Depth-limited external sampling with nets on full Geister. Iteration weights, weight averaging and thresholds follow
docs/results/dream-on-geister.md; docs/results/belief-search.md has the experiments."""

PRESETS = (
    Preset(
        "geister-belief-search",
        QUICK.varied(minutes=120.0, reservoir=4_000_000, policies=4_000_000, circular=1_000_000, checkpoint_every=100),
        "belief states and depth-limited external sampling with nets on Geister, two hours and larger buffers",
    ),
    Preset(
        "geister-belief-search-quick",
        QUICK,
        "belief states and depth-limited external sampling with nets on Geister, 15 minutes on 2 cores",
    ),
)
