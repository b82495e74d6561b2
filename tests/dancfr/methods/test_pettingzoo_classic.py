"""The table of PettingZoo's classic games in docs/reference/environments.md: each cell is tried."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pettingzoo
import pytest

import dancfr
from dancfr.errors import UsageError

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "environments.md"
TRAININGS: dict[str, tuple[str, dict[str, Any]]] = {
    "DREAM": (
        "pettingzoo-leduc-dream",
        {"traversals": 4, "chunk": 2, "evaluation.every": 2}
        | {f"{part}_training.{key}": value for part in ("advantage", "baseline") for key, value in
           {"minibatches": 2, "batch": 32}.items()},
    ),
    "policy gradients": ("leduc-policy-gradient", {"games": 4, "chunk": 4, "evaluation.every": 2}),
}  # fmt: skip
"""A preset and settings of a training that takes seconds, by the name of its column."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore")]


def rows() -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of the table: id of the environment and cells by the name of their column."""
    table = re.search(r"^\| PettingZoo's classic.*?\n\n", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert table is not None
    lines = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table[0].split("\n") if line]
    for line in lines[2:]:
        yield line[0], dict(zip(lines[0], line, strict=True))


ROWS = dict(rows())


def name_and_options(env_id: str) -> tuple[str, dict[str, Any]]:
    options = dict(part.split("=") for part in re.findall(r"\w+=\d+", ROWS[env_id]["options"]))
    return f"pettingzoo:classic/{env_id}", {key: int(value) for key, value in options.items()}


def test_table_has_every_classic_game() -> None:
    known = {each.removeprefix("classic/") for each in pettingzoo.aec_registry if each.startswith("classic/")}
    assert set(ROWS) == known
    assert {column for cells in ROWS.values() for column in cells} >= {*TRAININGS, "options", "actions"}


@pytest.mark.parametrize("env_id", ROWS)
def test_columns_are_those_of_the_game(env_id: str) -> None:
    name, options = name_and_options(env_id)
    spec = dancfr.make_game(name, **options).spec
    assert ROWS[env_id]["actions"] == f"{spec.num_actions:,}"
    assert ROWS[env_id]["inputs"] == f"{spec.shapes['flat'][0]:,}"


@pytest.mark.parametrize("training", TRAININGS)
@pytest.mark.parametrize("env_id", ROWS)
def test_training_that_the_table_names_works(env_id: str, training: str, tmp_path: Path) -> None:
    name, options = name_and_options(env_id)
    preset, settings = TRAININGS[training]
    settings = {"game": name, "game_options": options, "evaluation.games": 2, **settings}
    assert ROWS[env_id][training] == "yes"
    run = dancfr.train(preset, settings, iterations=2, inline=True, wandb="off", run_dir=tmp_path / "run")
    assert run.iterations == 2
    match = run.play(against="random", games=2, seed=1)
    assert match.result.games == 2


@pytest.mark.parametrize("preset", ["guandan-dmc-quick", "cheat-general", "goofspiel5-values"])
def test_trainings_of_other_kinds_of_games_are_refused(preset: str, tmp_path: Path) -> None:
    settings = {"game": "pettingzoo:classic/tictactoe-v3"}
    with pytest.raises(UsageError) as refused:
        dancfr.train(preset, settings, inline=True, wandb="off", run_dir=tmp_path / "run")
    assert len(str(refused.value).splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_exact_solutions_are_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="has no tree: PettingZoo does not tell which events"):
        dancfr.solve("pettingzoo:classic/tictactoe-v3")
