"""Properties of the PettingZoo environments of all games; tests of single games are in their own files."""

import pickle
import re
from copy import deepcopy
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, render_test, seed_test

from envs import cheat, dark_hex, geister, goofspiel, guandan, kuhn, leduc, liars_dice, oshi_zumo, phantom_ttt
from envs.game import GameOver, IllegalAction

SMALL = (kuhn, leduc, goofspiel, oshi_zumo, liars_dice, phantom_ttt, dark_hex)
MODULES = (*SMALL, cheat, geister, guandan)
MINI: dict[str, Any] = {"ranks": 3, "copies": 2, "dealt": 2, "max_discard": 2}
NUMBERED: list[tuple[ModuleType, dict[str, Any]]] = [
    *((module, {}) for module in SMALL),
    (kuhn, {"cards": 5}),
    (leduc, {"sizes": "2,4/4,8", "raises": 3, "deal": "ranks", "name": "leduc_2b2r"}),
    (leduc, {"ranks": 4, "suits": 3, "ante": 2}),
    (goofspiel, {"cards": 4, "prizes": "random"}),
    (oshi_zumo, {"coins": 9, "size": 3, "min_bid": 2}),
    (liars_dice, {"dice": 3, "faces": 4}),
    (phantom_ttt, {"abrupt": True}),
    (dark_hex, {"rows": 2, "columns": 4}),
    (dark_hex, {"rows": 4, "columns": 4, "abrupt": True}),
    (cheat, {}),
    (cheat, {"players": 4}),
    (cheat, {"players": 4, "ranks": 4, "copies": 3, "discards": "sets", "max_discard": 3, "observation_health": 1}),
    (cheat, {"discards": "sets", **MINI}),
    (cheat, {"health": 0, "ply_limit": 25, **MINI}),
    (cheat, {"players": 6, "health": 1, "challenge_last": True}),
    (geister, {}),
    (geister, {"size": 4, "ply_limit": 30}),
    (geister, {"random_setup": False, "ply_limit": 60}),
    (geister, {"size": 4, "random_setup": False, "forced_escape": False}),
    (geister, {"ply_limit": 300, "clip_ply": False}),
    (geister, {"observation_limit": 50}),
    (geister, {"history": True}),
    (geister, {"size": 4, "ply_limit": 30, "history": True}),
]
RAGGED: list[tuple[ModuleType, dict[str, Any]]] = [
    (guandan, {}),
    (guandan, {"length": "match"}),
    (guandan, {"situation": "first", "encoding": "no_wild_flags"}),
    (guandan, {"length": "match", "double_tribute": "by_seat", "a_attempts": 0}),
]
CYCLES = {cheat: 100, geister: 350, guandan: 1000}
"""Steps of PettingZoo's test, enough for whole games; 40 for the small games."""


def label(value: Any) -> str | None:
    """The name of a module, or the options in brief."""
    if isinstance(value, ModuleType):
        return value.__name__.removeprefix("envs.")
    return ",".join(f"{k}={v}" for k, v in value.items()) or "defaults" if isinstance(value, dict) else None


EACH = pytest.mark.parametrize("module", MODULES, ids=label)
EVERY = pytest.mark.parametrize(("module", "options"), [*NUMBERED, *RAGGED], ids=label)
# PettingZoo's test asks for plain boxes of every environment that it does not know by name.
pytestmark = pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each")


def end(made: Any) -> None:
    """Plays the first legal action until the game has ended."""
    while not all(made.terminations.values()):
        made.step(int(made.infos[made.agent_selection]["action_mask"].argmax()))


@EACH
def test_every_option_is_varied_here(module: ModuleType) -> None:
    varied = {key for each, options in [*NUMBERED, *RAGGED] if each is module for key in options}
    assert {key for record in module.GAMES for key in record.options} <= varied


