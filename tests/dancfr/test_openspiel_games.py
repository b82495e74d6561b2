"""The list of OpenSpiel's games in docs/reference/openspiel.md: rows can be repeated, and the page is the record's."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("pyspiel")

import pyspiel

from actors.packages import python_path
from dancfr.bench.openspiel_games import PAGE, RECORD, SMALLER, counts, names, table

ROWS = {row["name"]: row for row in json.loads(RECORD.read_text())}


def run(program: str, *arguments: str) -> Any:
    """Runs a program in a process of its own: a game is tried in a fork, and this process may have threads."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=os.environ | python_path(), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


REPEAT = """
import json, sys
from dancfr.bench.openspiel_probe import probe
print(json.dumps([probe(name, 120) for name in sys.argv[1:]]))
"""


def test_rows_can_be_repeated() -> None:
    chosen = ["kuhn_poker(players=3)", "matrix_pd", "coordinated_mp", "blackjack", "negotiation"]
    for name, found in zip(chosen, run(REPEAT, *chosen), strict=True):
        listed = ROWS[name]
        for key in ("nash_conv", "solved"):
            assert found.pop(key, None) == pytest.approx(listed.get(key))
        assert found == {key: value for key, value in listed.items() if key not in ("nash_conv", "solved")}


def test_the_page_is_that_of_the_record() -> None:
    rows = [ROWS[name] for name in sorted(ROWS)]
    assert table(rows) in PAGE.read_text()
    assert set(SMALLER) < set(ROWS)


@pytest.mark.skipif(
    f"OpenSpiel {getattr(pyspiel, '__version__', '')} has" not in PAGE.read_text(),
    reason="another version of OpenSpiel",
)
def test_no_game_is_left_out() -> None:
    assert set(ROWS) == set(names())
    assert counts(list(ROWS.values())) in PAGE.read_text()


FAIL = """
import itertools, json, os
from dancfr.bench.openspiel_probe import STEPS, probe

STEPS["policy gradients"] = STEPS["tree"] = lambda name: {}
STEPS["match"] = lambda name: os.abort()
rows = [probe("kuhn_poker", 60)]
STEPS["match"] = lambda name: sum(0 for _ in itertools.count())
print(json.dumps([*rows, probe("kuhn_poker", 1)]))
"""


def test_a_crash_and_a_game_without_end_are_rows() -> None:
    crashed, endless = run(FAIL)
    assert (crashed["failed"], crashed["players"]) == ({"match": "match: the process ends by SIGABRT"}, 2)
    assert endless["failed"] == {"match": "match: not done after 1 s"}
