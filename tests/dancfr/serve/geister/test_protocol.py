"""Lines and boards of the competition, and how the referee handles them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancfr.serve.geister import Referee
from dancfr.serve.geister.protocol import Board, read_move, read_set, write_board, write_move, write_set
from dancfr.serve.geister.referee import DISCONNECTED, ILLEGAL
from dancfr.serve.messages import ProtocolError
from envs.geister.rules import CAPTURED, DIRECTIONS, layouts, new_states
from tests.dancfr.serve.geister.games import RULES, letters

START = "14R24R34R44R15B25B35B45B41u31u21u11u40u30u20u10u"


@pytest.mark.parametrize("text", ["SET:ABCD", "SET:DCBA", "set:abcd", "SET:aBcD"])
def test_four_letters_in_any_order_and_case_are_a_choice(text: str) -> None:
    assert read_set(text) == 0b1111


@pytest.mark.parametrize(
    "text",
    ["", "SET:", "SET:ABC", "SET:ABCDE", "SET:AABC", "SET:ABCI", "SET ABCD", "SET:ABCD ", " SET:ABCD", "SET:ABC\u017f"],
)
def test_lines_that_are_not_a_choice(text: str) -> None:
    assert read_set(text) is None


def test_every_choice_is_read_as_it_is_written() -> None:
    assert [read_set(write_set(int(reds))) for reds in layouts(6)] == layouts(6).tolist()


@pytest.mark.parametrize("letter", "ABCDEFGH")
@pytest.mark.parametrize("direction", range(4))
def test_moves_in_every_spelling(letter: str, direction: int) -> None:
    name = DIRECTIONS[direction]
    expected = "ABCDEFGH".index(letter), direction
    for text in (
        f"MOV:{letter},{name}",
        f"mov:{letter},{name}".lower(),
        f"MOV:{letter},{name[0]}",
        f"Mov:{letter},{name.title()}",
    ):
        assert read_move(text) == expected
    assert write_move(4 * expected[0] + direction) == f"MOV:{letter},{name}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MOV:",
        "MOV:A",
        "MOV:A,",
        "MOV:I,N",
        "MOV:A,X",
        "MOV:A,NO",
        "MOV:A, N",
        "MOV:AA,N",
        "MOV:A,N ",
        "MOV A,N",
        "A,N",
    ],
)
def test_lines_that_are_not_a_move(text: str) -> None:
    assert read_move(text) is None


def test_the_starting_board_is_that_of_the_specification() -> None:
    states = new_states(1, 6, np.array([[0b1111, 0b1111]], np.uint8))
    assert write_board(states[0], 0) == write_board(states[0], 1) == START
    assert write_board(states[0], 0, reveal=True)[24:] == "41r31r21r11r40b30b20b10b"
    assert write_board(states[0], 0, (True, False), reveal=True) == START, "who has chosen nothing has nothing to show"
    assert write_board(states[0], 0, (False, True))[:24] == "14u24u34u44u15u25u35u45u"


@given(st.text(alphabet="0123456789RrBbu", min_size=48, max_size=48) | st.text())
def test_a_board_is_read_or_refused(text: str) -> None:
    try:
        board = Board.read(text)
    except ProtocolError:
        return
    assert board.red.sum() == 4


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (START[:-3], "got 45"),
        (START.replace("14R", "64R"), "'64R'"),
        (START.replace("14R", "88b"), "'88b'"),
        (START.replace("14R", "14u"), "colour of '14u'"),
        (START.replace("41u", "99u"), "colour of '99u'"),
        (START.replace("14R", "14B"), "got 3"),
        (START.replace("14R", "24R"), "two ghosts"),
        (START.replace("41u", "14u"), "two ghosts"),
        (START.replace("41u31u21u11u", "99r" * 4), "captured"),
        (START.replace("15B25B35B45B", "99b" * 4), "captured"),
    ],
)
def test_impossible_boards(text: str, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        Board.read(text)


def test_a_board_is_read() -> None:
    board = Board.read(START.replace("15B", "99b").replace("31u", "99r").replace("41u", "33r"))
    assert board.squares[0].tolist() == [25, 26, 27, 28, CAPTURED, 32, 33, 34]
    assert board.squares[1].tolist() == [21, CAPTURED, 8, 7, 4, 3, 2, 1]
    assert np.flatnonzero(board.red).tolist() == [0, 1, 2, 3]
    assert np.flatnonzero(board.taken_red).tolist() == [1], "what is said of a ghost on the board is passed over"


def referee(first: str = "ABCD", second: str = "ABCD") -> Referee:
    game = Referee()
    assert game.choose(0, f"SET:{first}")
    assert game.mover is None
    assert game.choose(1, f"SET:{second}")
    return game


def test_a_choice_stands() -> None:
    game = Referee()
    assert not game.choose(0, "SET:ABC")
    assert game.choose(0, "SET:ABCD")
    assert not game.choose(0, "SET:EFGH")
    game.forget(0)
    assert game.choose(0, "SET:EFGH")
    assert game.mover is None
    assert game.choose(1, "SET:EFGH")
    assert game.board(0)[:24] == "14B24B34B44B15R25R35R45R"


@pytest.mark.parametrize("text", ["MOV:A,SOUTH", "MOV:A,EAST", "MOV:E,SOUTH", "MOV:Z,N", "MOV:", "MOV:A,UP"])
def test_a_bad_move_is_refused_and_loses_at_once(text: str) -> None:
    game = referee()
    assert game.move(text) == "NG "
    assert (game.ending, game.winner, game.plies, game.mover) == (ILLEGAL, 1, 0, None)
    assert game.result(0) == "LST:14R24R34R44R15B25B35B45B41r31r21r11r40b30b20b10b"
    assert game.result(1) == "WON:14R24R34R44R15B25B35B45B41r31r21r11r40b30b20b10b"


def to_exit(column: int, reds: str) -> Referee:
    """Player 0 moves a ghost to an exit while player 1 moves to and fro; then player 0 is to move."""
    ghost, steps = ("A", "W") if column == 0 else ("D", "E")
    game = referee(reds, "EFGH")
    for own, other in zip([steps, "N", "N", "N", "N"], ["N", "S"] * 3, strict=False):
        assert game.move(f"MOV:{ghost},{own}") == "OK "
        assert game.move(f"MOV:{'B'},{other}") == "OK "
    return game


@pytest.mark.parametrize(
    ("column", "text", "legal"),
    [
        (0, "MOV:A,NORTH", True),
        (0, "MOV:A,WEST", True),
        (0, "mov:a,w", True),
        (0, "MOV:A,SOUTH", True),
        (5, "MOV:D,NORTH", True),
        (5, "MOV:D,EAST", True),
        (5, "MOV:D,e", True),
    ],
)
def test_a_blue_ghost_leaves_by_either_way_off_its_corner(column: int, text: str, legal: bool) -> None:
    game = to_exit(column, "EFGH")
    assert game.board(0)[0:3] == "00B" or game.board(0)[9:12] == "50B"
    assert game.move(text) == "OK "
    if "S" in text.upper().split(",")[1][:1]:
        assert game.mover == 1, "no player has to escape"
        return
    assert (game.ending, game.winner) == ("escape", 0)
    assert "88b" in game.result(0)[4:28]
    assert "88b" in game.result(1)[28:]


def test_an_escape_repeats_no_capture() -> None:
    """The Java server of the competition answers OKB or OKR if the ghost's previous move captured."""
    game = referee("EFGH")
    for own, other in [("A,W", "H,E"), ("A,N", "B,N"), ("A,N", "B,S"), ("A,N", "B,N")]:
        assert game.move(f"MOV:{own}") == game.move(f"MOV:{other}") == "OK "
    assert game.move("MOV:A,N") == "OKB", "ghost H stands on the exit"
    assert game.move("MOV:B,S") == "OK "
    assert game.move("MOV:A,N") == "OK "
    assert (game.ending, game.winner) == ("escape", 0)


