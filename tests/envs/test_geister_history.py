"""The past of each ghost, in states and infostates of Geister: against a reference on a board of plain Python."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from envs.game import Game, States
from envs.geister import Geister, history, observation, rules
from envs.sparse import dense
from tests.envs.geister_positions import position, random_positions

SHIFTS = {rules.NORTH: (0, -1), rules.EAST: (1, 0), rules.WEST: (-1, 0), rules.SOUTH: (0, 1)}
GAMES = [Geister(history=True, ply_limit=200, forced_escape=False), Geister(4, ply_limit=60, history=True)]
BOTH = pytest.mark.parametrize("game", GAMES, ids=["full", "mini"])


@dataclass
class Ghost:
    """A ghost, and all that it has done; its place is (x, y) in the view of player 0, or None."""

    place: tuple[int, int] | None
    red: bool
    moves: int = 0
    chances: int = 0
    retreats: int = 0
    offers: int = 0
    near: bool = False
    moved_at: int | None = None


@dataclass
class Board:
    """A game on a board of plain Python, from its start."""

    size: int
    players: list[list[Ghost]] = field(default_factory=list)
    ply: int = 0

    @classmethod
    def of(cls, game: Geister, state: np.void) -> "Board":
        board = cls(game.size)
        for player in (0, 1):
            squares = rules.start_squares(game.size).tolist()
            reds = int(state["red"][player])
            ghosts = [Ghost(board.turned(s, player), bool(reds >> g & 1)) for g, s in enumerate(squares)]
            board.players.append(ghosts)
        return board

    def turned(self, square: int, player: int) -> tuple[int, int]:
        """The place of a square of a player's own view."""
        y, x = divmod(square, self.size)
        return (x, y) if player == 0 else (self.size - 1 - x, self.size - 1 - y)

    def square(self, place: tuple[int, int], player: int) -> int:
        x, y = place
        square = y * self.size + x
        return square if player == 0 else self.size**2 - 1 - square

    def enemies_beside(self, place: tuple[int, int], player: int) -> int:
        """How many ghosts of the other player stand next to a place."""
        places = [ghost.place for ghost in self.players[1 - player] if ghost.place is not None]
        return sum(abs(place[0] - x) + abs(place[1] - y) == 1 for x, y in places)

    def move(self, player: int, number: int, direction: int) -> None:
        ghost = self.players[player][number]
        assert ghost.place is not None
        dx, dy = SHIFTS[direction] if player == 0 else tuple(-d for d in SHIFTS[direction])
        target = ghost.place[0] + dx, ghost.place[1] + dy
        inside = all(0 <= each < self.size for each in target)
        victim = next((other for other in self.players[1 - player] if inside and other.place == target), None)
        for own in self.players[player]:
            if own.place is not None and self.enemies_beside(own.place, player):
                own.chances += not (own is ghost and victim is not None)
        threatened = self.enemies_beside(ghost.place, player) > 0
        if victim is not None:
            victim.place = None
        ghost.place = target if inside else None
        ghost.near = inside and self.enemies_beside(target, player) > 0
        ghost.moves += 1
        ghost.offers += ghost.near
        ghost.retreats += threatened and not ghost.near and victim is None
        self.ply += 1
        ghost.moved_at = self.ply

    def inputs(self, observer: int) -> np.ndarray:
        """The inputs that the history adds to the encoding ``flat``."""
        area = self.size**2
        planes = np.zeros((2, history.PLANES, area), np.float32)
        steps = np.zeros((3, history.farthest(self.size) + 1), np.float32)
        for side, player in enumerate((observer, 1 - observer)):
            for ghost in self.players[player]:
                if ghost.place is None:
                    continue
                counts = [min(n, history.MOST) for n in (ghost.moves, ghost.chances, ghost.retreats, ghost.offers)]
                since = history.LONGEST if ghost.moved_at is None else min(self.ply - ghost.moved_at, history.LONGEST)
                column = [n / (n + 2) for n in counts] + [ghost.near, 1 - since / history.LONGEST]
                planes[side, :, self.square(ghost.place, observer)] = column
                x, y = divmod(self.square(ghost.place, player), self.size)[::-1]
                steps[2 if side else int(ghost.red), y + min(x, self.size - 1 - x)] += 1
        return np.concatenate([planes.ravel(), steps.ravel()])


