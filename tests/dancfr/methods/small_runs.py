"""The smallest training of every method."""

from dancfr.methods.method import Method
from tests.dancfr.methods.table_runs import configured

NETS = ("network.width=16", "network.depth=1")
FIT = "batch=32", "minibatches=2"
SMALL = {
    "dream": (
        "leduc-dream",
        "game=kuhn",
        "traversals=32",
        "chunk=16",
        *(f"{part}_training.{each}" for part in ("advantage", "baseline") for each in FIT),
        *NETS,
        "evaluation.exploitability=true",
    ),
    "dmc": ("guandan-dmc-quick", "games=2", "chunk=1", "tables=1", *(f"training.{each}" for each in FIT), *NETS),
    "candidate-policy": (
        "guandan-quick",
        "games=2",
        "chunk=1",
        "tables=1",
        *(f"training.{each}" for each in FIT),
        "training.critic_width=16",
        "network.tower_width=16",
        "resources.learners=1",  # several train the same nets but for rounding
        *NETS,
    ),
    "belief-search": (
        "geister-belief-search-quick",
        "game=mini-geister",
        "games=4",
        "chunk=2",
        "states=16",
        *(f"{part}_training.{each}" for part in ("advantage", "policy", "value") for each in FIT),
        *NETS,
    ),
    "belief-tables": ("mini-geister-belief-tables",),
    "cheat-cfr": ("cheat-memoryless",),
    "value-functions": (
        "goofspiel5-values",
        "game=kuhn",
        "strategies=12",
        "chunk=4",
        "held=4",
        *(f"training.{each}" for each in FIT),
        "network.width=16",
        "network.depth=1",
        "solving.iterations=20",
        "evaluation.iterations=10",
    ),
    "policy-gradient": (
        "geister-policy-gradient-quick",
        "game=kuhn",
        "games=64",
        "chunk=32",
        "training.batch=32",
        "training.magnet=0.1",
        "training.hide=0.05",
        "training.hide_end=0.01",
        "former=0.2",
        "adversaries.net0=0.1",
        "adversaries.one=0.2",
        'adversary.wins.one={"over": 0.5}',
        "kept_every=1",
        "kept=2",
        "average=mixture",
        "noise.openings=0.3",
        "noise.opening_plies=2",
        "noise.tremble=0.3",
        "training.critic=all",
        "evaluation.exploitability=true",
        *NETS,
    ),
    "best-response": (
        "best-response",
        "game=kuhn",
        "rows=64",
        "chunk=32",
        "training.batch=32",
        "starts=fresh,fresh",
        *NETS,
        "eval_games=40",
    ),
}
"""A preset of each method and settings that make it small. A new method needs a line here."""


def small(method: Method, *more: str):
    preset, *changes = SMALL[method.name]
    evaluation = () if method.name == "best-response" else ("evaluation.every=2", "evaluation.games=4")
    return preset, configured(preset, *changes, "checkpoint_every=2", "minutes=none", *evaluation, *more)
