"""Rows of metrics.jsonl for records written by hand."""

from typing import Any


def train_row(iteration: int, player: int, **values: Any) -> dict[str, Any]:
    """A training row with a number for every key of the record."""
    row = {
        "kind": "train",
        "iteration": iteration,
        "player": player,
        "elapsed_s": 2.0 * iteration,
        "time/traversal_s": 0.5,
        "time/advantage_s": 1.0,
        "time/baseline_s": 0.4,
        "samples/advantage": 1000 * iteration,
        "samples/transitions": 2000 * iteration,
        "traversal/decisions_per_second": 50_000.0 + iteration,
        "traversal/effective_sample_size": 0.01,
        "traversal/mean_plies": 90.0,
        "learner/advantage_rows_per_second": 70_000.0,
        "learner/baseline_rows_per_second": 60_000.0,
        "loss/advantage": 3.0 / iteration,
        "loss/baseline": 0.5 / iteration,
        "buffer/advantage_fill": min(1.0, iteration / 5),
        "buffer/baseline_fill": min(1.0, iteration / 4),
    }
    return row | values


def evaluation_row(iteration: int, wins: int, opponent: str = "random", policy: str = "average") -> dict[str, Any]:
    """An evaluation of 100 games without draws."""
    return {
        "kind": "evaluation",
        "iteration": iteration,
        "elapsed_s": 2.0 * iteration,
        "policy": policy,
        "opponent": opponent,
        "games": 100,
        "wins": wins,
        "draws": 0,
        "losses": 100 - wins,
        "win_rate": wins / 100,
        "categories": {"win by escape": wins, "loss by reds taken": 100 - wins},
        "time/evaluation_s": 0.3,
    }
