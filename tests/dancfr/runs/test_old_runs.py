"""Files of dancfr 0.1 are refused in one line; a run keeps its status."""

import json
import shutil
from pathlib import Path

import pytest

import dancfr
from dancfr.errors import UsageError
from dancfr.runs.folder import refuse_old
from tests.dancfr.outcomes import Command, refused
from tests.faults.commands import contents

RECORDED = Path(__file__).parents[2] / "data" / "dancfr-0.1"
"""See the README there."""


@pytest.mark.parametrize("name", ["run", "kuhn.safetensors", "best-response.safetensors"])
def test_agent_of_0_1_is_refused(command: Command, name: str) -> None:
    said = refused(command("evaluate", str(RECORDED / name), "--game", "kuhn", "--games", "20", "--json"))
    assert "dancfr 0.1" in said


def test_run_of_0_1_is_not_resumed(command: Command, tmp_path: Path) -> None:
    old = Path(shutil.copytree(RECORDED / "run", tmp_path / "old"))
    before = contents(old)
    words = ("train", "leduc-dream-quick", "game=kuhn", "iterations=5", "--inline", "--wandb", "off")
    said = refused(command(*words, "--resume", "--run-dir", str(old)))
    assert "trained by dancfr 0.1.0" in said
    assert "84b3499621b4" in said
    assert "another folder" in said
    assert contents(old) == before
    assert json.loads(command("status", str(old), "--json").out)["iteration"] == 3


@pytest.mark.parametrize("version", ["0.2.0", "0.2.7", dancfr.__version__])
def test_runs_since_0_2_are_read(version: str, tmp_path: Path) -> None:
    refuse_old(tmp_path, {"version": version})
    with pytest.raises(UsageError, match=r"trained by dancfr 0\.1\.9"):
        refuse_old(tmp_path, {"version": "0.1.9"})
