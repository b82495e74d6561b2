"""Kuhn poker as a PettingZoo environment that fails as the environment variable FAULT says, after it was checked in the
driver: ``step`` raises at the third move of some games, ``constructor`` whenever an actor makes it."""

import os
from typing import Any

from pettingzoo.utils.wrappers import BaseWrapper

from envs import kuhn


class Faulty(BaseWrapper):
    """The environment with its fault."""

    def __init__(self, **options: Any) -> None:
        if os.environ.get("FAULT") == "constructor" and in_actor():
            raise OSError("the cards are missing")
        self.moves = 0
        super().__init__(kuhn.env(**options))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.moves = 0
        super().reset(seed=seed, options=options)

    def step(self, action: Any) -> None:
        self.moves += 1
        if os.environ.get("FAULT") == "step" and self.moves == 3 and in_actor():
            raise ZeroDivisionError("the third move has no card")
        super().step(action)


def in_actor() -> bool:
    import ray

    return ray.is_initialized() and ray.get_runtime_context().worker.mode == ray.WORKER_MODE


env = raw_env = Faulty
