"""The rules run without Numba's compiler too, for debuggers and coverage."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


GEISTER = (
    "test_geister_rules.py",
    "test_geister_recordings.py",
    "test_geister_history.py::test_an_offer_a_chance_and_a_retreat",
    "test_geister_history.py::test_infostates_begin_like_those_without_history[mini]",
    "test_geister_history.py::test_the_sparse_form_is_the_dense_one[mini]",
    "test_players.py::test_each_feature",
    "test_players.py::test_choose_uniform_takes_the_allowed_action_of_that_rank",
)
GUANDAN = (
    "test_guandan_recordings.py::test_tribute_and_return_lists_are_the_recorded_ones",
    "test_guandan_recordings.py::test_what_is_left_at_the_end_of_a_round_is_what_was_recorded",
    "test_guandan_rules.py::test_what_is_not_legal_is_refused_and_changes_nothing",
)
CHEAT = (
    "test_cheat_rules.py::test_games_go_as_stated[mini-picked]",
    "test_cheat_rules.py::test_games_go_as_stated[three]",
    "test_cheat_rules.py::test_games_go_as_stated[most-cards]",
    "test_cheat_rules.py::test_illegal_actions_change_nothing",
)
SMALL = (
    "test_small_games.py::test_games_go_as_stated",
    "test_tree.py::test_node_by_node_as_enumerated_in_python",
)


@pytest.mark.parametrize("parts", [GEISTER, GUANDAN, CHEAT, SMALL], ids=["geister", "guandan", "cheat", "small"])
def test_rules_without_compiler(parts: tuple[str, ...]) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *(str(FOLDER / part) for part in parts),
        ],
        cwd=FOLDER.parent.parent,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
