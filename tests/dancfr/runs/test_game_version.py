"""A run is of one version of its game: it is neither resumed nor played on another one."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dancfr.games.registry import all_games
from tests.dancfr.outcomes import Command, refused

PRESET = "leduc-policy-gradient"
SHORT = ("evaluation.games=2", "evaluation.exploitability=false", "--inline", "--wandb", "off", "--run-dir")


@pytest.fixture
def run(command: Command, tmp_path: Path) -> Path:
    """A short training on Kuhn poker."""
    path = tmp_path / "trained"
    assert command("train", PRESET, "game=kuhn", "iterations=1", "games=32", *SHORT, str(path)).code == 0
    return path


def edit(run: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    info = json.loads((run / "config.json").read_text())
    change(info)
    (run / "config.json").write_text(json.dumps(info))


def test_run_of_another_game_version_is_refused(
    run: Path, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    resume = ("train", PRESET, "iterations=2", "--resume", "--inline", "--wandb", "off", "--run-dir")
    play = ("evaluate", str(run), "--game", "kuhn", "--games", "4")
    packed = str(tmp_path / "packed")
    assert json.loads((run / "config.json").read_text())["game_version"] == 0
    assert command("pack", str(run), packed).code == 0
    monkeypatch.setitem(all_games(), "kuhn", replace(all_games()["kuhn"], version=1))
    says = "was trained on version 0 of kuhn, and this is version 1: train again"
    for arguments in ((*resume, str(run)), (*resume, str(run), "--allow-changes"), play):
        assert says in refused(command(*arguments))
    assert says in refused(command("evaluate", packed, "--game", "kuhn", "--games", "4"))
    edit(run, lambda info: info.pop("game_version"))  # as before there were versions
    for arguments in ((*resume, str(run)), play):
        assert says in refused(command(*arguments))
    assert command("status", str(run), "--json").code == 0
    edit(run, lambda info: info.update(game_version=1))
    for arguments in (play, (*resume, str(run))):
        assert command(*arguments).code == 0, arguments
    assert json.loads((run / "config.json").read_text())["game_version"] == 1


def test_run_without_a_game_version_is_of_version_0(run: Path, command: Command) -> None:
    edit(run, lambda info: info.pop("game_version"))
    assert command("evaluate", str(run), "--game", "kuhn", "--games", "4").code == 0
    edit(run, lambda info: info.update(game_version=1))
    assert "version 1 of kuhn, and this is version 0" in refused(
        command("evaluate", str(run), "--game", "kuhn", "--games", "4")
    )
