"""Presets of policy gradients."""

from dancfr.methods.method import Preset
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from dancfr.methods.settings import ExactEvaluation
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.settings import PolicyTrainingSettings

GEISTER = PolicyGradientConfig(
    game="geister",
    iterations=100_000,
    minutes=5.0,
    games=1024,
    chunk=256,
    network=NetworkSettings(width=128, depth=3, norm="layer", outputs="move"),
    training=PolicyTrainingSettings(
        batch=2048,
        learning_rate=1e-3,
        learning_rate_end=1e-4,
        entropy=0.02,
        entropy_end=0.003,
        schedule=500,
        discount=0.99,
        trace=0.85,
    ),
    opponents={"random": 0.1},
    former=0.2,
    kept=20,
    kept_every=15,
    average="mixture",
    average_power=1.0,
    threshold=0.5,
    evaluation=ExactEvaluation(every=100, games=400),
    checkpoint_every=100,
)

LEDUC = PolicyGradientConfig(
    game="leduc",
    iterations=8000,
    games=2048,
    chunk=1024,
    network=NetworkSettings(width=64, depth=2, norm="none", outputs="action"),
    training=PolicyTrainingSettings(
        batch=512,
        learning_rate=3e-3,
        learning_rate_end=1e-4,
        entropy=0.15,
        entropy_end=0.008,
        schedule=7500,
        discount=1.0,
        trace=1.0,
    ),
    evaluation=ExactEvaluation(every=400, opponents=("random",), games=1000, ply_limit=None, exploitability=True),
    checkpoint_every=400,
)
"""Many small steps, as the policy has to follow the quantal-response equilibrium of a temperature that falls."""

PRESETS = (
    Preset(
        "geister-policy-gradient-quick",
        GEISTER,
        "a regularised policy gradient, 5 minutes on 2 cores",
    ),
    Preset("leduc-policy-gradient", LEDUC, "a regularised policy gradient on Leduc hold'em, with its exact NashConv"),
)