@EVERY
@pytest.mark.parametrize("kind", ["env", "raw_env"])
@pytest.mark.filterwarnings("error")
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each")
def test_api(module: ModuleType, options: dict[str, Any], kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    make = getattr(module, kind)
    api_test(make(**options), num_cycles=CYCLES.get(module, 40))
    seed_test(partial(make, **options), num_cycles=60 if module in CYCLES else 20)
    assert "Passed API test" in capsys.readouterr().out


@EVERY
def test_render(module: ModuleType, options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    render_test(partial(module.env, **options))
    assert len(capsys.readouterr().out.splitlines()) > 1


@EVERY
def test_human_mode_prints_the_text_of_every_state(
    module: ModuleType, options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    text, human = (module.raw_env(render_mode=mode, **options) for mode in ("ansi", "human"))
    for made in (text, human):
        made.reset(seed=1)
    assert capsys.readouterr().out == text.render() + "\n"
    for made in (text, human):
        made.step(int(made.infos[made.agent_selection]["action_mask"].argmax()))
    assert capsys.readouterr().out == text.render() + "\n"


@EVERY
def test_spaces(module: ModuleType, options: dict[str, Any]) -> None:
    made = module.env(**options)
    spec = made.unwrapped.game.spec
    assert made.metadata["is_parallelizable"] is False
    assert made.metadata["render_modes"] == ["human", "ansi", "rgb_array"]
    assert made.metadata["render_fps"] > 0
    assert made.possible_agents == [f"player_{p}" for p in range(spec.num_players)]
    for agent in made.possible_agents:
        space = made.observation_space(agent)
        assert space is made.observation_space(agent)
        assert made.action_space(agent) is made.action_space(agent)
        assert made.action_space(agent).n == spec.num_actions
        assert space["observation"].shape == spec.shapes[made.unwrapped.encoding]
        if module in (*SMALL, cheat):
            assert (space["observation"].low.min(), space["observation"].high.max()) == (0, 1)


@EACH
def test_options_of_a_game_are_not_those_of_its_environment(module: ModuleType) -> None:
    for record in module.GAMES:
        for option, value in record.options.items():
            with pytest.raises(ValueError, match=rf"^{record.name}: {option} is an option of the game: pass it when"):
                record.make().env(**{option: value})


@EACH
def test_name(module: ModuleType) -> None:
    name = module.__name__.rpartition(".")[2]
    assert str(module.env()) == f"{name}_v0"
    assert module.env().unwrapped.game.spec.name == name


@pytest.mark.parametrize(("module", "options"), NUMBERED, ids=label)
def test_shows_what_the_rules_say(module: ModuleType, options: dict[str, Any]) -> None:
    """Played beside the rules with the same chance: masks, observations, rewards."""
    for seed in range(5):
        made = module.raw_env(**options)
        made.reset(seed=seed)
        game, rng, choose = made.game, np.random.default_rng(seed), np.random.default_rng(seed + 100)
        states, total = game.reset(1, rng), np.zeros(game.spec.num_players)
        for agent in made.agent_iter():
            observation, reward, over, truncated, info = made.last()
            player = made.possible_agents.index(agent)
            total[player] += reward
            assert made.observation_space(agent).contains(observation)
            assert np.array_equal(made.states, states)
            vector = game.encode(game.observe(states, np.array([player], np.int8)), made.encoding)[0]
            assert observation["observation"].dtype == np.float32
            assert np.array_equal(vector, observation["observation"])
            assert not truncated
            if over:
                assert info["ending"] == game.spec.endings[game.endings(states)[0]]
                assert info["ending"] in game.spec.endings[1:]
                made.step(None)
                continue
            assert game.to_move(states)[0] == player
            assert np.array_equal(game.legal(states)[0], observation["action_mask"])
            assert np.array_equal(info["action_mask"], observation["action_mask"])
            assert not any(made.observe(a)["action_mask"].any() for a in made.possible_agents if a != agent)
            action = int(choose.choice(np.flatnonzero(observation["action_mask"])))
            made.step(action)
            game.step(states, np.array([action]), rng)
        assert game.finished(states)[0]
        assert total == pytest.approx(game.returns(states)[0])
        assert total.sum() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("module", [*SMALL, cheat, geister], ids=label)
@pytest.mark.parametrize("action", ["masked", -1, 99, None, "north", 0.0, True, False])
def test_raw_env_refuses_illegal_actions(module: ModuleType, action: Any) -> None:
    made = module.raw_env()
    made.reset(seed=0)
    before, agent = made.states.copy(), made.agent_selection
    masked = np.flatnonzero(made.infos[agent]["action_mask"] == 0)
    if action == "masked" and len(masked):
        action = int(masked[0])
    with pytest.raises(IllegalAction, match=rf"^\w+_v0: [^\n]+ is not legal for {agent}; legal actions [^\n]+\]$"):
        made.step(action)
    assert np.array_equal(made.states, before)
    assert made.agent_selection == agent
    made.step(int(made.infos[agent]["action_mask"].argmax()))
    assert not np.array_equal(made.states, before)


@pytest.mark.parametrize("module", [module for module in MODULES if module is not kuhn], ids=label)
def test_wrapped_env_ends_after_an_illegal_action(module: ModuleType) -> None:
    made = module.env()
    made.reset(seed=0)
    while made.infos[made.agent_selection]["action_mask"].all():
        made.step(0)
    agent = made.agent_selection
    made.step(int(made.infos[agent]["action_mask"].argmin()))
    assert all(made.terminations.values())
    lost = -3.0 if module is guandan else -1.0
    assert made.rewards == {each: lost if each == agent else 0 for each in made.possible_agents}


@EACH
@pytest.mark.parametrize("action", [True, False, np.True_])
def test_a_truth_value_is_no_action(module: ModuleType, action: Any) -> None:
    made = module.env()
    made.reset(seed=0)
    with pytest.raises(IllegalAction, match=rf"^\w+_v0: [^\n]*integer[^\n]* {action}$"):
        made.step(action)
    assert not any(made.terminations.values())
    made.step(int(made.infos[made.agent_selection]["action_mask"].argmax()))


@EACH
@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_nothing_is_to_be_had_before_the_first_reset(module: ModuleType, render_mode: str | None) -> None:
    made = module.raw_env(render_mode=render_mode)
    calls = (made.last, made.agent_iter, made.render, lambda: made.observe("player_0"), lambda: made.step(0))
    for call in (*calls, lambda: made.last(observe=False)):
        with pytest.raises(GameOver, match=r"^\w+_v0: [^\n]+ call reset\(\) first$"):
            call()
    made.reset(seed=0)
    assert made.last()[1:4] == (0.0, False, False)


@EACH
def test_nothing_happens_after_the_end(module: ModuleType) -> None:
    made = module.raw_env()
    made.reset(seed=0)
    end(made)
    assert not any(made.observe(agent)["action_mask"].any() for agent in made.agents)
    with pytest.raises(ValueError, match="only valid action is None"):
        made.step(0)
    for _ in made.possible_agents:
        made.step(None)
    calls = (made.last, lambda: made.observe("player_0"), lambda: made.step(None), lambda: made.last(observe=False))
    for call in calls:
        with pytest.raises(GameOver, match=r"^\w+_v0: [^\n]+ call reset\(\) first$"):
            call()


OPTIONS = ({"render_mode": "svg"}, *({"view": view} for view in (4, -1, True, "0", [1], 1.0)))


@EACH
@pytest.mark.parametrize("options", OPTIONS)
def test_impossible_options(module: ModuleType, options: dict[str, Any]) -> None:
    for make in (module.env, module.raw_env):
        with pytest.raises(ValueError, match=rf"^{next(iter(options))} must be [^\n]+$"):
            make(**options)
        with pytest.raises(TypeError, match=r"^[^\n]+'colour'$"):
            make(colour="red")


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        (cheat, {"players": 7}, "players"),
        (cheat, {"health": 0}, "health"),
        (cheat, {"view": 2}, "view"),
        (geister, {"size": 5}, ""),
        (geister, {"ply_limit": 0}, ""),
        (geister, {"observation_limit": 0}, ""),
        (geister, {"view": 2}, "view"),
        (guandan, {"length": "game"}, "length must be round or match, got 'game'"),
        (guandan, {"situation": "last"}, "situation must be first or drawn, got 'last'"),
        (guandan, {"double_tribute": "none"}, "double_tribute must be by_card or by_seat, got 'none'"),
        (guandan, {"a_attempts": -1}, "a_attempts must be from 0 to 255, got -1"),
        (guandan, {"encoding": "planes"}, "encoding must be one of ['flat', 'no_wild_flags', 'tribute', "),
        (guandan, {"encoding": ["flat"]}, "encoding must be one of ['flat', 'no_wild_flags', 'tribute', "),
        (guandan, {"view": 4}, "view must be None or a seat from 0 to 3, got 4"),
    ],
    ids=label,
)
def test_impossible_options_of_a_game(module: ModuleType, options: dict[str, Any], message: str) -> None:
    for make in (module.env, module.raw_env):
        with pytest.raises(ValueError, match=rf"^{re.escape(message)}[^\n]*$"):
            make(**options)


@EVERY
def test_travels_to_other_processes(module: ModuleType, options: dict[str, Any]) -> None:
    made = module.raw_env(render_mode="ansi", view=1, **options)
    other = pickle.loads(pickle.dumps(made))
    assert other.game == made.game
    assert (other.encoding, other.view, other.render_mode, str(other)) == (made.encoding, 1, "ansi", str(made))
    for one in (made, other):
        one.reset(seed=7)
    assert np.array_equal(made.states, other.states)
    assert made.render() == other.render()


@EVERY
def test_copies_keep_the_game_and_its_random_draws(module: ModuleType, options: dict[str, Any]) -> None:
    made = module.env(**options)
    made.reset(seed=3)
    made.step(int(made.last()[4]["action_mask"].argmax()))
    copied, sent = deepcopy(made), pickle.loads(pickle.dumps(made))
    was = made.unwrapped.states.copy()
    for one in (copied, sent):
        for agent in one.agent_iter(40):
            _, _, over, cut, info = one.last()
            one.step(None if over or cut else int(info["action_mask"].argmax()))
            assert agent in one.possible_agents
    assert np.array_equal(made.unwrapped.states, was)  # a copy is a game of its own
    assert np.array_equal(copied.unwrapped.states, sent.unwrapped.states)
    assert copied.unwrapped.np_random.bit_generator.state == sent.unwrapped.np_random.bit_generator.state
    assert not np.array_equal(copied.unwrapped.states, was)
