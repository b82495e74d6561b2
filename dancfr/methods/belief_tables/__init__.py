"""Belief states and depth-limited external sampling in tables (paper 002)."""

from dancfr.methods.belief_tables.config import PRESETS, BeliefTablesConfig
from dancfr.methods.curves import APART_KEYS, Curves, Metric
from dancfr.methods.method import Method, lazily
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={"traversal": "time/traversal_s", **APART_KEYS},
    overlap="evaluations run beside the next iterations",
    counted="",
    metrics=(
        Metric("nodes", "Nodes visited", "nodes per iteration", "nodes", {"Nodes of an iteration": "tables/nodes"}),
    ),
)

METHOD = Method(
    name="belief-tables",
    config=BeliefTablesConfig,
    train=lazily("dancfr.methods.belief_tables.driver:train"),
    load_agent=lazily("dancfr.methods.belief_tables.agent:load_agent"),
    pack=lazily("dancfr.methods.belief_tables.agent:pack"),
    presets=PRESETS,
    speed=Speed("tables/nodes_per_second", "nodes", "in traversals", "samples/nodes"),
    samples="samples/nodes",
    plies="samples/nodes",
    curves=CURVES,
)
