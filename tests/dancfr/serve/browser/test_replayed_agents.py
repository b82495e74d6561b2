"""Which agent the page of a recorded game asks for its thoughts."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dancfr.serve.browser import commands

SAVED = "pretrained:liars-dice-2d5f"


def asked(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The agent's thoughts at the first move of a recorded game in which an agent of this name made it."""
    players = [{"kind": "agent", "name": name}, {"kind": "user", "name": "user"}]
    game = {"game": "liars_dice_2d5f", "options": {}, "seed": 3}
    lines: list[dict[str, Any]] = [
        {"format": "dancfr-game", "version": 1, **game, "players": players},
        {"ply": 0, "player": 0, "action": 1},
    ]
    file = folder / "game.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found: dict[str, Any] = {}

    def serve(make_room: Any, *given: Any) -> dict[str, Any]:
        with ThreadPoolExecutor(1) as thread:
            room = make_room(thread)
            found.update(asyncio.run(room.consult(room.first, 0)))
        return {}

    monkeypatch.setattr(commands, "_serve", serve)
    commands.replay(file, commands.PageOptions())
    return found


@pytest.mark.parametrize("options", ["", "?threshold=0.3", "?average=weights&threshold=1"])
def test_the_agent_with_its_options_is_asked(options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(SAVED + options, tmp_path, monkeypatch)
    assert found["agent"] == SAVED + options
    assert "failed" not in found
    if options.endswith("=1"):
        assert sum(move["probability"] > 0 for move in found["moves"]) == 1


def test_an_agent_that_is_not_here_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("runs/of-someone-else?threshold=0.3", "?", "a?b?c@d"):
        assert asked(name, tmp_path, monkeypatch)["agent"] == "random"
