"""Settings of runs that are trained in a moment, and rows of metrics.jsonl for records written by hand."""

from typing import Any

import torch

from envs.guandan import GuanDan
from learners.listed.network import QNet
from learners.listed.settings import QNetworkSettings
from learners.networks.settings import Weights

KUHN_DREAM: dict[str, object] = {
    "game": "kuhn",
    "iterations": 4,
    "traversals": 20,
    "evaluation.every": 2,
    "evaluation.games": 20,
    "advantage_training.minibatches": 2,
    "baseline_training.minibatches": 2,
}
"""Settings of `leduc-dream-quick` with which it trains in a moment."""

DMC_NETWORK = QNetworkSettings(width=8, depth=2)


def q_weights(seed: int, network: QNetworkSettings = DMC_NETWORK) -> Weights:
    """A fresh Q-net of GuanDan."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return QNet(network, GuanDan().spec).inference_weights()


def dmc_row(iteration: int, **values: Any) -> dict[str, Any]:
    """A training row of Deep Monte-Carlo with a number for every key of the record. Its fit is the one before."""
    row: dict[str, Any] = {
        "kind": "train",
        "iteration": iteration,
        "elapsed_s": 3.0 * iteration,
        "time/selfplay_s": 2.5,
        "time/actors_waited_s": 0.4,
        "samples/values": 4000 * iteration,
        "selfplay/decisions_per_second": 9000.0,
        "selfplay/samples_per_second": 4500.0,
        "selfplay/rows_per_sample": 13.0,
        "selfplay/decisions_per_game": 110.0,
        "selfplay/q_error": 4.0 / iteration,
        "selfplay/busy": 1.9,
        "selfplay/age": 1,
    }
    if iteration > 1:
        row |= {
            "loss/value": 3.5 / iteration,
            "learner/rows": 32768,
            "learner/clipped": 0.1 + 0.01 * iteration,
            "learner/q_mean": 0.02,
            "learner/q_spread": 0.5,
            "learner/q_error": 4.1 / iteration,
            "learner/q_drift": 0.3,
            "learner/age": 1.5,
            "learner/age_updates": 6.0,
            "learner/rows_per_second": 12_000.0,
            "learner/waited_s": 0.1,
            "time/value_s": 2.8,
        }
    return row | values


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
