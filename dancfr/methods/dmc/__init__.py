"""Deep Monte-Carlo with staleness clipping (DanZero, paper 004)."""

from functools import partial

from dancfr.methods.curves import APART_KEYS, LISTED, Curves, Metric, clipped, losses
from dancfr.methods.dmc.config import PRESETS, DmcConfig
from dancfr.methods.method import Method, lazily
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={"self-play": "time/selfplay_s", "Q-network": "time/value_s", **APART_KEYS},
    overlap="the Q-network is fitted beside the next self-play",
    counted="A fit counts where its weights are first used.",
    metrics=(
        losses(
            {
                "Training loss, with values clipped for stale samples": "loss/value",
                "Error of the learner's values": "learner/q_error",
                "Error of the values used in self-play": "selfplay/q_error",
            },
            "Training loss, and errors of values",
        ),
        clipped(
            "staleness",
            "samples",
            "Samples without gradient",
            "A sample is clipped if the learner's value is outside the band around the actor's value.",
        ),
        Metric(
            "spread",
            "Spread of the net's values",
            "standard deviation of values",
            "value",
            {"Spread of the fitted rows' values": "learner/q_spread"},
            "A net whose values have no spread gives a constant: it has not learnt, or no longer does.",
        ),
        *LISTED,
    ),
)

METHOD = Method(
    name="dmc",
    config=DmcConfig,
    train=lazily("dancfr.methods.dmc.driver:train"),
    load_agent=partial(lazily("dancfr.methods.listed_agent:load_agent"), DmcConfig),
    pack=partial(lazily("dancfr.methods.listed_agent:pack"), DmcConfig),
    presets=PRESETS,
    speed=Speed("selfplay/decisions_per_second", "decisions", "in self-play"),
    samples="samples/values",
    age="selfplay/age",
    stored_with="evaluation",
    curves=CURVES,
)
