"""Tests of `envs.capabilities.Readable`: odds are those of the possible arrangements, and clues give nothing away."""

import numpy as np
import pytest

from dancfr.games.registry import make_game
from envs.capabilities import Readable
from envs.game import Game, States
from envs.geister import Geister, rules
from envs.geister.rules import ghost_count, layouts
from envs.players import choose_uniform
from tests.envs.geister_positions import position


def played(game: Game, batch: int, plies: int, rng: np.random.Generator) -> States:
    """The running ones of some games after random moves."""
    states = game.reset(batch, rng)
    for _ in range(plies):
        states = states[~game.finished(states)]
        game.step(states, choose_uniform(game.legal(states), rng.random(len(states))), rng)
    return states[~game.finished(states)]


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("size", [4, 6])
@pytest.mark.parametrize("plies", [0, 9, 40])
def test_geister_tells_nothing_but_the_secrets(size: int, history: bool, plies: int) -> None:
    """A player's ghosts are recoloured at random, as the opponent thinks possible."""
    game, rng = Geister(size=size, history=history, ply_limit=100), np.random.default_rng(plies)
    states = played(game, 400, plies, rng)
    assert len(states) > 5
    assert isinstance(game, Readable)
    for player in (0, 1):
        players = np.full(len(states), player, np.int8)
        possible = game.possible(states, 1 - players)
        odds, clues = game.odds(states, players), game.clues(states, players)
        bits = (layouts(size)[:, None] >> np.arange(ghost_count(size))) & 1
        red = possible @ bits / possible.sum(axis=1, keepdims=True)
        here = states["square"][:, player, : ghost_count(size)] >= 0
        np.testing.assert_allclose(odds[..., 1][here], red[here], atol=1e-6)
        np.testing.assert_allclose(odds.sum(axis=2)[here], 1, atol=1e-6)
        recoloured = states.copy()
        game.arrange(recoloured, 1 - players, (rng.random(possible.shape) * possible).argmax(axis=1))
        np.testing.assert_array_equal(game.clues(recoloured, players), clues)
        np.testing.assert_array_equal(game.odds(recoloured, players), odds)
        secrets = game.secrets(recoloured, players)
        assert ((secrets >= 0) == here).all()
        shown = (recoloured["red"][:, player, None] >> np.arange(ghost_count(size))) & 1
        np.testing.assert_array_equal(secrets[here], shown[here])
        assert np.isfinite(clues).all()


def test_odds_after_an_escape_are_those_of_the_ghosts_that_are_left() -> None:
    """A blue ghost has left; one red ghost is left among two, and then among three."""
    game, players = Geister(), np.zeros(1, np.int8)
    for own, red in (({"A": 0, "Br": 20, "C": 21}, 1 / 2), ({"A": 5, "B": 20, "C": 21, "Dr": 22}, 1 / 3)):
        states = position(game, own, {"Ar": 20, "B": 21})
        game.step(states, np.array([rules.NORTH]))
        assert game.endings(states).tolist() == [rules.BY_ESCAPE]
        here = game.secrets(states, players)[0] >= 0
        np.testing.assert_allclose(game.odds(states, players)[0][here], [[1 - red, red]] * int(here.sum()), atol=1e-6)
        assert here.sum() == len(own) - 1


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_cards_are_no_part_of_the_clues_and_have_the_odds_of_the_deal(name: str) -> None:
    game, rng = make_game(name), np.random.default_rng(1)
    assert isinstance(game, Game)
    assert isinstance(game, Readable)
    states = np.concatenate([played(game, 6000, plies, rng) for plies in (0, 1, 2)])
    for player in (0, 1):
        players = np.full(len(states), player, np.int8)
        value, odds = game.secrets(states, players)[:, 0], game.odds(states, players)[:, 0]
        found = np.bincount(value, minlength=len(game.secret_values)) / len(states)  # moves at random tell nothing
        np.testing.assert_allclose(odds.mean(axis=0), found, atol=4 * 0.5 / len(states) ** 0.5)
        other = states.copy()
        other["cards"] = other["cards"][:, ::-1]
        np.testing.assert_array_equal(game.clues(other, players), game.clues(states, players))
        assert (game.secrets(other, players) != game.secrets(states, players)).any()
