"""What holds of the PettingZoo environments of all games; tests of single games are in their own files."""

import pickle
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, render_test, seed_test

from envs import geister, goofspiel, guandan, kuhn, leduc, oshi_zumo
from envs.game import GameOver, IllegalAction

SMALL = (kuhn, leduc, goofspiel, oshi_zumo)
MODULES = (*SMALL, geister, guandan)
NUMBERED: list[tuple[ModuleType, dict[str, Any]]] = [
    *((module, {}) for module in SMALL),
    (kuhn, {"cards": 5}),
    (leduc, {"sizes": "2,4/4,8", "raises": 3, "deal": "ranks", "name": "leduc_2b2r"}),
    (goofspiel, {"cards": 4, "prizes": "random"}),
    (oshi_zumo, {"coins": 9, "size": 3, "min_bid": 2}),
    (geister, {}),
    (geister, {"size": 4, "ply_limit": 30}),
    (geister, {"random_setup": False, "ply_limit": 60}),
    (geister, {"size": 4, "random_setup": False, "forced_escape": False}),
    (geister, {"ply_limit": 300, "clip_ply": False}),
    (geister, {"history": True}),
    (geister, {"size": 4, "ply_limit": 30, "history": True}),
]
RAGGED: list[tuple[ModuleType, dict[str, Any]]] = [
    (guandan, {}),
    (guandan, {"length": "match"}),
    (guandan, {"situation": "first", "encoding": "no_wild_flags"}),
    (guandan, {"length": "match", "double_tribute": "by_seat", "a_attempts": 0}),
]
CYCLES = {geister: 350, guandan: 1000}
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
    assert made.possible_agents == [f"player_{p}" for p in range(spec.num_players)]
    for agent in made.possible_agents:
        space = made.observation_space(agent)
        assert space is made.observation_space(agent)
        assert made.action_space(agent) is made.action_space(agent)
        assert made.action_space(agent).n == spec.num_actions
        assert space["observation"].shape == spec.shapes[made.unwrapped.encoding]
        if module in SMALL:
            assert (space["observation"].low.min(), space["observation"].high.max()) == (0, 1)


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
        states, total = game.reset(1, rng), np.zeros(2)
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
            assert not made.observe(made.possible_agents[1 - player])["action_mask"].any()
            action = int(choose.choice(np.flatnonzero(observation["action_mask"])))
            made.step(action)
            game.step(states, np.array([action]), rng)
        assert game.finished(states)[0]
        assert total.tolist() == game.returns(states)[0].tolist()


@pytest.mark.parametrize("module", [*SMALL, geister], ids=label)
@pytest.mark.parametrize("action", ["masked", -1, 99, None, "north", 0.0, True, False])
def test_raw_env_refuses_illegal_actions(module: ModuleType, action: Any) -> None:
    made = module.raw_env()
    made.reset(seed=0)
    before = made.states.copy()
    masked = np.flatnonzero(made.infos["player_0"]["action_mask"] == 0)
    if action == "masked" and len(masked):
        action = int(masked[0])
    with pytest.raises(IllegalAction, match=r"^\w+_v0: [^\n]+ is not legal for player_0; legal actions [^\n]+\]$"):
        made.step(action)
    assert np.array_equal(made.states, before)
    assert made.agent_selection == "player_0"
    made.step(int(made.infos["player_0"]["action_mask"].argmax()))
    assert not np.array_equal(made.states, before)


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


@EACH
@pytest.mark.parametrize(
    "options", [{"render_mode": "svg"}, {"view": 4}, {"view": True}, {"view": "0"}, {"view": [1]}, {"view": 1.0}]
)
def test_impossible_options(module: ModuleType, options: dict[str, Any]) -> None:
    for make in (module.env, module.raw_env):
        with pytest.raises(ValueError, match=rf"^{next(iter(options))} must be [^\n]+$"):
            make(**options)
        with pytest.raises(TypeError, match=r"^[^\n]+'colour'$"):
            make(colour="red")


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
