"""Small boards of both games, and a version of the rules in plain Python."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from envs.dark_hex import DarkHex
from envs.extensive import OVER
from envs.phantom_ttt import PhantomTicTacToe
from envs.placement.game import PlacementGame

SMALL = {
    f"dark_hex-{rows}x{columns}{'-abrupt' if abrupt else ''}": DarkHex(abrupt, rows=rows, columns=columns)
    for rows, columns in ((2, 2), (2, 3), (3, 2))
    for abrupt in (False, True)
}
FULL = {
    "phantom_ttt": PhantomTicTacToe(),
    "phantom_ttt_abrupt": PhantomTicTacToe(abrupt=True),
    "dark_hex3": DarkHex(),
    "dark_hex3_abrupt": DarkHex(abrupt=True),
}
ON_SMALL = pytest.mark.parametrize("game", SMALL.values(), ids=SMALL)
ON_FULL = pytest.mark.parametrize("game", FULL.values(), ids=FULL)


def theirs(game: PlacementGame) -> Any:
    """The same game of OpenSpiel."""
    import pyspiel

    if isinstance(game, DarkHex):
        version = "adh" if game.abrupt else "cdh"
        options = f"gameversion={version},num_rows={game.rows},num_cols={game.columns}"
        return pyspiel.load_game(f"dark_hex({options},obstype=reveal-nothing)")
    version = "abrupt" if game.abrupt else "classical"
    return pyspiel.load_game(f"phantom_ttt(gameversion={version},obstype=reveal-nothing)")


def infoset_string(spiel: Any, player: int) -> str:
    """OpenSpiel's infoset of a player, without the number of all moves so far, which its dark hex adds."""
    board, tries = spiel.information_state_string(player).rsplit("\n", 1)
    return "\n".join((*(line for line in board.split("\n") if not line.isdigit()), tries))


@dataclass(frozen=True)
class Stated:
    """A position by the rules in plain Python.

    Attributes:
        mover: Player to move, or `OVER`.
        stones: The set of cells of each player.
        tries: Each player's tries in order, as pairs of a cell and whether it failed.
        winner: The player who has won, or None.
    """

    mover: int = 0
    stones: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    tries: tuple[tuple[tuple[int, bool], ...], tuple[tuple[int, bool], ...]] = ((), ())
    winner: int | None = None

    @property
    def known(self) -> tuple[int, tuple[tuple[int, bool], ...]]:
        """The mover and their tries, which tell infosets apart."""
        return self.mover, self.tries[self.mover]

    def legal(self, cells: int) -> list[int]:
        """The cells that the mover has not tried."""
        tried = {cell for cell, _ in self.tries[self.mover]}
        return [cell for cell in range(cells) if cell not in tried and self.mover != OVER]


def connected(game: DarkHex, player: int, stones: frozenset[int]) -> bool:
    """Whether stones join the player's sides, by a search from one of them."""
    places = {divmod(cell, game.columns) for cell in stones}
    goal = (game.rows, game.columns)[player] - 1
    waiting = [place for place in places if place[player] == 0]
    reached = set(waiting)
    while waiting:
        row, column = waiting.pop()
        for step in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)):
            place = row + step[0], column + step[1]
            if place in places - reached:
                reached.add(place)
                waiting.append(place)
    return any(place[player] == goal for place in reached)


def won(game: PlacementGame, player: int, stones: frozenset[int]) -> bool:
    if isinstance(game, DarkHex):
        return connected(game, player, stones)
    lines = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]
    return any(line <= stones for line in lines)


def after(game: PlacementGame, position: Stated, cell: int) -> Stated:
    """The position after a try."""
    me, other = position.mover, 1 - position.mover
    failed = cell in position.stones[other]
    tries = list(position.tries)
    tries[me] = (*tries[me], (cell, failed))
    if failed:
        return replace(position, mover=other if game.abrupt else me, tries=(tries[0], tries[1]))
    stones = list(position.stones)
    stones[me] = stones[me] | {cell}
    winner = me if won(game, me, stones[me]) else None
    full = len(stones[0] | stones[1]) == game.spec.num_actions
    mover = OVER if full or winner is not None else other
    return Stated(mover, (stones[0], stones[1]), (tries[0], tries[1]), winner)


def positions(game: PlacementGame) -> Iterator[Stated]:
    """The position of every history, terminal ones included."""
    waiting = [Stated()]
    while waiting:
        position = waiting.pop()
        yield position
        waiting += [after(game, position, cell) for cell in position.legal(game.spec.num_actions)]
