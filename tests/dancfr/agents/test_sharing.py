"""Every method is shared as docs/how-to/sharing.md says: packed to an agent that plays like the run, and exported or
refused in one line."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.cards import read_card
from dancfr.agents.export import CLOSE, export
from dancfr.agents.hub.files import check_packed, packed_files
from dancfr.agents.pack import PackRequest, pack
from dancfr.agents.solving import solve
from dancfr.errors import UsageError
from dancfr.evaluation.agreement import agreement
from dancfr.evaluation.lengths import evaluated_as
from dancfr.games.registry import make_game
from dancfr.methods import OWN
from dancfr.methods.method import Method
from dancfr.runs.run import Run
from dancfr.runs.strategies import read_strategy
from learners.storage import load_state
from tests.dancfr.methods.small_runs import small
from tests.dancfr.methods.table_runs import run_preset

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "sharing.md"
WITHOUT_TORCH = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Finder())
from dancfr.cli import main
main(sys.argv[1:])
"""
SOLVED = "`dancfr solve`"


def table() -> dict[str, tuple[str, str]]:
    """The table of the page: the results of `dancfr pack` and of `dancfr export` by method."""
    rows = re.findall(r"^\| (`[^|]*`)[^|]* \| ([^|]*) \| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE)
    (start,) = [at for at, row in enumerate(rows) if row[0] == "`policy-gradient`"]
    return {name.strip("`") if name != SOLVED else name: (packed, exported) for name, packed, exported in rows[start:]}


@pytest.fixture(scope="module", params=[*(method.name for method in OWN), SOLVED])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A method and the smallest run of it, or a strategy of Kuhn poker."""
    folder = tmp_path_factory.mktemp("shared")
    if request.param == SOLVED:
        solve("kuhn", "cfr+", 50, out=folder / "kuhn.safetensors")
        return SOLVED, folder / "kuhn.safetensors"
    (method,) = [method for method in OWN if method.name == request.param]
    run_preset(folder / "run", *small(method, "iterations=2"))
    return method.name, folder / "run"


def game_of(path: Path) -> Any:
    """The game that the agent of a run or a strategy was made on."""
    about = read_strategy(path)[1] if path.is_file() else Run.open(path).info["config"]
    return evaluated_as(make_game(about["game"], **about["game_options"]))


def test_the_table_has_every_method() -> None:
    assert set(table()) == {*(method.name for method in OWN), SOLVED}


def test_packed_agents_play_as_the_run(shared: tuple[str, Path], tmp_path: Path) -> None:
    method, path = shared
    folder, game = tmp_path / "packed", game_of(path)
    pack(PackRequest(str(path), folder, against=("random",), games=4, seed=3))
    card = read_card(folder)
    agents = [make_agent(str(each), game) for each in (path, folder)]
    decisions, same = agreement(game, *agents, 8, np.random.default_rng(1))
    assert decisions > 8
    stored = {array.dtype for file in folder.rglob("*.safetensors") for array in load_state(file)[0].values()}
    if np.dtype(np.float16) in stored:
        assert "half precision" in table()[method][0]
        assert card.precision is not None
        assert same >= 0.9 * decisions
    else:
        assert "as it is" in table()[method][0]
        assert card.precision is None
        assert same == decisions
    text = (folder / "README.md").read_text()
    assert "path/to/packed" in text
    assert len(card.strength) == 1
    assert check_packed(folder, "packed") == card
    assert set(packed_files(folder)) == {each.relative_to(folder).as_posix() for each in folder.rglob("*.*")}


def test_packed_agents_play_and_are_exported_without_torch(shared: tuple[str, Path], tmp_path: Path) -> None:
    """In a process that cannot import it, except for those of which the page says so."""
    method, path = shared
    pack(PackRequest(str(path), tmp_path / "packed"))
    words = ["export", "packed", "onnx"]
    if table()[method][1].startswith("refused"):
        words = ["evaluate", "packed", "--against", "random", "--games", "4"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    if "need torch" in table()[method][0]:
        assert done.returncode == 2
        assert "this needs torch" in done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_agents_are_exported_or_refused_in_one_line(shared: tuple[str, Path], tmp_path: Path) -> None:
    method, path = shared
    if table()[method][1].startswith("refused"):
        with pytest.raises(UsageError, match="dancfr pack takes runs of any method") as raised:
            export(str(path), tmp_path / "onnx")
        assert "\n" not in str(raised.value)
        assert not list(tmp_path.iterdir())
        return
    result = export(str(path), tmp_path / "onnx")
    assert result["difference"] <= CLOSE
    assert {each["file"] for each in result["nets"]} == {each.name for each in (tmp_path / "onnx").glob("*.onnx")}


@pytest.mark.parametrize("method", OWN, ids=lambda method: method.name)
def test_runs_that_have_nothing_yet_are_refused_in_one_line(method: Method, tmp_path: Path) -> None:
    preset, config = small(method, "iterations=2")
    run, folder = str(tmp_path / "run"), tmp_path / "out"
    with Run.create(run, preset, method.name, config):
        pass
    for share in (lambda: pack(PackRequest(run, folder)), lambda: export(run, folder)):
        with pytest.raises(UsageError, match="yet") as raised:
            share()
        assert "\n" not in str(raised.value)
        assert not folder.exists()
