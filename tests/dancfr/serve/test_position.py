"""Games as numbered choices: the seed and the actions determine everything."""

import json
from typing import Any

import numpy as np
import pytest

from dancfr.games.registry import make_game
from dancfr.serve.position import Position, plain_action, read_action
from envs.game import IllegalAction

GAMES = ("kuhn", "leduc", "goofspiel", "mini-cheat", "mini-geister", "guandan")


def played(name: str, seed: int) -> tuple[Position, list[Any]]:
    """A random game and its actions."""
    position, rng, actions = Position(make_game(name), seed), np.random.default_rng(seed), []
    while not position.over and position.ply < 300:
        actions.append(position.actions[rng.integers(len(position.actions))])
        position.play(actions[-1])
    return position, actions


@pytest.mark.parametrize("name", GAMES)
def test_actions_as_json_replay_a_game(name: str) -> None:
    """Chance is drawn by seed and ply, so that a replay needs neither a generator nor the cards."""
    for seed in range(5):
        first, actions = played(name, seed)
        text = json.dumps([plain_action(action) for action in actions])
        again = Position(make_game(name), seed)
        for plain in json.loads(text):
            again.play(read_action(plain, again.game))
        assert np.array_equal(again.states, first.states)
        assert (again.returns, again.ending) == (first.returns, first.ending)


def test_a_move_leaves_earlier_states_as_they_were() -> None:
    position = Position(make_game("leduc"), 3)
    before = position.states
    kept = before.copy()
    position.play(1)
    assert np.array_equal(before, kept)
    assert not np.array_equal(position.states, kept)


def test_other_seeds_deal_other_cards() -> None:
    game = make_game("leduc")
    deals = {Position(game, seed).states["cards"].tobytes() for seed in range(400)}
    assert len(deals) == 30  # 6 * 5 hands


def test_an_illegal_action_changes_nothing() -> None:
    position = Position(make_game("leduc"), 3)
    kept = position.states.copy()
    with pytest.raises(IllegalAction):
        position.play(0)  # there is no bet that one could fold to
    assert np.array_equal(position.states, kept)
    assert position.ply == 0


@pytest.mark.parametrize("wrong", [None, "1", 1.0, True, -1, 3, [1], {"kind": 1}])
def test_what_is_no_action_of_numbered_games(wrong: Any) -> None:
    with pytest.raises(ValueError, match="an action from 0 to 2 was expected"):
        read_action(wrong, make_game("leduc"))


def test_what_is_no_action_of_guandan() -> None:
    game = make_game("guandan")
    right = plain_action(Position(game, 1).actions[0])
    assert isinstance(right, dict)
    for wrong in (0, None, {}, {**right, "more": 1}, {**right, "kind": "1"}, dict(list(right.items())[1:])):
        with pytest.raises(ValueError, match="was expected"):
            read_action(wrong, game)
    with pytest.raises(ValueError, match="out of range"):
        read_action({**right, "kind": 10**30}, game)
