"""Regularised policy gradients in self-play: PPO with an entropy bonus and a magnet."""

from dancfr.methods.curves import (
    APART_KEYS,
    CLIPPED,
    READABILITY,
    SELF_PLAY_LENGTH,
    WAITING,
    Curves,
    divergence,
    entropy,
    explained,
    throughput,
)
from dancfr.methods.method import Method, lazily
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from dancfr.methods.policy_gradient.presets import PRESETS
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={"self-play": "time/selfplay_s", "nets": "time/fit_s", **APART_KEYS},
    overlap="the nets are fitted beside the next self-play",
    counted="A fit counts where its weights are first used.",
    metrics=(
        entropy("Entropy of the policy", "Entropy at the infostates of self-play"),
        explained("How much of the returns' variance the values explain"),
        CLIPPED,
        divergence(
            {
                "From the policy that played": "learner/divergence",
                "From the magnet": "learner/magnet",
                "From the mean over what the player might hold": "learner/shown",
            }
        ),
        WAITING,
        throughput(
            "self-play and fits",
            {"Decisions in self-play": "selfplay/decisions_per_second", "Rows in fits": "learner/rows_per_second"},
        ),
        SELF_PLAY_LENGTH,
        READABILITY,
    ),
)

METHOD = Method(
    name="policy-gradient",
    config=PolicyGradientConfig,
    train=lazily("dancfr.methods.policy_gradient.driver:train"),
    load_agent=lazily("dancfr.methods.policy_gradient.agent:load_agent"),
    pack=lazily("dancfr.methods.policy_gradient.agent:pack"),
    presets=PRESETS,
    speed=Speed("selfplay/decisions_per_second", "decisions", "in self-play", "selfplay/decisions"),
    samples="samples/decisions",
    plies="selfplay/decisions",
    age="selfplay/age",
    stored_with="evaluation",
    curves=CURVES,
)
