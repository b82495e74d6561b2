"""Chance-sampled CFR on Cheat with Ordered Abstraction (paper 001)."""

from dancfr.methods.cheat_cfr.config import PRESETS, CheatCfrConfig
from dancfr.methods.curves import APART_KEYS, Curves, Metric
from dancfr.methods.method import Method, lazily
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={"tree walk": "time/traversal_s", **APART_KEYS},
    overlap="evaluations run beside the next iterations",
    counted="",
    metrics=(
        Metric(
            "infosets",
            "Infosets visited",
            "infosets",
            "infosets",
            {"Infosets in the table": "cfr/infosets", "Visited in this stage": "cfr/visited"},
        ),
        Metric(
            "nodes", "Nodes visited", "nodes per iteration", "nodes", {"Nodes of an iteration": "cfr/nodes"}, log=True
        ),
        Metric("memory", "Memory of the table", "megabytes", "MB", {"Table": "cfr/megabytes"}),
    ),
)

METHOD = Method(
    name="cheat-cfr",
    config=CheatCfrConfig,
    train=lazily("dancfr.methods.cheat_cfr.driver:train"),
    load_agent=lazily("dancfr.methods.cheat_cfr.agent:load_agent"),
    pack=lazily("dancfr.methods.cheat_cfr.agent:pack"),
    presets=PRESETS,
    speed=Speed("cfr/nodes_per_second", "nodes", "in traversals", "samples/nodes"),
    samples="samples/nodes",
    plies="samples/nodes",
    curves=CURVES,
)
