"""Files of dancfr 0.1: strategies are played as before, and a run is not resumed but refused in one line."""

import json
import shutil
from pathlib import Path

import pytest

from dancfr.errors import UsageError
from dancfr.methods.dream.config import DreamConfig
from dancfr.runs.run import Run
from learners.storage import DamagedFile, load_state
from tests.dancfr.outcomes import Command, refused
from tests.faults.commands import contents

RECORDED = Path(__file__).parents[2] / "data" / "dancfr-0.1"
"""See the README there."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the recorded run."""
    return Path(shutil.copytree(RECORDED / "run", tmp_path / "old"))


@pytest.mark.parametrize(
    ("name", "exploitability"), [("run", 0.5568469001956919), ("kuhn.safetensors", 0.001194404101111518)]
)
def test_a_strategy_is_as_exploitable_as_0_1_said(command: Command, name: str, exploitability: float) -> None:
    agent = str(RECORDED / name)
    outcome = command("evaluate", agent, "--game", "kuhn", "--games", "20", "--exploitability", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["exploitability"] == pytest.approx(exploitability, rel=1e-5)


def test_a_best_response_is_refused_in_one_line(command: Command) -> None:
    agent = str(RECORDED / "best-response.safetensors")
    outcome = command("evaluate", agent, "--game", "kuhn", "--games", "20", "--json")
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert "0.1" in line
    assert "dancfr exploit" in line


def test_a_run_has_a_status_and_a_report(command: Command, old: Path, tmp_path: Path) -> None:
    status = json.loads(command("status", str(old), "--json").out)
    assert (status["state"], status["iteration"], status["strategies"]["stored"]) == ("finished", 3, 6)
    assert status["checkpoint"]["damage"] is None
    outcome = command("report", str(old), "--out", str(tmp_path / "report"))
    assert outcome.code == 0, outcome.err
    assert "leduc-dream-quick" in "".join(page.read_text() for page in (tmp_path / "report").rglob("*.html"))


def test_a_run_is_not_resumed(command: Command, old: Path) -> None:
    before = contents(old)
    words = ("train", "leduc-dream-quick", "game=kuhn", "iterations=5", "--inline", "--wandb", "off")
    line = refused(command(*words, "--resume", "--run-dir", str(old)))
    assert "trained by dancfr 0.1.0" in line
    assert "84b3499621b4" in line
    assert "another folder" in line
    assert contents(old) == before
    with pytest.raises(UsageError, match=r"0\.1\.0"):
        Run.open(old, writing=True)


def test_settings_that_are_gone_since_are_ignored_in_old_runs_only(old: Path) -> None:
    file = old / "config.json"
    info = json.loads(file.read_text())
    info["config"]["gone"] = info["config"]["network"]["gone"] = 1
    file.write_text(json.dumps(info))
    config = Run.open(old).config_as(DreamConfig)
    assert (config.iterations, config.network.width) == (3, 2)
    file.write_text(json.dumps(info | {"version": "0.2.0"}))
    with pytest.raises(UsageError, match=r"no key named '(network.)?gone'"):
        Run.open(old).config_as(DreamConfig)


def test_a_changed_byte_of_a_strategy_is_noticed(old: Path) -> None:
    file = old / "strategies" / "p0-000002.safetensors"
    content = bytearray(file.read_bytes())
    content[-20] ^= 4
    file.write_bytes(content)
    with pytest.raises(DamagedFile, match="checksum"):
        load_state(file)