@pytest.mark.parametrize(("column", "text"), [(0, "MOV:A,N"), (0, "MOV:A,W"), (5, "MOV:D,N"), (5, "MOV:D,E")])
def test_a_red_ghost_never_leaves(column: int, text: str) -> None:
    game = to_exit(column, "ABCD")
    assert game.move(text) == "NG "
    assert (game.ending, game.winner) == (ILLEGAL, 1)


def test_a_blue_ghost_leaves_only_from_its_corners() -> None:
    game = referee("EFGH")
    assert game.move("MOV:A,WEST") == "OK "
    assert game.move("MOV:A,WEST") == "OK "
    assert game.move("MOV:A,WEST") == "NG ", "at the side of the board"


def test_a_captured_ghost_does_not_move() -> None:
    game = referee()
    for text, answer in (("MOV:A,N", "OK "), ("MOV:D,N", "OK "), ("MOV:A,N", "OKR")):
        assert game.move(text) == answer
    assert game.board(1)[9:12] == game.board(0)[33:36] == "99r"
    assert game.move("MOV:D,N") == "NG "


def test_the_limit_of_plies_is_a_draw() -> None:
    game = referee()
    for ply in range(300):
        assert game.ending == ""
        assert game.move(f"MOV:A,{'NS'[ply // 2 % 2]}") == "OK "
    assert (game.ending, game.winner, game.plies) == ("ply limit", None, 300)
    assert game.result(0)[:4] == game.result(1)[:4] == "DRW:"


def test_the_first_ending_counts() -> None:
    game = referee()
    game.forfeit(0, DISCONNECTED)
    game.forfeit(1, ILLEGAL)
    assert (game.ending, game.winner) == (DISCONNECTED, 1)
    assert not game.choose(0, "SET:ABCD")


def test_hidden_colours_stay_hidden() -> None:
    for reds in map(int, layouts(6)):
        game = referee(letters(reds))
        assert game.board(1) == START
        game.move("MOV:A,N")
        assert set(game.board(1)[26::3]) == {"u"}
    assert RULES.forced_escape is False