def random_game(game: Geister, seed: int) -> Iterator[tuple[States, Board]]:
    """The positions of a random game, and the same on a board of plain Python."""
    rng = np.random.default_rng(seed)
    states = game.reset(1, rng)
    board = Board.of(game, states[0])
    yield states, board
    while not game.finished(states)[0]:
        action = int(rng.choice(np.flatnonzero(game.legal(states)[0])))
        board.move(int(states["to_move"][0]), *divmod(action, 4))
        game.step(states, np.array([action]))
        yield states, board


@BOTH
def test_counters_are_those_of_a_board_of_plain_python(game: Geister) -> None:
    plain = 3 * game.size**2 + 4
    most = dict.fromkeys(("moves", "chances", "retreats", "offers"), 0)
    for seed in range(12):
        for states, board in random_game(game, seed):
            for player in (0, 1):
                for number, ghost in enumerate(board.players[player]):
                    for name in most:
                        count = getattr(ghost, name)
                        assert states[name][0, player, number] == min(count, history.MOST), name
                        most[name] = max(most[name], count)
                packed = game.observe(states, np.array([player], np.int8))
                found = game.encode(packed, "flat")[0]
                np.testing.assert_allclose(found[plain:], board.inputs(player), atol=1e-6)
    assert most["moves"] > history.MOST or game.size == 4
    assert min(most.values()) > 1


def test_an_offer_a_chance_and_a_retreat() -> None:
    """The example of `envs.geister.history`, played on from a position."""
    game = Geister(history=True, forced_escape=False)
    states = game.reset(1, np.random.default_rng(0))
    base = position(game, {"A": 20, "Br": 35}, {"A": 21, "Br": 35})  # the opponent's A stands on 14 in the mover's view
    for name in rules.STATE.names or ():
        states[name] = base[name]
    states["square"][0, 0, 0], states["occupied"][0, 0] = 19, (1 << 19) | (1 << 35)

    def history_of(player: int, ghost: int) -> dict[str, int]:
        return {name: int(states[name][0, player, ghost]) for name, *_ in history.FIELDS}

    for ghost, direction in ((0, rules.EAST), (1, rules.WEST), (0, rules.SOUTH)):
        game.step(states, np.array([4 * ghost + direction]))
    assert history_of(0, 0) == {"moves": 2, "chances": 1, "retreats": 1, "offers": 1, "near": 0, "moved_at": 3}
    assert history_of(1, 0) == {"moves": 0, "chances": 1, "retreats": 0, "offers": 0, "near": 0, "moved_at": 0}
    assert history_of(1, 1) == {"moves": 1, "chances": 0, "retreats": 0, "offers": 0, "near": 0, "moved_at": 2}


def other_colours(game: Geister, states: States, rng: np.random.Generator) -> States:
    """The same starting positions with other colours of both players."""
    other = states.copy()
    every = rules.layouts(game.size)
    other["red"] = np.where(rng.random((len(states), 2)) < 0.1, states["red"], rng.choice(every, (len(states), 2)))
    return other


@BOTH
def test_no_history_depends_on_a_colour(game: Geister) -> None:
    """The same moves with other colours, from the start: the history stays the same, byte for byte."""
    rng = np.random.default_rng(1)
    first = game.reset(300, rng)
    second = other_colours(game, first, rng)
    assert (first["red"] != second["red"]).any(1).mean() > 0.4
    compared = 0
    while True:
        both = game.legal(first) & game.legal(second)  # where one game has ended, neither continues
        left = both.any(1)
        first, second, both = first[left], second[left], both[left]
        if len(first) == 0:
            break
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in both])
        for states in (first, second):
            game.step(states, actions)
        for name, *_ in history.FIELDS:
            assert np.array_equal(first[name], second[name]), name
        for player in (0, 1):
            seen = [game.observe(states, np.full(len(states), player, np.int8)) for states in (first, second)]
            assert np.array_equal(*(each[:, observation.PACKED_SIZE :] for each in seen))
        compared += len(first)
    assert compared > (10_000 if game.size == 6 else 2_000)


