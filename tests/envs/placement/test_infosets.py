"""The numbered infosets of games of placement against an enumeration in plain Python, and published counts."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.dark_hex import DarkHex
from envs.game import Packed, States
from envs.phantom_ttt import PhantomTicTacToe
from envs.placement.game import PlacementGame
from envs.placement.rules import FAILED, NONE
from tests.envs.exact_games import packed_infosets
from tests.envs.placement.boards import FULL, ON_FULL, ON_SMALL, positions
from tests.envs.small_trees import tree_of


def as_bytes(game: PlacementGame, player: int, tries: tuple[tuple[int, bool], ...]) -> bytes:
    """The packed infostate of a player who has made these tries."""
    made = [cell | (FAILED if failed else 0) for cell, failed in tries]
    return bytes([player, *made, *[NONE] * (game.spec.num_actions - len(made))])


@ON_SMALL
def test_infosets_are_those_of_an_enumeration(game: PlacementGame) -> None:
    expected = {as_bytes(game, *position.known) for position in positions(game) if position.mover >= 0}
    found = [packed_infosets(game, player) for player in (0, 1)]
    assert [len(each) for each in found] == [game.num_infosets(0), game.num_infosets(1)]
    rows = [row.tobytes() for each in found for row in each]
    assert len(set(rows)) == len(rows)
    assert set(rows) == expected


class Seatless(DarkHex):
    """Dark hex whose infostates do not say whose they are."""

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        packed = super().observe(states, players)
        packed[:, 0] = 0
        return packed


def test_infosets_of_both_players_with_equal_bytes_are_two() -> None:
    tree, seatless = tree_of(DarkHex(rows=2, columns=2)), tree_of(Seatless(rows=2, columns=2))
    assert seatless.num_infosets == tree.num_infosets
    assert (seatless.infoset == tree.infoset).all()


@ON_SMALL
def test_encoding_names_own_and_known_stones_and_the_tries_in_order(game: PlacementGame) -> None:
    cells = game.spec.num_actions
    for player, tries in sorted({position.known for position in positions(game) if position.mover >= 0}):
        ones = [player] + [2 + failed * cells + cell for cell, failed in tries]
        ones += [2 + 2 * cells + number * cells + cell for number, (cell, _) in enumerate(tries)]
        packed = np.frombuffer(as_bytes(game, player, tries), np.uint8)[None]
        assert np.flatnonzero(game.encode(packed)[0]).tolist() == sorted(ones)


COUNTS = {
    "phantom_ttt": 5_990_669,
    "phantom_ttt_abrupt": 23_310_269,
    "dark_hex3": 6_072_917,
    "dark_hex3_abrupt": 27_325_277,
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_infosets(name: str) -> None:
    assert FULL[name].num_infosets(0) + FULL[name].num_infosets(1) == COUNTS[name]


@pytest.mark.parametrize("player", [0, 1])
@ON_FULL
def test_blocks_of_infosets_are_those_of_the_whole(game: PlacementGame, player: int) -> None:
    count = game.num_infosets(player)
    block = 300_000
    previous: Any = None
    for start in range(0, min(count, 4 * block), block):
        stop = min(start + block, count)
        states = game.infosets(player, start, stop)
        assert (game.mover(states) == player).all()
        assert game.legal(states).any(axis=1).all()
        packed = game.observe(states, np.full(len(states), player, np.int8))
        for begin, end in ((start, start + 7), (start + 1000, start + 2001), (stop - 1, stop)):
            assert np.array_equal(game.infosets(player, begin, end), states[begin - start : end - start])
        if previous is not None:
            assert not np.array_equal(previous, packed[0])
        # Depth first, each infoset before those that follow it: an order of the tries by cell, then by failure.
        tries = packed[:, 1:].astype(np.int64)
        order = np.where(tries == NONE, 0, 1 + 2 * (tries & 0x7F) + (tries >= FAILED))
        numbers = order @ (32 ** np.arange(game.spec.num_actions - 1, -1, -1, dtype=np.int64))
        assert (np.diff(numbers) > 0).all()
        previous = packed[-1]
    assert len(game.infosets(player, count, count)) == 0
    for wrong in ((-1, 2), (3, 2), (0, count + 1)):
        with pytest.raises(
            ValueError, match=rf"^{game.spec.name} has the infosets 0 to [\d,]+ of player {player}, got "
        ):
            game.infosets(player, *wrong)
    assert len(game.infosets(player, count - 3, count)) == 3


def replay(game: PlacementGame, states: States, player: int) -> list[list[tuple[bytes, int]]]:
    """The earlier decisions of `decisions_before`, by row, as packed infostates and actions."""
    found: list[list[tuple[bytes, int]]] = [[] for _ in range(len(states))]
    for rows, earlier, actions in game.decisions_before(states, player):
        assert game.legal(earlier)[np.arange(len(rows)), actions].all()
        packed = game.observe(earlier, np.full(len(rows), player, np.int8))
        for row, seen, action in zip(rows.tolist(), packed, actions.tolist(), strict=True):
            found[row].append((seen.tobytes(), action))
    return found


@ON_SMALL
def test_earlier_decisions_lead_to_the_infoset(game: PlacementGame) -> None:
    for player in (0, 1):
        states = game.infosets(player, 0, game.num_infosets(player))
        packed, known = packed_infosets(game, player), set()
        for row, before in enumerate(replay(game, states, player)):
            tries = [int(each) for each in packed[row, 1:] if each != NONE]
            made = tuple((each & 0x7F, each >= FAILED) for each in tries)
            expected = [(as_bytes(game, player, made[:k]), made[k][0]) for k in range(len(made))]
            assert before == expected
            known.add(packed[row].tobytes())
        assert {seen for before in replay(game, states, player) for seen, _ in before} <= known


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 3), (3, 2), (3, 3), (2, 5), (3, 4)])
def test_full_board_of_hex_connects_exactly_one_player(rows: int, columns: int) -> None:
    game = DarkHex(rows=rows, columns=columns)
    sets = np.arange(1 << rows * columns)
    assert (game.won[0, sets] ^ game.won[1, sets[-1] ^ sets]).all()


def test_hex_is_won_by_chains_that_touch() -> None:
    game = DarkHex()
    first = {0b001_001_001: True, 0b001_010_100: True, 0b100_010_001: False, 0b010_010_100: True, 0b011_100_000: False}
    assert {stones: bool(game.won[0, stones]) for stones in first} == first
    assert game.won[1, 0b000_000_111]
    assert not game.won[1, 0b100_010_001]


def test_lines_of_tic_tac_toe() -> None:
    won = PhantomTicTacToe().won
    assert np.array_equal(won[0], won[1])
    least = [stones for stones in range(512) if won[0, stones] and stones.bit_count() == 3]
    assert least == sorted([0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124])


def test_boards_of_more_than_ten_cells_are_not_ranked() -> None:
    with pytest.raises(ValueError, match=r"^exact evaluation takes boards of at most 10 cells, got 12$"):
        DarkHex(rows=3, columns=4).num_infosets(0)
    assert DarkHex(rows=2, columns=5).num_infosets(0) > 0


@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (3, 1), (4, 5), (17, 1)])
def test_board_of_another_size_is_refused(rows: int, columns: int) -> None:
    with pytest.raises(ValueError, match="rows and columns must be at least 2 and have a product of at most 16"):
        DarkHex(rows=rows, columns=columns)


@pytest.mark.parametrize("options", [{"rows": 3.0}, {"columns": "3"}, {"abrupt": 1}, {"name": 3}])
def test_options_of_another_type_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"^{next(iter(options))} must be "):
        DarkHex(**options)
