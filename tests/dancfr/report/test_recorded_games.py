"""Tests of the table of recorded games in a report."""

import shlex
from typing import Any

from dancfr.report.games import games_of
from dancfr.runs.recorded_games import Player, Writer
from tests.dancfr.records import evaluation_row


def test_the_command_of_a_recorded_game_can_be_copied_whatever_its_path(write_run: Any) -> None:
    run = write_run("my run", [evaluation_row(1, 50)])
    (run / "games").mkdir()
    writer = Writer(run / "games", "kuhn", {}, 1, [Player(kind="agent", name=str(run))])
    command = games_of(run)[0][-1]
    assert shlex.split(command) == ["dancfr", "replay", str(writer.path)]


def test_a_record_that_is_gone_is_left_out(write_run: Any) -> None:
    """A link may lead to a file that was removed."""
    run = write_run("linked", [evaluation_row(1, 50)])
    (run / "games").mkdir()
    (run / "games" / "kuhn-1.jsonl").symlink_to(run / "removed.jsonl")
    assert games_of(run) == []