@BOTH
def test_infostates_begin_like_those_without_history(game: Geister) -> None:
    without = Geister(game.size, game.ply_limit, forced_escape=game.forced_escape)
    states = random_positions(game, 200, 40, seed=5)
    for player in (0, 1):
        players = np.full(len(states), player, np.int8)
        packed, plain = game.observe(states, players), without.observe(states, players)
        assert np.array_equal(packed[:, : observation.PACKED_SIZE], plain)
        assert np.array_equal(game.encode(packed, "planes"), without.encode(plain, "planes"))
        inputs = without.spec.shapes["flat"][0]
        assert np.array_equal(game.encode(packed, "flat")[:, :inputs], without.encode(plain, "flat"))
        for layout in game.spec.slots:
            assert np.array_equal(game.output_slots(packed, layout), without.output_slots(plain, layout))
        seen = packed[:, observation.PACKED_SIZE : observation.PACKED_SIZE + rules.GHOSTS].astype(np.int64)
        theirs = states["square"][:, 1 - player].astype(np.int64)
        expected = np.where(theirs >= 0, game.size**2 - 1 - theirs, observation.OFF)
        assert np.array_equal(seen, expected)


@BOTH
def test_the_sparse_form_is_the_dense_one(game: Geister) -> None:
    states = random_positions(game, 300, 60, seed=6)
    packed = game.observe(states, game.to_move(states).clip(0))
    place, value = game.encode_sparse(packed)
    assert place.shape == value.shape
    assert place.shape[1] % 4 == 0
    ones = (value[:, observation.SPARSE_INPUTS :] != 0).sum(1)
    assert 0 <= place.shape[1] - observation.SPARSE_INPUTS - ones.max() < 4, "no wider than the fullest row"
    assert ((place >= 0) & (place < game.spec.shapes["flat"][0])).all()
    out = np.full((300, *game.spec.shapes["flat"]), 7, np.float32)
    dense(place, value, out)
    assert np.array_equal(out, game.encode(packed, "flat"))
    assert (out != 0).any(0).sum() > out.shape[1] // 2
    assert game.encode_sparse(packed[:0]).place.shape[0] == 0


def test_games_play_alike_with_and_without_history() -> None:
    with_it, without = Geister(history=True), Geister()
    assert isinstance(with_it, Game)
    states, plain = with_it.reset(100, np.random.default_rng(2)), without.reset(100, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    while not without.finished(plain).all():
        legal = without.legal(plain)
        assert np.array_equal(with_it.legal(states), legal)
        actions = np.array([rng.choice(np.flatnonzero(row)) if row.any() else -1 for row in legal])
        without.step(plain, actions)
        with_it.step(states, actions)
        assert np.array_equal(history.without(states), plain)


def test_sizes() -> None:
    plain, full, mini = Geister().spec, Geister(history=True).spec, Geister(4, history=True).spec
    assert (plain.packed_size, plain.shapes["flat"]) == (20, (112,))
    assert Geister().reset(1, np.random.default_rng(0)).dtype == rules.STATE
    assert (full.packed_size, full.shapes) == (76, {"planes": (6, 6, 6), "flat": (112 + 12 * 36 + 3 * 8,)})
    assert (mini.packed_size, mini.shapes["flat"]) == (76, (52 + 12 * 16 + 3 * 5,))
    assert (full.name, full.num_actions, full.slots) == (plain.name, plain.num_actions, plain.slots)


@pytest.mark.parametrize("value", [1, None, "yes"])
def test_history_is_on_or_off(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^history must be true or false, got [^\n]+$"):
        Geister(history=value)


def test_states_without_history_are_refused() -> None:
    states = Geister().reset(2, np.random.default_rng(0))
    before, game = states.copy(), Geister(history=True)
    with pytest.raises(ValueError, match=r"^[^\n]*no history[^\n]*history=True$"):
        game.observe(states, np.zeros(2, np.int8))
    with pytest.raises(ValueError, match=r"^[^\n]*no history[^\n]*history=True$"):
        game.step(states, np.zeros(2, np.int64))
    assert np.array_equal(states, before)
    with pytest.raises(ValueError, match=r"\[B, 76\], got \[2, 20\]"):
        game.encode(Geister().observe(states, np.zeros(2, np.int8)), "flat")
