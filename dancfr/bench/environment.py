"""Random play of Geister by its public batch interface."""

from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from envs.game import States
from envs.geister import Geister
from envs.players import choose_uniform

BATCH = 512
STEPS = 200  # lock steps a call


def measure(seconds: float) -> dict[str, Any]:
    """Plies/s of legal masks, a uniform choice, a checked step and new games for those that ended.

    The limit is the memory that one ply cannot but move: reading and writing the states and writing the masks, by the
    fastest copy there is. Its parts in the detail are measured alone, on positions in the middle of games.
    """
    game, rng = Geister(), np.random.default_rng(1)
    states = game.reset(BATCH, rng)
    mask = np.zeros((BATCH, game.spec.num_actions), np.bool_)
    copy, masks = states.copy(), mask.copy()
    raw, raw_copy = (array.view(f"V{array.dtype.itemsize}") for array in (states, copy))

    def move_memory() -> None:
        for _ in range(STEPS):
            raw_copy[:] = raw
            masks[:] = mask

    times = seconds_each({"play": lambda: play(game, states, STEPS, rng), "memory": move_memory}, seconds * 0.7)
    work = BATCH * STEPS
    plies, limit = rate(work, times["play"]), rate(work, times["memory"])
    detail = {
        "limit": "copying states and masks of this size",
        "batch": BATCH,
        "nanoseconds": _parts(game, rng, seconds * 0.3),
        "noise": noise(times["play"]),
    }
    return result("geister-env", plies, "plies/s", limit, plies / limit, detail)


def play(game: Geister, states: States, steps: int, rng: np.random.Generator) -> None:
    """Plays random moves in place; games that end begin anew."""
    for _ in range(steps):
        actions = choose_uniform(game.legal(states), rng.random(len(states), dtype=np.float32))
        game.step(states, actions)
        over = np.flatnonzero(game.finished(states))
        if len(over):
            states[over] = game.reset(len(over), rng)


def _parts(game: Geister, rng: np.random.Generator, seconds: float) -> dict[str, float]:
    """Nanoseconds a ply of each part of the loop."""
    states = game.reset(BATCH, rng)
    play(game, states, 40, rng)
    mask, draws = game.legal(states), rng.random(BATCH, dtype=np.float32)
    actions = choose_uniform(mask, draws)
    opaque = f"V{states.dtype.itemsize}"
    before = states.view(opaque).copy()

    def step() -> None:
        states.view(opaque)[:] = before
        game.step(states, actions)

    calls = {
        "legal": lambda: game.legal(states),
        "choice": lambda: choose_uniform(mask, rng.random(BATCH, dtype=np.float32)),
        "step": step,
        "finished": lambda: np.flatnonzero(game.finished(states)),
        "reset of 5 games": lambda: game.reset(5, rng),
    }
    times = seconds_each(calls, seconds)
    return {name: round(1e9 / rate(BATCH, each), 1) for name, each in times.items()}
