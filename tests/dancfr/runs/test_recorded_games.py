"""Games as JSON Lines: written games are read, and damage is named."""

import json
from pathlib import Path

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from dancfr.runs.recorded_games import Player, Writer, check_folder, is_record, read_record
from dancfr.serve.position import Position, plain_action, replayed

PLAYERS = (Player(kind="user", name="user"), Player(kind="agent", name="random"))


def write(folder: Path, moves: int | None = None) -> tuple[Path, Position]:
    """Records a game of Leduc in which all players call; `moves` of them, or all with the result."""
    position = Position(make_game("leduc"), 5)
    writer = Writer(folder, "leduc", {"raises": 2}, 5, PLAYERS)
    while not position.over and (moves is None or position.ply < moves):
        mover = position.mover
        position.play(1)
        writer.move(position.ply - 1, mover, plain_action(1), "call", 12)
    if position.over:
        writer.end(str(position.ending), position.returns, position.ply)
    assert writer.path is not None
    return writer.path, position


@pytest.mark.parametrize("moves", [None, 2, 0])
def test_a_game_is_read_as_it_was_played(tmp_path: Path, moves: int | None) -> None:
    """Also an unfinished one, which has no last line."""
    path, position = write(tmp_path, moves)
    assert is_record(path)
    recording = read_record(path)
    assert (recording.header.game, recording.header.options, recording.header.seed) == ("leduc", {"raises": 2}, 5)
    assert recording.header.players == list(PLAYERS)
    assert (None if recording.end is None else recording.end.returns) == (position.returns if position.over else None)
    again, actions, damage = replayed(recording, make_game("leduc"))
    assert (np.array_equal(again.states, position.states), actions, damage) == (True, [1] * position.ply, "")


def test_each_game_has_a_file_of_its_own(tmp_path: Path) -> None:
    paths = {write(tmp_path)[0] for _ in range(3)}
    assert len(paths) == 3
    assert {len(path.read_text().splitlines()) for path in paths} == {6}  # header, four calls, result


@pytest.mark.parametrize(
    ("line", "damage"),
    [
        ("{", "line 3: Invalid JSON"),
        ('{"ply": 1, "player": 1, "action": 7}', "line 3: an action from 0 to 2 was expected, got 7"),
        ('{"ply": 1, "player": 0, "action": 1}', "line 3: the move of player 0 at ply 1 is out of turn"),
        ('{"ply": 1, "player": 1, "action": 0}', "line 3: game 0"),  # no bet to fold to
        ('{"ply": 1, "player": 1}', "line 3: action.int: Field required"),
    ],
)
def test_what_follows_a_damaged_line_is_left_out(tmp_path: Path, line: str, damage: str) -> None:
    path, _ = write(tmp_path)
    lines = path.read_text().splitlines()
    lines[2] = line
    path.write_text("\n".join(lines))
    position, actions, found = replayed(read_record(path), make_game("leduc"))
    assert (position.ply, actions) == (1, [1])
    assert found.replace("action: ", "action.int: ").startswith(damage)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"{}", b"[]", b'{"format": "dancfr-game", "version": 2}', b"SET?\n", b"[" * 100_000]
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is not a recorded game") as error:
        read_record(path)
    assert "\n" not in str(error.value)


def test_a_missing_file_and_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"No such file|does not exist|no such"):
        read_record(tmp_path / "none.jsonl")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="name a folder that can be written"):
        check_folder(tmp_path / "file" / "records")


def test_a_full_disk_does_not_stop_the_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is taken away: the rest of the game is played without it, with one warning."""
    writer = Writer(tmp_path / "games", "leduc", {}, 1, PLAYERS)
    assert writer.path is None  # the folder does not exist
    assert "this game is not recorded" in capsys.readouterr().err
    writer.move(0, 0, 1, "call", 1)
    writer = Writer(tmp_path, "leduc", {}, 1, PLAYERS)
    assert writer.path is not None
    writer.path.unlink()
    writer.path.mkdir()
    writer.move(0, 0, 1, "call", 1)
    writer.move(1, 1, 1, "call", 1)
    assert capsys.readouterr().err.count("the rest of this game is not recorded") == 1


def test_lines_are_json_with_the_fields_of_the_format(tmp_path: Path) -> None:
    path, position = write(tmp_path)
    header, move, *_, end = (json.loads(line) for line in path.read_text().splitlines())
    assert header["format"] == "dancfr-game"
    assert header["players"][1] == {"kind": "agent", "name": "random", "version": ""}
    assert move == {"ply": 0, "player": 0, "action": 1, "label": "call", "ms": 12}
    assert end == {"end": "over", "returns": position.returns, "plies": 4}
