"""Belief states and depth-limited external sampling with nets on Geister (paper 002)."""

from dancfr.methods.curves import APART_KEYS, Curves, Metric
from dancfr.methods.depth_limited.config import PRESETS, DepthLimitedConfig
from dancfr.methods.method import Method, lazily
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={
        "self-play and search": "time/search_s",
        "advantage network": "time/advantage_s",
        "policy network": "time/policy_s",
        "value network": "time/value_s",
        **APART_KEYS,
    },
    overlap="the networks are fitted beside each other",
    counted="",
    metrics=(
        Metric(
            "losses",
            "Training losses",
            "mean squared error",
            "squared error",
            {
                "Loss of the advantage network": "loss/advantage",
                "Loss of the policy network": "loss/policy",
                "Loss of the value network": "loss/value",
            },
            log=True,
        ),
        Metric(
            "buffers",
            "Fill of the buffers",
            "fill (% of capacity)",
            "% of capacity",
            {
                "Advantage reservoir": "buffer/advantage_fill",
                "Policy reservoir": "buffer/policy_fill",
                "Value buffer": "buffer/value_fill",
            },
            percent=True,
        ),
        Metric(
            "game-length",
            "Length of the games of self-play",
            "plies per game",
            "plies",
            {"Length of the games of self-play": "search/mean_plies"},
        ),
        Metric(
            "throughput",
            "Throughput of self-play, searches and fits",
            "per second",
            "1/s",
            {
                "Decisions in self-play and searches": "search/decisions_per_second",
                "Rows in fits of the advantage network": "learner/advantage_rows_per_second",
                "Rows in fits of the policy network": "learner/policy_rows_per_second",
                "Rows in fits of the value network": "learner/value_rows_per_second",
            },
        ),
    ),
)

METHOD = Method(
    name="depth-limited",
    config=DepthLimitedConfig,
    train=lazily("dancfr.methods.depth_limited.driver:train"),
    load_agent=lazily("dancfr.methods.depth_limited.agent:load_agent"),
    presets=PRESETS,
    speed=Speed("search/decisions_per_second", "decisions"),
    samples="samples/advantages",
    plies="samples/decisions",
    stored_with="evaluation",
    curves=CURVES,
)
