"""Settings of short runs of the methods over listed actions."""

from typing import Any

from tests.dancfr.methods.table_runs import configured

DMC, POLICY = "guandan-dmc-quick", "guandan-quick"
TINY = (
    "games=6",
    "chunk=2",
    "tables=2",
    "minutes=none",
    "pool=2000",
    "network.width=16",
    "network.depth=2",
    "training.minibatches=3",
    "training.batch=64",
    "evaluation.every=2",
    "evaluation.games=4",
    "evaluation.opponents=random",
    "checkpoint_every=2",
)
CRITIC = ("training.critic_width=16", "network.encoding=plans", "network.choices=candidates")


def tiny(preset: str, *overrides: str) -> Any:
    return configured(preset, *TINY, *overrides)
