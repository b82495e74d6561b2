"""The records of games: light to import, and true of the game that they describe."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dancfr.games.registry import GAMES

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
def test_record_turns_switches_on_and_has_a_page(name: str) -> None:
    """`dancfr games NAME --check` checks the rest of every record."""
    record = GAMES[name]
    assert set(record.turned_on) <= {option for option, default in record.options.items() if default in (True, False)}
    assert record.display is not None
    assert record.page is not None
