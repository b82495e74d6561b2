"""Benchmark of value solving for the data sets of paper 003, compared with the products of payoffs and plans alone."""

from time import perf_counter, process_time
from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.games.limits import LIMITS
from dancfr.methods.value_functions.solving import cut_game
from learners.cfr.vector import multiply
from learners.value_functions.parts import Split
from learners.value_functions.samples import random_plans, solve_samples
from learners.value_functions.settings import ValueSolving

GAMES = {"goofspiel5": 2000, "oshi_zumo8_k1": 2000, "oshi_zumo8_k3": 2000, "leduc_2b2r": 812}
"""Number of policies in the data set of each game."""
TRUNKS, BATCH = 200, 64
"""Number of policies of each game that are measured, and number of policies that are solved at a time."""
ENOUGH_S = 10.0
"""Benchmarks with fewer seconds measure only `BATCH` policies of each game."""
TARGET_S, MANY, MANY_TARGET_S = 60.0, 50_000, 90.0
"""Targets in seconds on one core: for a data set, and for `MANY` samples."""
MEASURED = "goofspiel5"


def measure(seconds: float) -> dict[str, Any]:
    """Measures samples/s of goofspiel with 1000 iterations of CFR+ each; the limit is the products with payoffs alone.

    For each game, the detail has the CPU seconds of its data set and of 50,000 samples, extrapolated from 200 policies
    (64 if `seconds` is below `ENOUGH_S`); the largest gain of a best response, as a share of the largest return; and
    the largest deviation from 0 of the sum of both players' values.
    """
    settings = ValueSolving()
    splits = {game: cut_game(game, {}, LIMITS[game]) for game in GAMES}
    trunks = TRUNKS if seconds >= ENOUGH_S else BATCH
    found = {game: _quality(split, GAMES[game], settings, trunks) for game, split in splits.items()}
    split = splits[MEASURED]
    short = ValueSolving(iterations=100, tolerance=None)
    plans = random_plans(split, BATCH, short, np.random.default_rng(1))
    calls = {
        "solving": lambda: solve_samples(split, plans, short, np.random.default_rng(2)),
        "products": lambda: _products(split, 100),
    }
    times = seconds_each(calls, seconds)
    samples = BATCH * split.encoding.num_public * short.iterations / settings.iterations
    speed, limit = rate(samples, times["solving"]), rate(samples, times["products"])
    detail = {
        "limit": "the products of payoffs and plans of as many iterations",
        "targets": {"data set": TARGET_S, f"{MANY} samples": MANY_TARGET_S, "gap": 1e-3, "zero-sum": 1e-5},
        "games": found,
        "noise": noise(times["solving"]),
    }
    return result("value-solving", speed, "samples/s", limit, speed / limit, detail)


def _quality(split: Split, strategies: int, settings: ValueSolving, trunks: int) -> dict[str, float]:
    """Measures time and accuracy of the data set of a game on `trunks` of its policies."""
    rng = np.random.default_rng(1)
    solve_samples(split, random_plans(split, 1, settings, rng), ValueSolving(iterations=1), rng)  # compiles
    gaps, sums, spent, waited, samples = [], [], process_time(), perf_counter(), 0
    for first in range(0, trunks, BATCH):
        plans = random_plans(split, min(BATCH, trunks - first), settings, rng)
        rows, gap = solve_samples(split, plans, settings, rng)
        worth = rows["ranges"].astype(np.float64) * rows["values"]
        gaps.append(gap)
        sums.append(float(np.abs(worth.sum(axis=1)).max()))
        samples += len(rows)
    spent, waited = process_time() - spent, perf_counter() - waited
    return {
        "seconds of the data set": round(spent * strategies / trunks, 1),
        f"seconds of {MANY} samples": round(spent * MANY / samples, 1),
        "strategies measured": trunks,
        "samples": strategies * split.encoding.num_public,
        "gap": max(gaps),
        "zero-sum error": max(sums),
        "wall a CPU second": round(waited / spent, 2),
    }


def _products(split: Split, iterations: int) -> None:
    """Computes the products of payoffs and plans of `iterations` iterations."""
    for _, part in split.subgames:
        payoffs = part.payoffs(np.float32)
        for player in (0, 1):
            plan = np.ones((part.players[1 - player].num_sequences, BATCH), np.float32)
            out = np.empty((part.players[player].num_sequences, BATCH), np.float32)
            for _ in range(iterations):
                multiply(payoffs[player], plan, out)
