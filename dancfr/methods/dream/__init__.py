"""DREAM (Steinberger, Lerer and Brown 2020), and Deep CFR by external sampling."""

from dancfr.methods.curves import (
    APART_KEYS,
    READABILITY,
    Curves,
    Metric,
    buffers,
    losses_of_nets,
    rows_of_nets,
    throughput,
)
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
        losses_of_nets("advantage", "baseline", label="mean weighted squared error", by_player=True),
        buffers(
            {"Advantage reservoir": "buffer/advantage_fill", "Baseline buffer": "buffer/baseline_fill"}, by_player=True
        ),
        Metric(
            "effective-sample-size",
            "Effective sample size of the importance weights",
            "effective samples (% of samples)",
            "% of samples",
            {"Effective sample size of the importance weights": "traversal/effective_sample_size"},
            percent=True,
            setting="importance",
        ),
        Metric(
            "game-length",
            "Length of a traversal (of its game, with outcome sampling)",
            "decisions per traversal",
            "decisions",
            {"Decisions per traversal": "traversal/mean_plies"},
        ),
        READABILITY,
        throughput(
            "traversals and fits",
            {
                "Decisions in traversals": "traversal/decisions_per_second",
                **rows_of_nets("advantage", "baseline"),
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
    speed=Speed("traversal/decisions_per_second", "decisions", "in traversals", "samples/decisions"),
    samples="samples/advantage",
    plies="samples/decisions",
    pack=lazily("dancfr.methods.dream.agent:pack"),
    stored_with="train",
    strategies=lambda config, t: {(i, p) for i in range(1, t + 1) for p in config.updated_players(i)},
    strategy_per_player=True,
    curves=CURVES,
)
