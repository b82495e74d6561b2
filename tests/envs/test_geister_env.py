"""Geister as a PettingZoo environment."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, render_test, seed_test

from envs.game import GameOver, IllegalAction
from envs.geister import Geister, env, raw_env, render
from tests.envs.geister_positions import position, random_positions

OPTIONS: list[dict[str, Any]] = [
    {},
    {"size": 4, "ply_limit": 30},
    {"random_setup": False, "ply_limit": 60},
    {"size": 4, "random_setup": False, "forced_escape": False},
    {"ply_limit": 300, "clip_ply": False},
]
# PettingZoo's test asks for plain boxes of every environment that it does not know by name.
pytestmark = pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("make", [env, raw_env])
@pytest.mark.filterwarnings("error")
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each")
def test_api(make: Any, options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    api_test(make(**options), num_cycles=350)
    seed_test(partial(make, **options), num_cycles=60)
    assert "Passed API test" in capsys.readouterr().out


@pytest.mark.parametrize("options", OPTIONS[:3])
def test_render(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    render_test(partial(env, **options))
    assert "player_0" in capsys.readouterr().out


def test_metadata_and_spaces() -> None:
    made = env(size=4)
    assert str(made) == "geister_v0"
    assert made.metadata["is_parallelizable"] is False
    assert made.possible_agents == ["player_0", "player_1"]
    for agent in made.possible_agents:
        assert made.observation_space(agent) is made.observation_space(agent)
        assert made.observation_space(agent)["observation"].shape == (6, 4, 4)
        assert made.action_space(agent).n == 8


def play_at_random(made: raw_env, seed: int) -> list[tuple[str, Any, int]]:
    """Mover, observation and action of every decision of one game."""
    rng = np.random.default_rng(seed)
    made.reset(seed=seed)
    history = []
    for agent in made.agent_iter():
        observation, _, terminated, truncated, info = made.last()
        action = None
        if not (terminated or truncated):
            assert made.observation_space(agent).contains(observation)
            assert np.array_equal(info["action_mask"], observation["action_mask"])
            action = int(rng.choice(np.flatnonzero(observation["action_mask"])))
            history.append((agent, observation, action))
        made.step(action)
    return history


@pytest.mark.parametrize("options", OPTIONS)
def test_shows_what_the_rules_say(options: dict[str, Any]) -> None:
    made = raw_env(**options)
    history = play_at_random(made, seed=5)
    game = made.game
    states = game.reset(1, np.random.default_rng(5))
    for agent, observation, action in history:
        player = np.array([int(agent[-1])], np.int8)
        assert game.to_move(states)[0] == player[0]
        assert np.array_equal(game.legal(states)[0], observation["action_mask"])
        planes = game.encode(game.observe(states, player), "planes")[0]
        assert observation["observation"].dtype == np.float32
        assert np.array_equal(planes, observation["observation"])
        game.step(states, np.array([action]))
    assert game.finished(states)[0]
    assert np.array_equal(states, made.states)


def test_rewards_are_the_returns() -> None:
    made = raw_env(size=4)
    made.reset(seed=3)
    total = dict.fromkeys(made.possible_agents, 0.0)
    rng = np.random.default_rng(3)
    for agent in made.agent_iter():
        observation, reward, terminated, _, info = made.last()
        total[agent] += reward
        if terminated:
            assert info["ending"] in made.game.spec.endings[1:]
        made.step(None if terminated else int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    assert list(total.values()) == made.game.returns(made.states)[0].tolist()


def test_only_the_mover_has_actions() -> None:
    made = raw_env()
    made.reset(seed=0)
    assert made.observe("player_0")["action_mask"].sum() == 8
    assert made.observe("player_1")["action_mask"].sum() == 0


@pytest.mark.parametrize("action", [1, 32, -1, None, "north", 0.0, True, False])
def test_raw_env_refuses_illegal_actions(action: Any) -> None:
    made = raw_env()
    made.reset(seed=0)
    before = made.states.copy()
    with pytest.raises(IllegalAction, match=r"^geister_v0: [^\n]+ is not legal for player_0, but one of \[0, [^\n]+$"):
        made.step(action)
    assert np.array_equal(made.states, before)
    assert made.agent_selection == "player_0"
    made.step(0)


def test_wrapped_env_ends_after_an_illegal_action() -> None:
    made = env()
    made.reset(seed=0)
    made.step(1)
    assert all(made.terminations.values())
    assert made.rewards == {"player_0": -1.0, "player_1": 0}


@pytest.mark.parametrize("action", [True, np.True_])
def test_a_truth_value_is_no_action(action: Any) -> None:
    made = env()
    made.reset(seed=0)
    with pytest.raises(IllegalAction, match=r"^geister_v0: True is no action: actions are integers$"):
        made.step(action)
    made.step(0)


@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_nothing_is_to_be_had_before_the_first_reset(render_mode: str | None) -> None:
    made = raw_env(render_mode=render_mode)
    calls = (made.last, made.agent_iter, made.render, lambda: made.observe("player_0"), lambda: made.step(0))
    for call in (*calls, lambda: made.last(observe=False)):
        with pytest.raises(GameOver, match=r"^geister_v0: no game has begun; call reset\(\) first$"):
            call()
    made.reset(seed=0)
    assert made.last()[1:4] == (0.0, False, False)


def test_nothing_happens_after_the_end() -> None:
    made = raw_env(ply_limit=1)
    for call in (lambda: made.step(0), lambda: made.observe("player_0")):
        with pytest.raises(GameOver, match=r"^geister_v0: [^\n]+ call reset\(\) first$"):
            call()
    made.reset(seed=0)
    made.step(0)
    with pytest.raises(ValueError, match="only valid action is None"):
        made.step(0)
    made.step(None)
    made.step(None)
    for call in (lambda: made.step(None), lambda: made.observe("player_0"), lambda: made.last(observe=False)):
        with pytest.raises(GameOver, match=r"^geister_v0: [^\n]+ call reset\(\) first$"):
            call()


@pytest.mark.parametrize(
    "options",
    [
        {"size": 5},
        {"ply_limit": 0},
        {"render_mode": "svg"},
        {"view": 2},
        {"view": True},
        {"view": [1]},
        {"observation_limit": 0},
    ],
)
def test_impossible_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        raw_env(**options)


def test_travels_to_other_processes() -> None:
    options = {"size": 4, "ply_limit": 17, "random_setup": False, "view": 1, "render_mode": "ansi"}
    other = pickle.loads(pickle.dumps(raw_env(**options)))
    assert other.game == Geister(4, 17, random_setup=False)
    assert (other.view, other.render_mode) == (1, "ansi")


def test_text_shows_every_ghost() -> None:
    game = Geister()
    state = position(game, {"A": 0, "Br": 20}, {"Ar": 21, "B": 3}, plies=7)[0]
    lines = render.ansi(state, 6, 100).splitlines()
    assert lines[0] == "ply 7 of 100, player_0 moves"
    assert lines[2].split() == ["0", "Ab", ".", ".", ".", ".", "^^"]
    assert lines[4].split() == ["2", ".", ".", "ar", ".", ".", "."]
    assert lines[5].split() == ["3", ".", ".", "Br", ".", ".", "."]
    assert lines[7].split() == ["5", "vv", ".", "bb", ".", ".", "vv"]
    assert lines[8].split()[-6:] == ["cr", "dr", "er", "fb", "gb", "hb"]
    seen = render.ansi(state, 6, 100, view=1).splitlines()
    assert seen[2].split() == ["0", "^^", ".", ".", "Bb", ".", "^^"][:1] + seen[2].split()[1:]
    assert seen[7].split() == ["5", "vv", ".", ".", ".", ".", "a?"]


@pytest.mark.parametrize("size", [6, 4])
def test_pictures_hide_what_the_viewer_may_not_know(size: int) -> None:
    game = Geister(size)
    for state in random_positions(game, 10, 12 if size == 6 else 3, seed=0):
        shown = render.rgb_array(state, size, 100)
        assert shown.dtype == np.uint8
        assert shown.shape == ((size + 1) * render.CELL + 4, size * render.CELL, 3)
        for view in (0, 1):
            other = state.copy()
            enemy = 1 - view
            on_board = np.flatnonzero(state["square"][enemy] >= 0)
            other["red"][enemy] ^= sum(1 << int(ghost) for ghost in on_board)
            hidden = state["ending"] == 0
            for draw in (render.ansi, render.rgb_array):
                same = np.array_equal(draw(state, size, 100, view), draw(other, size, 100, view))
                assert same == hidden
                assert not np.array_equal(draw(state, size, 100), draw(other, size, 100))
