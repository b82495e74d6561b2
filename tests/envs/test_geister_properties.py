"""Invariants of every position that random play reaches, whatever the options."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.game import IllegalAction, States
from envs.geister import Geister, history, rules
from envs.geister.observation import OFF, PACKED, PACKED_SIZE
from envs.geister.players import BOTS
from tests.envs.geister_positions import position, random_positions

BATCH = 24


@dataclass
class Case:
    """Positions of one game, and a seed for all other draws."""

    game: Geister
    states: States
    seed: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    game = Geister(
        size=draw(st.sampled_from([6, 4])),
        ply_limit=draw(st.integers(1, 120)),
        random_setup=draw(st.booleans()),
        forced_escape=draw(st.booleans()),
        history=draw(st.booleans()),
    )
    seed = draw(st.integers(0, 2**32 - 1))
    return Case(game, random_positions(game, BATCH, draw(st.integers(0, 100)), seed), seed)


@given(cases())
@settings(max_examples=60)
def test_conservation(case: Case) -> None:
    states, ghosts = case.states, len(rules.start_squares(case.game.size))
    square = states["square"][:, :, :ghosts]
    on_board = square >= 0
    taken = states["taken"].sum(2)
    assert np.array_equal((square == rules.CAPTURED).sum(2), taken)
    assert np.array_equal(on_board.sum(2) + taken + (square == rules.ESCAPED).sum(2), np.full(taken.shape, ghosts))
    reds = (states["red"][:, :, None] >> np.arange(ghosts)) & 1
    placed = states["placed"][:, None] > np.arange(2)
    assert np.array_equal(reds.sum(2)[placed], np.full(placed.sum(), ghosts // 2))
    assert (states["red"] < 1 << ghosts).all()
    for colour in (rules.BLUE, rules.RED):
        of_colour = (square == rules.CAPTURED) & (reds == colour)
        assert np.array_equal(of_colour.sum(2), states["taken"][:, :, colour])
    assert (states["square"][:, :, ghosts:] == rules.CAPTURED).all()


@given(cases())
@settings(max_examples=60)
def test_packed_infostates_are_records(case: Case) -> None:
    states, last = case.states, case.game.size**2 - 1
    for player in (0, 1):
        packed = case.game.observe(states, np.full(len(states), player, np.int8))
        seen = np.ascontiguousarray(packed[:, :PACKED_SIZE]).view(PACKED)[:, 0]
        squares = states["square"].astype(np.int64)
        own, others = squares[:, player], squares[:, 1 - player]
        assert np.array_equal(seen["square"], np.where(own >= 0, own, OFF))
        bits = np.unpackbits(seen["enemies"], axis=1, bitorder="little")
        on_board = [sorted(last - square for square in row if square >= 0) for row in others]
        assert [np.flatnonzero(row).tolist() for row in bits] == on_board
        for field, expected in (
            ("red", states["red"][:, player]),
            ("taken", states["taken"][:, 1 - player]),
            ("ply", states["ply"]),
            ("placing", states["placed"] < 2),
            ("first", np.full(len(states), player == 0)),
        ):
            assert np.array_equal(seen[field], expected), field


@given(cases())
@settings(max_examples=60)
def test_occupied_squares_are_those_of_the_ghosts(case: Case) -> None:
    area = case.game.size**2
    for state in case.states:
        views = []
        for player in (0, 1):
            squares = state["square"][player][state["square"][player] >= 0].tolist()
            assert len(set(squares)) == len(squares)
            assert int(state["occupied"][player]) == sum(1 << s for s in squares)
            assert all(s < area for s in squares)
            views.append(set(squares))
        assert not views[0] & {area - 1 - s for s in views[1]}


@given(cases())
@settings(max_examples=60)
def test_a_game_runs_exactly_while_there_are_legal_actions(case: Case) -> None:
    game, states = case.game, case.states
    finished = game.finished(states)
    assert np.array_equal(game.legal(states).any(1), ~finished)
    assert np.array_equal(game.to_move(states) == -1, finished)
    assert np.array_equal(game.endings(states) > 0, finished)
    assert (game.returns(states).sum(1) == 0).all()
    assert (game.returns(states)[~finished] == 0).all()
    drawn = game.endings(states) == rules.BY_PLY_LIMIT
    assert np.array_equal((game.returns(states) == 0).all(1), drawn | ~finished)
    assert (states["ply"] <= game.ply_limit).all()


def accepts(game: Geister, state: States, action: int) -> bool:
    """Whether the game lets the player to move play an action."""
    try:
        game.step(state.copy(), np.array([action]))
    except IllegalAction:
        return False
    return True


def at_an_exit(game: Geister, rng: np.random.Generator) -> States:
    """One game in which a ghost of the player to move, of either colour, stands on an exit, and three others about."""
    last = game.size**2 - 1
    exit_ = int(rng.choice([0, game.size - 1]))
    own, *enemies = rng.permutation(np.delete(np.arange(last + 1), exit_))[:3].tolist()
    blue, red = (exit_, own) if rng.random() < 0.7 else (own, exit_)
    return position(game, {"A": blue, "Br": red}, {"Ar": last - enemies[0], "B": last - enemies[1]})


@pytest.mark.parametrize("size", [6, 4])
def test_a_step_is_refused_exactly_if_it_is_not_legal(size: int) -> None:
    """Also of ghosts off the board, and of all others while an escape is forced."""
    rng, alone = np.random.default_rng(0), 0
    free, forced = Geister(size, forced_escape=False), Geister(size, forced_escape=True)
    reached = [random_positions(free, 30, plies, seed=plies) for plies in (3, 20, 50)]
    states = np.concatenate([*reached, *(at_an_exit(free, rng) for _ in range(40))])
    states = states[~free.finished(states)]
    for game in (free, forced):
        for b, row in enumerate(game.legal(states)):
            found = [accepts(game, states[b : b + 1], action) for action in range(-1, len(row) + 1)]
            assert found == [False, *row, False]
            alone += row.sum() == 1
    assert alone > 20


@pytest.mark.parametrize("size", [6, 4])
def test_only_layouts_that_exist_can_be_chosen(size: int) -> None:
    game = Geister(size, random_setup=False)
    states, count = game.reset(1, np.random.default_rng(0)), len(rules.layouts(size))
    assert [accepts(game, states, action) for action in (-1, 0, count - 1, count)] == [False, True, True, False]


def recolour(states: States, observers: np.ndarray, rng: np.random.Generator) -> States:
    """The same positions with the hidden colours of each observer's opponent dealt out again."""
    other = states.copy()
    for state, observer in zip(other, observers, strict=True):
        enemy = 1 - observer
        hidden = np.flatnonzero(state["square"][enemy] >= 0)
        reds = (int(state["red"][enemy]) >> hidden) & 1
        kept = int(state["red"][enemy]) & ~sum(1 << int(ghost) for ghost in hidden)
        dealt = rng.permutation(reds)
        state["red"][enemy] = kept | sum(1 << int(g) for g, red in zip(hidden, dealt, strict=True) if red)
    return other


