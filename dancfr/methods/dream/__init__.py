"""DREAM (Steinberger, Lerer and Brown 2020), and Deep CFR by external sampling."""

from dancfr.methods.curves import APART_KEYS, Curves, Metric
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.dream.presets import PRESETS
from dancfr.methods.method import Method, lazily
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={
        "traversal": "time/traversal_s",
        "advantage network": "time/advantage_s",
        "baseline network": "time/baseline_s",
        **APART_KEYS,
    },
    overlap="a baseline network is fitted beside the next iterations",
    counted="A baseline fit counts where its network is first used.",
    metrics=(
        Metric(
            "losses",
            "Training losses",
            "mean weighted squared error",
            "squared error",
            {"Loss of the advantage network": "loss/advantage", "Loss of the baseline network": "loss/baseline"},
            by_player=True,
            log=True,
        ),
        Metric(
            "buffers",
            "Fill of the buffers",
            "fill (% of capacity)",
            "% of capacity",
            {"Advantage reservoir": "buffer/advantage_fill", "Baseline buffer": "buffer/baseline_fill"},
            by_player=True,
            percent=True,
        ),
        Metric(
            "effective-sample-size",
            "Effective sample size of the importance weights",
            "effective samples (% of samples)",
            "% of samples",
            {"Effective sample size of the importance weights": "traversal/effective_sample_size"},
            percent=True,
            weighted=True,
        ),
        Metric(
            "game-length",
            "Length of the games traversed",
            "plies per game",
            "plies",
            {"Length of the games traversed": "traversal/mean_plies"},
        ),
        Metric(
            "throughput",
            "Throughput of traversals and fits",
            "per second",
            "1/s",
            {
                "Decisions in traversals": "traversal/decisions_per_second",
                "Rows in fits of the advantage network": "learner/advantage_rows_per_second",
                "Rows in fits of the baseline network": "learner/baseline_rows_per_second",
            },
        ),
    ),
)

METHOD = Method(
    name="dream",
    config=DreamConfig,
    train=lazily("dancfr.methods.dream.driver:train"),
    load_agent=lazily("dancfr.methods.dream.agent:load_agent"),
    presets=PRESETS,
    speed=Speed("traversal/decisions_per_second", "decisions"),
    samples="samples/advantage",
    plies="samples/decisions",
    stored_with="train",
    strategies=lambda config, t: {(i, p) for i in range(1, t + 1) for p in config.updated_players(i)},
    strategy_per_player=True,
    curves=CURVES,
)
