"""Random play of Geister by its public batch interface."""

from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from envs.geister import Geister
from envs.players import choose_uniform

BATCH = 512
PLIES = 400  # lock steps a call


def measure(seconds: float) -> dict[str, Any]:
    """Plies/s of legal masks, a uniform choice, a checked step and new games for those that ended.

    The limit is the step kernel's memory traffic alone: reading and writing the states and writing the masks.
    """
    game, rng = Geister(), np.random.default_rng(1)
    states = game.reset(BATCH, rng)

    def play() -> None:
        for _ in range(PLIES):
            actions = choose_uniform(game.legal(states), rng.random(BATCH, dtype=np.float32))
            game.step(states, actions)
            over = np.flatnonzero(game.finished(states))
            if len(over):
                states[over] = game.reset(len(over), rng)

    mask = np.zeros((BATCH, game.spec.num_actions), np.bool_)
    copy, masks = states.copy(), mask.copy()

    def move_memory() -> None:
        for _ in range(PLIES):
            copy[:] = states
            masks[:] = mask

    times = seconds_each({"play": play, "memory": move_memory}, seconds)
    work = BATCH * PLIES
    plies, limit = rate(work, times["play"]), rate(work, times["memory"])
    return result(
        "geister-env",
        plies,
        "plies/s",
        limit,
        plies / limit,
        {"batch": BATCH, "limit": "copying states and masks of this size", "noise": noise(times["play"])},
    )
