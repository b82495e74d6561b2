"""Belief states and depth-limited external sampling with nets on Geister (paper 002)."""

from dancfr.methods.belief_search.config import PRESETS, BeliefSearchConfig
from dancfr.methods.curves import APART_KEYS, Curves, buffers, game_length, losses_of_nets, rows_of_nets, throughput
from dancfr.methods.method import Method, lazily
from dancfr.watch.progress import Speed

NETS = ("advantage", "policy", "value")
CURVES = Curves(
    phases={
        "self-play and search": "time/search_s",
        **{f"{net} network": f"time/{net}_s" for net in NETS},
        **APART_KEYS,
    },
    overlap="the networks are fitted beside each other",
    counted="",
    metrics=(
        losses_of_nets(*NETS),
        buffers(
            {
                "Advantage reservoir": "buffer/advantage_fill",
                "Policy reservoir": "buffer/policy_fill",
                "Value buffer": "buffer/value_fill",
            }
        ),
        game_length("search/mean_plies", "plies"),
        throughput(
            "self-play, searches and fits",
            {"Decisions in self-play and searches": "search/decisions_per_second", **rows_of_nets(*NETS)},
        ),
    ),
)

METHOD = Method(
    name="belief-search",
    config=BeliefSearchConfig,
    train=lazily("dancfr.methods.belief_search.driver:train"),
    load_agent=lazily("dancfr.methods.belief_search.agent:load_agent"),
    pack=lazily("dancfr.methods.belief_search.agent:pack"),
    presets=PRESETS,
    speed=Speed("search/decisions_per_second", "decisions", "in self-play and searches", "samples/decisions"),
    samples="samples/advantages",
    plies="samples/decisions",
    stored_with="evaluation",
    curves=CURVES,
)
