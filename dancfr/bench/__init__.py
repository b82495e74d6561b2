"""Benchmarks: each measures a part of the program, on one core, and what limits it in the same process."""

from collections.abc import Callable
from typing import Any

Bench = Callable[..., dict[str, Any]]


def _single_threaded() -> None:
    import torch

    torch.set_num_threads(1)


def geister_env(seconds: float = 6.0) -> dict[str, Any]:
    """Random plies a second of Geister in batches of 512, masks included."""
    from dancfr.bench.environment import measure

    return measure(seconds)


def dream_traversal(seconds: float = 10.0) -> dict[str, Any]:
    """Decisions a second of DREAM's traversals at 512 games, beside bare inference."""
    from dancfr.bench.traversal import measure

    return measure(seconds)


def dream_learner(seconds: float = 12.0) -> dict[str, Any]:
    """Rows a second that the advantage learner trains on, with the paper's network and batch."""
    from dancfr.bench.learner import measure

    _single_threaded()
    return measure(seconds)


def average_policy(seconds: float = 6.0) -> dict[str, Any]:
    """Milliseconds of a move by the average of 200 networks on one board."""
    from dancfr.bench.average import measure

    return measure(seconds)


BENCHES: dict[str, Bench] = {
    "geister-env": geister_env,
    "dream-traversal": dream_traversal,
    "dream-learner": dream_learner,
    "average-policy": average_policy,
}
