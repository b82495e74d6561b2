"""The records of games: light to import, and true of the game that they describe."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dancfr.games.registry import GAMES
from envs.belief import Beliefs

ROOT = Path(__file__).parents[2]


def test_importing_games_loads_no_display_and_no_upper_floor() -> None:
    rooms = sorted({f"envs.{record.page.parents[1].name}" for record in GAMES.values() if record.page})
    program = f"import json, sys, {', '.join(rooms)}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = json.loads(done.stdout)
    assert len(rooms) == 10
    assert not {"dancfr", "learners", "actors", "torch", "ray", "aiohttp"} & set(modules)
    late = {f"{room}.{part}" for room in rooms for part in ("display", "display.table", "belief", "adapters")}
    assert not (late - {"envs.guandan.display"}) & set(modules)


@pytest.mark.parametrize("name", GAMES)
def test_record_is_true_of_its_game(name: str) -> None:
    record = GAMES[name]
    game = record.make()
    assert game.spec.name == name
    switches = {option for option, default in record.options.items() if default in (True, False)}
    assert set(record.turned_on) <= switches
    assert {*record.in_matches, *record.in_evaluations, *record.for_people} <= set(record.options)
    ways = {f"{outcome} by {ending}" for outcome in ("win", "draw", "loss") for ending in game.spec.endings[1:]}
    assert set(record.outcomes) <= ways
    assert record.display is not None
    assert record.page is not None
    assert record.page.is_file()
    state = game.reset(1, np.random.default_rng(0))
    scenes = [record.display(game).scene(state[0], viewer) for viewer in (None, 0)]
    assert all(json.dumps(scene) for scene in scenes)
    if record.belief is not None:
        belief: Beliefs = record.belief(game, state, None, None)
        assert belief["kind"] == "uniform"
        assert json.dumps(belief)
    if record.adapter is not None:
        assert record.adapter(game, dict(record.options)) is None
