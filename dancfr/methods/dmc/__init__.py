"""Deep Monte-Carlo with staleness clipping (DanZero, paper 004)."""

from dancfr.methods.curves import APART_KEYS, Curves, Metric
from dancfr.methods.dmc.config import PRESETS, DmcConfig
from dancfr.methods.method import Method, lazily
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={"self-play": "time/selfplay_s", "Q-network": "time/value_s", **APART_KEYS},
    overlap="the Q-network is fitted beside the next self-play",
    counted="A fit counts where its weights are first used.",
    metrics=(
        Metric(
            "losses",
            "Training loss, and errors of values",
            "mean squared error",
            "squared error",
            {
                "Training loss, with values clipped for stale samples": "loss/value",
                "Error of the learner's values": "learner/q_error",
                "Error of the values used in self-play": "selfplay/q_error",
            },
            log=True,
        ),
        Metric(
            "staleness",
            "Samples without gradient",
            "clipped (% of samples)",
            "% of samples",
            {"Samples without gradient": "learner/clipped"},
            "A sample is clipped if the learner's value is outside the band around the actor's value.",
            percent=True,
        ),
        Metric(
            "spread",
            "Spread of the net's values",
            "standard deviation of values",
            "value",
            {"Spread of the fitted rows' values": "learner/q_spread"},
            "A net whose values have no spread gives a constant: it has not learnt, or no longer does.",
        ),
        Metric(
            "age",
            "Age of the weights that generated the samples",
            "updates of the weights",
            "updates",
            {"Age of the weights that generated the samples": "learner/age_updates"},
        ),
        Metric(
            "waiting",
            "Waiting times of actors and learner",
            "seconds per iteration",
            "s per iteration",
            {"Actors wait for the fit": "time/actors_waited_s", "The learner waits for samples": "learner/waited_s"},
            "Whichever finishes an iteration first waits for the other one.",
            total=True,
        ),
        Metric(
            "throughput",
            "Throughput of self-play and fits",
            "per second",
            "1/s",
            {
                "Decisions in self-play": "selfplay/decisions_per_second",
                "Samples in self-play": "selfplay/samples_per_second",
                "Rows in fits": "learner/rows_per_second",
            },
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
    name="dmc",
    config=DmcConfig,
    train=lazily("dancfr.methods.dmc.driver:train"),
    load_agent=lazily("dancfr.methods.dmc.agent:load_agent"),
    pack=lazily("dancfr.methods.dmc.agent:pack"),
    presets=PRESETS,
    speed=Speed("selfplay/decisions_per_second", "decisions"),
    samples="samples/values",
    age="selfplay/age",
    stored_with="evaluation",
    curves=CURVES,
)
