"""Benchmark of random play of Geister through its batch interface."""

from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from envs.game import Game, States
from envs.geister import Geister
from envs.players import choose_uniform

BATCH = 512
STEPS = 200  # lock steps per call


def measure(seconds: float) -> dict[str, Any]:
    """Measures plies/s of random play: legal masks, uniform choice, checked step and new games for finished ones."""
    return result("geister-env", *measure_play(Geister(), "plies/s", seconds))


def measure_play(
    game: Game, unit: str, seconds: float, steps: int = STEPS
) -> tuple[float, str, float, float, dict[str, Any]]:
    """Measures random play of a game; returns the arguments of `timing.result` after the name.

    The limit is a plain copy of the memory that every ply reads and writes: the states, and the masks. The parts in
    the detail are measured separately, on positions in the middle of games.

    Args:
        game: A game with numbered actions.
        unit: Unit of the rate.
        seconds: Approximate time to spend.
        steps: Lock steps per timed call.
    """
    rng = np.random.default_rng(1)
    states = game.reset(BATCH, rng)
    mask = np.zeros((BATCH, game.spec.num_actions), np.bool_)
    copy, masks = states.copy(), mask.copy()
    raw, raw_copy = (array.view(f"V{array.dtype.itemsize}") for array in (states, copy))

    def move_memory() -> None:
        for _ in range(steps):
            raw_copy[:] = raw
            masks[:] = mask

    times = seconds_each({"play": lambda: play(game, states, steps, rng), "memory": move_memory}, seconds * 0.7)
    work = BATCH * steps
    plies, limit = rate(work, times["play"]), rate(work, times["memory"])
    detail = {
        "limit": "copying states and masks of this size",
        "batch": BATCH,
        "nanoseconds": _parts(game, rng, seconds * 0.3),
        "noise": noise(times["play"]),
    }
    return plies, unit, limit, plies / limit, detail


def play(game: Game, states: States, steps: int, rng: np.random.Generator) -> int:
    """Plays random moves in place and restarts finished games; returns the number of restarts."""
    ended = 0
    for _ in range(steps):
        actions = choose_uniform(game.legal(states), rng.random(len(states), dtype=np.float32))
        game.step(states, actions, rng)
        over = np.flatnonzero(game.finished(states))
        if len(over):
            states[over] = game.reset(len(over), rng)
            ended += len(over)
    return ended


def _parts(game: Game, rng: np.random.Generator, seconds: float) -> dict[str, float]:
    """Measures nanoseconds per ply of each part of the loop."""
    states = game.reset(BATCH, rng)
    ended = max(1, round(play(game, states, 40, rng) / 40))
    mask, draws = game.legal(states), rng.random(BATCH, dtype=np.float32)
    actions = choose_uniform(mask, draws)
    opaque = f"V{states.dtype.itemsize}"
    before = states.view(opaque).copy()

    def step() -> None:
        states.view(opaque)[:] = before
        game.step(states, actions, rng)

    calls = {
        "legal": lambda: game.legal(states),
        "choice": lambda: choose_uniform(mask, rng.random(BATCH, dtype=np.float32)),
        "step": step,
        "finished": lambda: np.flatnonzero(game.finished(states)),
        f"reset of {ended} games": lambda: game.reset(ended, rng),
    }
    times = seconds_each(calls, seconds)
    return {name: round(1e9 / rate(BATCH, each), 1) for name, each in times.items()}
