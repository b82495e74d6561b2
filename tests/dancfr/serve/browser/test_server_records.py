"""Records of the servers, opened by `dancfr replay`."""

import asyncio
from pathlib import Path

import pytest

from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from dancfr.serve.browser.server_records import read_any_record
from dancfr.serve.geister.protocol import write_board
from dancfr.serve.guandan.commands import _agent, _maker
from dancfr.serve.guandan.hosted_table import HostedTable, TableRules
from dancfr.serve.position import replayed
from dancfr.serve.seats import AgentSeat
from envs.guandan import GuanDan

DATA = Path(__file__).parents[3] / "data" / "geister"
FINISHED = {
    "e201.txt": ("ply limit", [0.0, 0.0]),
    "e203.txt": ("escape", [-1.0, 1.0]),
    "g1_random_random.txt": ("all blue taken", [-1.0, 1.0]),
    "g2_escape_escape.txt": ("all blue taken", [-1.0, 1.0]),
    "g4_shuffle_draw.txt": ("ply limit", [0.0, 0.0]),
}


@pytest.mark.parametrize("name", [*FINISHED, "g5_illegal_loses.txt"])
def test_games_of_the_independent_server(name: str) -> None:
    """Colours, moves and the last board are those of the recording."""
    recording = read_any_record(DATA / name)
    game = make_game("geister", **recording.header.options)
    position, _, damage = replayed(recording, game)
    assert damage == ""
    boards = [
        line[7:] for line in (DATA / name).read_text().splitlines() if line[:7] in ("0< WON:", "0< LST:", "0< DRW:")
    ]
    assert write_board(position.states[0], 0, reveal=True) == boards[-1]
    if name in FINISHED:
        ending, returns = FINISHED[name]
        assert (position.returns, position.over) == (returns, True)
        assert ending.split()[-1] in str(position.ending)
    else:
        assert not position.over  # an illegal move ends a game of the server, and is no move of the rules


def test_damaged_conversations(tmp_path: Path) -> None:
    lines = (DATA / "e203.txt").read_text().splitlines()
    file = tmp_path / "game-0001.txt"
    file.write_text("\n".join(lines[:3]))
    with pytest.raises(UsageError, match="a player has not chosen colours"):
        read_any_record(file)
    at = next(i for i, line in enumerate(lines) if "MOV:" in line and ">" in line)
    file.write_text("\n".join([*lines[: at + 2], "1> MOV:A,SOUTH", "1< OK ", "1> MOV:A,SOUTH", "1< OK "]))
    recording = read_any_record(file)
    assert recording.damage != ""
    assert len(recording.moves) >= 3
    file.write_text("nothing of the kind\n")
    with pytest.raises(UsageError, match="is no recorded game"):
        read_any_record(file)


@pytest.mark.parametrize("length", ["round", "match"])
def test_matches_of_the_guandan_server(tmp_path: Path, length: str) -> None:
    options = {"length": length, "situation": "first"}
    game = GuanDan(**options)  # type: ignore[arg-type]
    rules = TableRules(game, matches=2, seed=3, records=tmp_path, options=options)
    seats = [AgentSeat("greedy", _maker("greedy", game, 0)(1, seat)) for seat in range(4)]
    table = HostedTable(1, seats, rules)
    record = asyncio.run(table.run())
    assert record.status == "finished"
    files = sorted(tmp_path.glob("*.jsonl"))
    assert len(files) == 2
    won = [0, 0, 0, 0]
    plies = 0
    for file in files:
        recording = read_any_record(file)
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
    assert _agent("greedy", game).name == "greedy"
