"""Games that tests register."""

from collections.abc import Callable
from typing import Any

import pytest

from dancfr.games import registry
from dancfr.games.registry import GAMES
from envs.record import GameRecord


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """Registers a function that makes a game as ``own``."""

    def add(make: Callable[..., Any]) -> None:
        entry = GameRecord("own", make, {}, "a game of one's own")
        monkeypatch.setattr(registry, "all_games", lambda: {**GAMES, "own": entry})

    return add
