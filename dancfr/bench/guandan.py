"""Benchmark of random play of whole matches of GuanDan through its batch interface."""

from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from envs.game import States
from envs.guandan import GuanDan
from envs.ragged import choose_rows

TABLES = 512
STEPS = 50  # lock steps per call
RECORDED_ENGINE = 6_065
"""Decisions/s of the engine that recorded the matches of the tests, with trivial clients, on one core."""


def measure(seconds: float) -> dict[str, Any]:
    """Measures decisions/s of random play: legal actions, uniform choice, checked step, new matches for finished ones.

    The limit is a plain copy of the memory that every decision reads and writes: the table, and its legal actions. The
    parts in the detail are measured separately, on tables in the middle of matches.
    """
    game, rng = GuanDan(length="match", situation="first"), np.random.default_rng(1)
    states = game.reset(TABLES, rng)
    play(game, states, 4 * STEPS, rng)
    raw, rows = (array.view(f"V{array.dtype.itemsize}") for array in (states, game.legal(states).rows))
    raw_copy, row_copy = raw.copy(), rows.copy()

    def move_memory() -> None:
        for _ in range(STEPS):
            raw_copy[:] = raw
            row_copy[:] = rows

    times = seconds_each({"play": lambda: play(game, states, STEPS, rng), "memory": move_memory}, seconds * 0.7)
    work = TABLES * STEPS
    decisions, limit = rate(work, times["play"]), rate(work, times["memory"])
    detail = {
        "limit": "copying tables and lists of legal actions of this size",
        "tables": TABLES,
        "legal actions a decision": round(_mean_actions(game, rng), 2),
        "times the recorded engine": round(decisions / RECORDED_ENGINE, 1),
        "nanoseconds": _parts(game, rng, seconds * 0.3),
        "noise": noise(times["play"]),
    }
    return result("guandan-env", decisions, "decisions/s", limit, decisions / limit, detail)


def play(game: GuanDan, states: States, steps: int, rng: np.random.Generator) -> int:
    """Plays random actions in place and restarts finished matches; returns the total number of legal actions."""
    actions = 0
    for _ in range(steps):
        legal = game.legal(states)
        actions += len(legal.rows)
        game.step(states, legal.rows[choose_rows(legal.offsets, rng.random(len(states)))])
        over = np.flatnonzero(game.finished(states))
        if len(over):
            states[over] = game.reset(len(over), rng)
    return actions


def _mean_actions(game: GuanDan, rng: np.random.Generator) -> float:
    """Returns the mean number of legal actions of a decision, over complete matches."""
    states, actions, decisions = game.reset(64, rng), 0, 0
    while len(states):
        legal = game.legal(states)
        actions += len(legal.rows)
        decisions += len(states)
        game.step(states, legal.rows[choose_rows(legal.offsets, rng.random(len(states)))])
        states = states[~game.finished(states)]
    return actions / decisions


def _parts(game: GuanDan, rng: np.random.Generator, seconds: float) -> dict[str, float]:
    """Measures nanoseconds per decision of each part of the loop."""
    states = game.reset(TABLES, rng)
    play(game, states, 400, rng)
    legal = game.legal(states)
    actions = legal.rows[choose_rows(legal.offsets, rng.random(TABLES))]
    opaque = f"V{states.dtype.itemsize}"
    before = states.view(opaque).copy()

    def step() -> None:
        states.view(opaque)[:] = before
        game.step(states, actions)

    calls = {
        "legal": lambda: game.legal(states),
        "choices": lambda: game.choices(states),
        "choice": lambda: choose_rows(legal.offsets, rng.random(TABLES)),
        "step": step,
        "observe": lambda: game.observe(states, game.to_move(states)),
        "finished": lambda: np.flatnonzero(game.finished(states)),
        "reset of 5 matches": lambda: game.reset(5, rng),
    }
    times = seconds_each(calls, seconds)
    return {name: round(1e9 / rate(TABLES, each), 1) for name, each in times.items()}
