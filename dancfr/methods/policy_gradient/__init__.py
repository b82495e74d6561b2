"""Regularised policy gradients in self-play: PPO with an entropy bonus and a magnet."""

from dancfr.methods.curves import APART_KEYS, Curves, Metric
from dancfr.methods.method import Method, lazily
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from dancfr.methods.policy_gradient.presets import PRESETS
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={"self-play": "time/selfplay_s", "nets": "time/fit_s", **APART_KEYS},
    overlap="the nets are fitted beside the next self-play",
    counted="A fit counts where its weights are first used.",
    metrics=(
        Metric(
            "entropy",
            "Entropy of the policy",
            "nats",
            "nats",
            {"Entropy at the infostates of self-play": "learner/entropy"},
        ),
        Metric(
            "values",
            "How much of the returns' variance the values explain",
            "explained (%)",
            "%",
            {"Explained variance": "learner/explained"},
            percent=True,
        ),
        Metric(
            "clipped",
            "Decisions without gradient of the policy",
            "clipped (% of decisions)",
            "% of decisions",
            {"Decisions without gradient": "learner/clipped"},
            "A decision is clipped where the learner's policy has moved away from the one that played.",
            percent=True,
        ),
        Metric(
            "divergence",
            "Divergence of the policy",
            "nats",
            "nats",
            {
                "From the policy that played": "learner/divergence",
                "From the magnet": "learner/magnet",
            },
        ),
        Metric(
            "waiting",
            "Waiting of actors and learner",
            "seconds per iteration",
            "s per iteration",
            {"Actors wait for the fit": "time/actors_waited_s", "The learner waits for samples": "learner/waited_s"},
            "Each iteration one of both may be ready first; neither waits long where both take the same time.",
            total=True,
        ),
        Metric(
            "throughput",
            "Throughput of self-play and fits",
            "per second",
            "1/s",
            {"Decisions in self-play": "selfplay/decisions_per_second", "Rows in fits": "learner/rows_per_second"},
        ),
        Metric(
            "game-length",
            "Length of the games of self-play",
            "decisions per game",
            "decisions",
            {"Length of the games of self-play": "selfplay/decisions_per_game"},
        ),
    ),
)

METHOD = Method(
    name="policy-gradient",
    config=PolicyGradientConfig,
    train=lazily("dancfr.methods.policy_gradient.driver:train"),
    load_agent=lazily("dancfr.methods.policy_gradient.agent:load_agent"),
    pack=lazily("dancfr.methods.policy_gradient.agent:pack"),
    presets=PRESETS,
    speed=Speed("selfplay/decisions_per_second", "decisions"),
    samples="samples/decisions",
    plies="selfplay/decisions",
    age="selfplay/age",
    stored_with="evaluation",
    curves=CURVES,
)
