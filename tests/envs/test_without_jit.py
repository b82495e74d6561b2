"""Rules and trainings run without Numba's compiler too, for debuggers and coverage."""

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
    "test_guandan_beliefs.py::test_plays_and_passes_are_noted",
    "test_guandan_beliefs.py::test_gradients_agree_with_differences",
    "test_guandan_evidence.py::test_a_seat_that_has_passed_is_seen_to_have_passed",
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


METHODS = ("../dancfr/methods/test_every_method.py::test_a_method_goes_all_the_way[dream]",)


@pytest.mark.parametrize(
    "parts", [GEISTER, GUANDAN, CHEAT, SMALL, METHODS], ids=["geister", "guandan", "cheat", "small", "methods"]
)
def test_kernels_without_compiler(parts: tuple[str, ...]) -> None:
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


RECORDS = """
from typing import NamedTuple
import numpy as np
from envs.compiled import fast, kernel

class Tables(NamedTuple):
    rows: np.ndarray

@fast
def add(row, amount):
    row.size += amount

@kernel
def add_to_all(tables, start, amount):
    for i in range(len(tables.rows)):
        add(tables.rows[i], amount + start.size)

rows = np.zeros(2, [("size", "i8")])
rows["size"] = 1, 2
add_to_all(Tables(rows), rows.copy()[0], 3)
print(rows["size"].tolist())
"""


@pytest.mark.parametrize("disabled", ["0", "1"])
def test_records_are_changed_alike_with_and_without_compiler(tmp_path: Path, disabled: str) -> None:
    """Those of an array in a tuple, and single ones."""
    (tmp_path / "script.py").write_text(RECORDS)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": str(FOLDER.parent.parent)}
    run = subprocess.run([sys.executable, tmp_path / "script.py"], env=environment, capture_output=True, text=True)
    assert run.stdout == "[5, 6]\n", run.stderr
