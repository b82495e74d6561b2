"""Matches that the GuanDan server has recorded, opened by `dancfr replay`."""

import asyncio
from pathlib import Path

import pytest

from dancfr.games.registry import make_game
from dancfr.runs.recorded_games import read_record
from dancfr.serve.guandan.commands import _maker
from dancfr.serve.guandan.hosted_table import HostedTable, TableRules
from dancfr.serve.position import replayed
from dancfr.serve.seats import AgentSeat
from dancfr.serve.thread import AgentThread
from envs.guandan import GuanDan


@pytest.mark.parametrize("length", ["round", "match"])
def test_matches_of_the_guandan_server(tmp_path: Path, length: str) -> None:
    options = {"length": length, "situation": "first"}
    game = GuanDan(**options)  # type: ignore[arg-type]
    rules = TableRules(game, matches=2, seed=3, records=tmp_path, options=options)
    with AgentThread() as thread:
        seats = [AgentSeat("greedy", _maker("greedy", game, 0)(1, seat), thread) for seat in range(4)]
        table = HostedTable(1, seats, rules)
        record = asyncio.run(table.run())
    assert record.status == "finished"
    files = sorted(tmp_path.glob("*.jsonl"))
    assert len(files) == 2
    won = [0, 0, 0, 0]
    plies = 0
    for file in files:
        recording = read_record(file)
        assert recording.header.options == options
        assert [player.name for player in recording.header.players] == ["greedy"] * 4
        position, actions, damage = replayed(recording, make_game("guandan", **recording.header.options))
        assert (position.over, damage) == (True, "")
        plies += len(actions)
        for seat in range(4):
            won[seat] += (
                position.returns[seat] > 0 if length == "match" else int(position.states[0]["winner"]) == seat % 2
            )
    assert won == record.victories
    assert plies == record.decisions
