"""The rules of Geister in positions set up by hand; run once more without Numba's compiler."""

import numpy as np
import pytest

from envs.game import IllegalAction, States
from envs.geister import Geister, rules
from tests.envs.geister_positions import position

FULL = Geister(forced_escape=False)
FORCED = Geister(forced_escape=True)
MINI = Geister(size=4, ply_limit=30, forced_escape=False)
BLUES_AND_REDS = {"Ar": 20, "B": 21, "C": 22, "Dr": 23}
AWAY = {"Ar": 32, "B": 33}


def moves(game: Geister, states: States) -> set[str]:
    """Legal moves such as ``A NORTH``."""
    actions = np.flatnonzero(game.legal(states)[0])
    return {f"{'ABCDEFGH'[a // 4]} {rules.DIRECTIONS[a % 4]}" for a in actions}


def move(game: Geister, states: States, text: str) -> None:
    ghost, direction = text.split()
    action = 4 * "ABCDEFGH".index(ghost) + rules.DIRECTIONS.index(direction)
    game.step(states, np.array([action]), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        (FULL, {f"{g} NORTH" for g in "ABCD"} | {"A WEST", "D EAST", "E WEST", "H EAST"}),
        (MINI, {"A NORTH", "A WEST", "B NORTH", "B EAST"}),
    ],
)
def test_opening_moves(game: Geister, expected: set[str]) -> None:
    states = game.reset(1, np.random.default_rng(0))
    assert moves(game, states) == expected
    assert game.to_move(states).tolist() == [0]
    assert game.endings(states).tolist() == [rules.RUNNING]


def test_ghosts_are_where_the_protocol_has_them() -> None:
    states = FULL.reset(1, np.random.default_rng(0))
    assert states["square"][0, 0].tolist() == [y * 6 + x for y in (4, 5) for x in (1, 2, 3, 4)]


def test_own_ghosts_block_and_edges_end_the_board() -> None:
    states = position(FULL, {"Ar": 5, "Br": 4, "C": 11}, AWAY)
    assert moves(FULL, states) == {"B WEST", "B SOUTH", "C WEST", "C SOUTH"}


def test_blue_leaves_from_an_exit_by_a_move_of_its_own() -> None:
    states = position(FULL, {"A": 6, "Br": 20}, AWAY)
    move(FULL, states, "A NORTH")
    assert not FULL.finished(states)[0]
    move(FULL, states, "A NORTH")  # the opponent's ghost A
    assert moves(FULL, states) >= {"A NORTH", "A EAST", "A SOUTH"}
    move(FULL, states, "A NORTH")
    assert FULL.endings(states).tolist() == [rules.BY_ESCAPE]
    assert FULL.returns(states).tolist() == [[1.0, -1.0]]
    assert states["square"][0, 0, 0] == rules.ESCAPED
    assert not FULL.legal(states).any()
    assert FULL.to_move(states).tolist() == [-1]


@pytest.mark.parametrize("corner", [0, 5])
def test_forced_escape_leaves_nothing_else(corner: int) -> None:
    states = position(FORCED, {"A": corner, "Br": 20, "C": 21}, AWAY)
    assert moves(FORCED, states) == {"A NORTH"}
    assert len(moves(FULL, states)) > 1


@pytest.mark.parametrize("game", [FULL, FORCED])
def test_red_cannot_leave(game: Geister) -> None:
    states = position(game, {"Ar": 0, "B": 20}, AWAY)
    assert {m for m in moves(game, states) if m[0] == "A"} == {"A EAST", "A SOUTH"}


@pytest.mark.parametrize("corner", [30, 35])
def test_own_corners_are_no_exits(corner: int) -> None:
    states = position(FULL, {"A": corner, "Br": 20}, {"Ar": 20, "B": 21})
    assert not {"A SOUTH", "A EAST" if corner == 35 else "A WEST"} & moves(FULL, states)


def test_board_turns_for_the_second_player() -> None:
    states = position(FULL, {"A": 14, "Br": 35}, BLUES_AND_REDS)  # square 14 is 21 to the opponent: ghost B's
    states["square"][0, 0, 0] = 20  # next to it
    states["occupied"][0, 0] = (1 << 20) | (1 << 35)
    move(FULL, states, "A NORTH")
    assert states["square"][0, 1].tolist()[:4] == [20, rules.CAPTURED, 22, 23]
    assert states["taken"][0, 1].tolist() == [3, 2]
    assert not FULL.finished(states)[0]


@pytest.mark.parametrize(
    ("enemy", "ending", "first"),
    [({"Ar": 32, "B": 21}, rules.BY_BLUES_TAKEN, 1.0), ({"Ar": 21, "B": 32}, rules.BY_REDS_TAKEN, -1.0)],
)
def test_last_ghost_of_a_colour_ends_the_game(enemy: dict[str, int], ending: int, first: float) -> None:
    states = position(FULL, {"A": 20, "Br": 35}, enemy)
    move(FULL, states, "A NORTH")
    assert FULL.endings(states).tolist() == [ending]
    assert FULL.returns(states).tolist() == [[first, -first]]


@pytest.mark.parametrize(("enemy", "first"), [({"A": 6, "Br": 15}, 1.0), ({"Ar": 6, "B": 15}, -1.0)])
def test_any_capture_ends_mini_geister(enemy: dict[str, int], first: float) -> None:
    states = position(MINI, {"A": 13, "Br": 12}, enemy)  # the opponent's square 6 is 9 here
    move(MINI, states, "A NORTH")
    assert MINI.returns(states).tolist() == [[first, -first]]


