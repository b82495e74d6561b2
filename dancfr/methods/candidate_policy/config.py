"""Configuration and presets of policies over candidates."""

from pydantic import Field

from dancfr.methods.listed_settings import ListedConfig
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, Resources
from learners.candidate_policy.settings import CandidatePolicyTrainingSettings
from learners.listed.settings import Outputs, QNetworkSettings


class CandidatePolicyConfig(ListedConfig):
    """A policy over the choices with the highest logits of a Q-net, as in DanZero+ (Zhao et al. 2023).

    PPO's clipped objective trains it (Schulman et al. 2017), by advantages of a second net that values what all players
    see. Players draw from the policy in self-play, and choose the most likely when they play for good.

    Attributes:
        start_temperature: Divisor of the values of a net when the training starts from a value net, which gives the
            logits. A policy is taken as it is.
    """

    start_temperature: float = Field(0.2, gt=0)
    training: CandidatePolicyTrainingSettings = CandidatePolicyTrainingSettings()

    @property
    def outputs(self) -> Outputs:
        return "logits"

    @property
    def trace(self) -> float:
        return self.training.trace

    @property
    def start_scale(self) -> float:
        return 1 / self.start_temperature


QUICK = CandidatePolicyConfig(
    game="guandan",
    game_options={"length": "round", "situation": "drawn"},
    iterations=1_000_000,
    minutes=15.0,
    games=128,
    chunk=64,
    tables=64,
    network=QNetworkSettings(
        width=64, depth=1, tower=2, tower_width=256, encoding="plans", choices="candidates", activation="tanh"
    ),
    training=CandidatePolicyTrainingSettings(
        batch=1024,
        minibatches=12,
        optimiser="adam",
        learning_rate=1e-3,
        learning_rate_end=1e-4,
        clip=1.0,
        max_age=1,
        trace=0.9,
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
    Preset("guandan-quick", QUICK, "a GuanDan agent that plays like the bot planner, in 15 minutes on 2 cores"),
    Preset("guandan-strong", STRONG, "a GuanDan agent that beats the bot planner, in 2.5 hours on 2 cores"),
)