@given(cases())
@settings(max_examples=60)
def test_nothing_depends_on_a_hidden_colour(case: Case) -> None:
    game = case.game
    states = case.states[~game.finished(case.states)]
    for observers in (states["to_move"], 1 - states["to_move"]):
        other = recolour(states, observers, np.random.default_rng(case.seed))
        packed = game.observe(states, observers)
        assert np.array_equal(packed, game.observe(other, observers))
        for encoding in game.spec.shapes:
            assert np.array_equal(game.encode(packed, encoding), game.encode(game.observe(other, observers), encoding))
    other = recolour(states, states["to_move"], np.random.default_rng(case.seed))
    assert np.array_equal(game.legal(states), game.legal(other))
    games = np.arange(len(states))
    for make in BOTS.values():
        choices = []
        for seen in (states, other):
            bot = make()
            bot.begin(game, len(seen), np.random.default_rng(1))
            choices.append(bot.act(seen, games, np.random.default_rng(case.seed)))
        assert np.array_equal(*choices)
        assert game.legal(states)[games, choices[0]].all()


def test_recolouring_does_recolour() -> None:
    game = Geister()
    states = random_positions(game, 200, 20, seed=1)
    other = recolour(states, states["to_move"], np.random.default_rng(2))
    rows, enemy = np.arange(len(states)), 1 - states["to_move"]
    assert (states["red"][rows, enemy] != other["red"][rows, enemy]).mean() > 0.8
    assert np.array_equal(states["red"][rows, 1 - enemy], other["red"][rows, 1 - enemy])


def turned(states: States) -> States:
    """The same games with the players' names exchanged."""
    other = states.copy()
    counted = [name for name, *_ in history.FIELDS if name in (states.dtype.names or ())]
    for name in ("occupied", "square", "taken", "red", *counted):
        other[name] = states[name][:, ::-1]
    other["to_move"] = 1 - states["to_move"]
    other["winner"] = np.where(states["winner"] >= 0, 1 - states["winner"], -1)
    return other


@given(cases())
@settings(max_examples=60)
def test_the_players_are_alike(case: Case) -> None:
    """After the layouts the rules know no first player: exchanged names give an exchanged game."""
    game, rng = case.game, np.random.default_rng(case.seed)
    states = case.states[case.states["placed"] == 2]
    other = turned(states)
    bot = BOTS["random"]()
    bot.begin(game, len(states), rng)
    for _ in range(4):
        assert np.array_equal(game.legal(states), game.legal(other))
        for player in (0, 1):
            players = np.full(len(states), player, np.int8)
            mine, its = game.observe(states, players), game.observe(other, 1 - players)
            for encoding in game.spec.shapes:
                assert np.array_equal(game.encode(mine, encoding), game.encode(its, encoding))
        assert np.array_equal(game.returns(states), game.returns(other)[:, ::-1])
        actions = bot.act(states, np.arange(len(states)), rng)
        game.step(states, actions, rng)
        game.step(other, actions, rng)
    assert np.array_equal(turned(states), other)