def test_ply_limit_is_a_draw_and_a_win_on_the_last_ply_counts() -> None:
    drawn = position(FULL, {"A": 20, "Br": 35}, AWAY, plies=99)
    move(FULL, drawn, "A WEST")
    assert FULL.endings(drawn).tolist() == [rules.BY_PLY_LIMIT]
    assert FULL.returns(drawn).tolist() == [[0.0, 0.0]]
    won = position(FULL, {"A": 0, "Br": 35}, AWAY, plies=99)
    move(FULL, won, "A NORTH")
    assert FULL.endings(won).tolist() == [rules.BY_ESCAPE]


@pytest.mark.parametrize("action", [1, -1, 32, 1000])
def test_illegal_action_changes_nothing(action: int) -> None:
    states = FULL.reset(3, np.random.default_rng(0))
    before = states.copy()
    with pytest.raises(IllegalAction, match=r"^[^\n]*game 1[^\n]*not legal$"):
        FULL.step(states, np.array([0, action, 0]), np.random.default_rng(0))
    assert np.array_equal(states, before)


@pytest.mark.parametrize("actions", [np.zeros(3), np.zeros(3, bool), np.zeros(2, int)])
def test_actions_that_are_no_integers_are_refused(actions: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"^actions must be integers \[3\], one for each game, got \w+\[[23]\]$"):
        FULL.step(FULL.reset(3, np.random.default_rng(0)), actions)


@pytest.mark.parametrize("players", [[0, 2], [-1, 0], [0], [0.0, 1.0]])
def test_players_that_do_not_exist_are_refused(players: list[int]) -> None:
    states, wrong = FULL.reset(2, np.random.default_rng(0)), np.array(players)
    for ask in (FULL.observe, FULL.possible, FULL.secrets, FULL.odds, FULL.clues):
        with pytest.raises(ValueError, match=r"^players must be integers \[2\] from 0 to 1"):
            ask(states, wrong)


def test_finished_games_are_left_alone() -> None:
    states = np.concatenate([position(FULL, {"A": square, "Br": 35}, AWAY) for square in (0, 20)])
    FULL.step(states, np.array([0, 0]), np.random.default_rng(0))
    ended = states[:1].copy()
    FULL.step(states, np.array([-7, 0]), np.random.default_rng(0))
    assert np.array_equal(states[:1], ended)
    assert states["ply"].tolist() == [1, 2]


@pytest.mark.parametrize(("size", "count"), [(6, 70), (4, 2)])
def test_layouts_are_chosen_in_turn(size: int, count: int) -> None:
    game = Geister(size=size, random_setup=False)
    states = game.reset(1, np.random.default_rng(0))
    assert len(set(rules.layouts(size).tolist())) == count
    for player, choice in enumerate((0, count - 1)):
        assert game.to_move(states).tolist() == [player]
        assert np.flatnonzero(game.legal(states)[0]).tolist() == list(range(count))
        game.step(states, np.array([choice]), np.random.default_rng(0))
    assert states["red"][0].tolist() == rules.layouts(size)[[0, -1]].tolist()
    assert states["ply"].tolist() == [0]
    assert game.to_move(states).tolist() == [0]
    assert game.legal(states).sum() == (8 if size == 6 else 4)


def test_planes_are_those_of_the_paper() -> None:
    states = position(FULL, {"A": 20, "Br": 35, "C": 8}, BLUES_AND_REDS, plies=50)
    planes = FULL.encode(FULL.observe(states, np.array([0], np.int8)), "planes")[0]
    squares = [np.flatnonzero(plane).tolist() for plane in planes[:3]]
    assert squares == [[8, 20], [35], [35 - s for s in (23, 22, 21, 20)]]
    constant = [np.unique(plane).tolist() for plane in planes[3:]]
    assert constant == [[np.float32(2 / 3)], [np.float32(2 / 3)], [0.5]]


@pytest.mark.parametrize(("clip", "plies", "shown"), [(True, 250, 1.0), (False, 250, 2.5), (True, 30, 0.3)])
def test_both_encodings_tell_the_ghosts_taken_and_the_ply(clip: bool, plies: int, shown: float) -> None:
    game = Geister(ply_limit=300, observation_limit=100, clip_ply=clip)
    states = position(game, {"A": 20, "Br": 35}, {"Ar": 32, "B": 33, "C": 34}, plies)  # 2 blue ghosts, 3 red ones
    packed = game.observe(states, np.array([0], np.int8))
    numbers = np.array([2 / 3, 1, shown], np.float32)
    assert np.array_equal(game.encode(packed, "flat")[0, 108:], [*numbers, 0])
    assert np.array_equal(game.encode(packed, "planes")[0, 3:, 5, 5], numbers)


@pytest.mark.parametrize(
    ("option", "value"), [("size", 5), ("ply_limit", 0), ("ply_limit", 40_000), ("observation_limit", 0)]
)
def test_impossible_options(option: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"^[^\n]+got {value}$"):
        Geister(**{option: value})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ply_limit": 1.5}, "ply_limit must be an integer, got 1.5"),
        ({"ply_limit": True}, "ply_limit must be an integer, got True"),
        ({"ply_limit": "x"}, "ply_limit must be an integer, got 'x'"),
        ({"random_setup": "no"}, "random_setup must be true or false, got 'no'"),
        ({"size": None}, "size must be an integer, got None"),
    ],
)
def test_options_of_another_type_are_refused(options: dict, expected: str) -> None:
    with pytest.raises(TypeError, match=expected):
        Geister(**options)
