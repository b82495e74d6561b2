"""How much memory a tree is expected to take."""

import subprocess
import sys

import pytest

from dancfr.games.registry import make_game
from dancfr.games.trees import bytes_a_node

MEASURE = """
from dancfr.games.registry import make_game
from dancfr.games.trees import bytes_a_node
print(*(bytes_a_node(make_game(f"openspiel:{name}")) for name in ("tic_tac_toe", "go(board_size=9)")))
"""


def test_memory_of_a_node_counts_states_of_openspiel() -> None:
    """Nine kilobytes of a state of go, half a kilobyte of one of tic-tac-toe, in a fresh process as in a command."""
    pytest.importorskip("pyspiel")
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, timeout=120)
    small, large = map(int, done.stdout.split())
    assert 1000 <= small < 3000 < 6000 < large


def test_memory_of_a_node_counts_infostates_and_actions() -> None:
    small, large = (bytes_a_node(make_game("goofspiel", cards=cards)) for cards in (3, 12))
    assert 300 < small < large < 2000
