"""Configuration and presets of Deep Monte-Carlo."""

from pydantic import Field, model_validator

from dancfr.methods.listed_settings import ListedConfig
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings
from learners.dmc.settings import DmcTrainingSettings
from learners.listed.settings import Outputs, QNetworkSettings


class DmcConfig(ListedConfig):
    """Deep Monte-Carlo self-play of DanZero (paper 004).

    Attributes:
        epsilon: Probability of a uniformly random action at each decision of self-play.
        teacher: Agent that plays in place of the net in the first iterations, by its name; the net learns the values of
            its play. None: no teacher.
        taught: Number of these iterations.
    """

    epsilon: float = Field(0.01, ge=0, le=1)
    teacher: str | None = None
    taught: int = Field(0, ge=0)
    training: DmcTrainingSettings = DmcTrainingSettings()

    @property
    def outputs(self) -> Outputs:
        return "returns" if self.trace is None else "advantages"

    @property
    def trace(self) -> float | None:
        return None if self.training.critic == "none" else self.training.trace

    @model_validator(mode="after")
    def _teacher_has_lessons(self) -> "DmcConfig":
        if (self.teacher is None) != (self.taught == 0):
            raise ValueError(f"teacher and taught belong together, got teacher={self.teacher} taught={self.taught}")
        return self


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
see docs/results/danzero-on-guandan.md."""

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
start from situations of matches. docs/results/danzero-on-guandan.md has the experiments."""

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
)
