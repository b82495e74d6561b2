"""Kuhn poker, Leduc hold'em, goofspiel and oshi-zumo as PettingZoo environments."""

import pickle
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, render_test, seed_test

from envs import goofspiel, kuhn, leduc, oshi_zumo
from envs.extensive import OVER, FactoredGame
from envs.factored_env import FactoredEnv
from envs.game import GameOver, IllegalAction
from tests.envs.small_trees import states_of, tree_of
from tests.envs.stated_games import SMALL

MODULES = (kuhn, leduc, goofspiel, oshi_zumo)
OPTIONS: list[tuple[ModuleType, dict[str, Any]]] = [
    *((module, {}) for module in MODULES),
    (kuhn, {"cards": 5}),
    (leduc, {"sizes": "2,4/4,8", "raises": 3, "deal": "ranks", "name": "leduc_2b2r"}),
    (goofspiel, {"cards": 4, "prizes": "random"}),
    (oshi_zumo, {"coins": 9, "size": 3, "min_bid": 2}),
]
EACH = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
EVERY = pytest.mark.parametrize(("module", "options"), OPTIONS)
# PettingZoo's test asks for plain boxes of every environment that it does not know by name.
pytestmark = pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each")


@EVERY
@pytest.mark.parametrize("kind", ["env", "raw_env"])
@pytest.mark.filterwarnings("error")
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each")
def test_api(module: ModuleType, options: dict[str, Any], kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    make = getattr(module, kind)
    api_test(make(**options), num_cycles=40)
    seed_test(partial(make, **options), num_cycles=20)
    assert "Passed API test" in capsys.readouterr().out


@EVERY
def test_render(module: ModuleType, options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    render_test(partial(module.env, **options))
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) > 1
    made = module.raw_env(render_mode="ansi", view=0, **options)
    made.reset(seed=1)
    assert made.render() == made.game.describe(made.states[0], 0)
    shown = module.raw_env(render_mode="human", **options)
    shown.reset(seed=1)
    assert capsys.readouterr().out == shown.game.describe(shown.states[0]) + "\n"
    shown.step(int(shown.infos[shown.agent_selection]["action_mask"].argmax()))
    assert capsys.readouterr().out == shown.game.describe(shown.states[0]) + "\n"


@EACH
def test_metadata_and_spaces(module: ModuleType) -> None:
    made = module.env()
    name = module.__name__.rpartition(".")[2]
    assert str(made) == f"{name}_v0"
    assert made.metadata["is_parallelizable"] is False
    assert made.possible_agents == ["player_0", "player_1"]
    spec = made.unwrapped.game.spec
    assert spec.name == name
    for agent in made.possible_agents:
        space = made.observation_space(agent)
        assert space is made.observation_space(agent)
        assert space["observation"].shape == spec.shapes["flat"]
        assert (space["observation"].low.min(), space["observation"].high.max()) == (0, 1)
        assert made.action_space(agent).n == spec.num_actions


@EVERY
def test_shows_what_the_rules_say(module: ModuleType, options: dict[str, Any]) -> None:
    """Played beside the rules with the same chance: masks, observations, rewards."""
    for seed in range(5):
        made: FactoredEnv = module.raw_env(**options)
        made.reset(seed=seed)
        game, rng, choose = made.game, np.random.default_rng(seed), np.random.default_rng(seed + 100)
        states, total = game.reset(1, rng), np.zeros(2)
        for agent in made.agent_iter():
            observation, reward, over, _, info = made.last()
            player = made.possible_agents.index(agent)
            total[player] += reward
            assert made.observation_space(agent).contains(observation)
            assert np.array_equal(made.states, states)
            flat = game.encode(game.observe(states, np.array([player], np.int8)))[0]
            assert np.array_equal(flat, observation["observation"])
            if over:
                assert info["ending"] == "over"
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


@pytest.mark.parametrize("game", SMALL.values(), ids=SMALL.keys())
def test_views_hide_what_the_player_has_not_seen(game: FactoredGame) -> None:
    """While a game runs the text is the same wherever the player's history is; a spectator sees everything."""
    tree = tree_of(game)
    states = states_of(game, tree)
    for view in (0, 1):
        seen: dict[int, str] = {}
        for node in np.flatnonzero(tree.mover != OVER):
            text = game.describe(states[node], view)
            assert seen.setdefault(int(tree.history[node, view]), text) == text
    decisions = np.flatnonzero(tree.mover >= 0)
    assert len({game.describe(states[node]) for node in decisions}) == len(decisions)


@pytest.mark.parametrize(
    ("module", "actions", "texts"),
    [
        (kuhn, (0, 1, 1), ("cards 2 1: pass bet bet", "cards 2 ?: pass bet bet", "cards ? 1: pass bet bet")),
        (
            leduc,
            (1, 1, 2, 1),
            (
                "cards Ka Qb, pot 10: call call, board Ja: raise call",
                "cards Ka ?, pot 10: call call, board Ja: raise call",
                "cards ? Qb, pot 10: call call, board Ja: raise call",
            ),
        ),
        (
            goofspiel,
            (4, 0, 2),
            ("5: 5-1 first; 4: 3-? open", "5: 5-? first; 4: 3-? open", "5: ?-1 first; 4: ?-? open"),
        ),
        (
            oshi_zumo,
            (1, 3, 2),
            (
                "|W..| coins 7 5: 1-3 second; 2-? open",
                "|W..| coins 7 ?: 1-? second; 2-? open",
                "|W..| coins ? 5: ?-3 second; ?-? open",
            ),
        ),
    ],
    ids=lambda value: value.__name__ if isinstance(value, ModuleType) else "",
)
def test_texts(module: ModuleType, actions: tuple[int, ...], texts: tuple[str, ...]) -> None:
    for view, text in zip((None, 0, 1), texts, strict=True):
        made = module.raw_env(render_mode="ansi", view=view)
        made.reset(seed=0)
        if module in (kuhn, leduc):
            made.states["cards"] = (2, 1) if module is kuhn else (4, 3)
        for action in actions:
            made.step(action)
            if module is leduc and made.states["board"][0] != 255:
                made.states["board"] = 0
        assert made.render() == text


@EACH
@pytest.mark.parametrize("action", [-1, 99, None, "bet", 0.0, True])
def test_raw_env_refuses_illegal_actions(module: ModuleType, action: Any) -> None:
    made = module.raw_env()
    made.reset(seed=0)
    before = made.states.copy()
    with pytest.raises(IllegalAction, match=r"^\w+_v0: [^\n]+ is not legal for player_0, but one of \[[^\n]+\] is$"):
        made.step(action)
    assert np.array_equal(made.states, before)
    made.step(int(made.infos["player_0"]["action_mask"].argmax()))
    assert not np.array_equal(made.states, before)


def test_wrapped_env_ends_after_an_illegal_action() -> None:
    for module, action in ((leduc, 0), (oshi_zumo, 0)):  # nothing to fold to; a bid below the least
        made = module.env()
        made.reset(seed=0)
        made.step(action)
        assert all(made.terminations.values())
        assert made.rewards == {"player_0": -1.0, "player_1": 0}
    made = goofspiel.env()
    made.reset(seed=0)
    for action in (2, 2, 2):  # a card that has been bid
        made.step(action)
    assert made.rewards == {"player_0": -1.0, "player_1": 0}


@EACH
def test_nothing_is_to_be_had_before_and_after(module: ModuleType) -> None:
    made = module.raw_env(render_mode="ansi")
    for call in (made.last, made.render, lambda: made.observe("player_0"), lambda: made.step(0)):
        with pytest.raises(GameOver, match=r"^\w+_v0: no game has begun; call reset\(\) first$"):
            call()
    made.reset(seed=0)
    while not all(made.terminations.values()):
        made.step(int(made.infos[made.agent_selection]["action_mask"].argmax()))
    with pytest.raises(ValueError, match="only valid action is None"):
        made.step(0)
    made.step(None)
    made.step(None)
    for call in (made.last, lambda: made.observe("player_0"), lambda: made.step(None)):
        with pytest.raises(GameOver, match=r"^\w+_v0: [^\n]+ call reset\(\) first$"):
            call()


@EACH
@pytest.mark.parametrize("options", [{"render_mode": "rgb_array"}, {"view": 2}, {"view": True}, {"view": "0"}])
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
    assert (other.view, other.render_mode, str(other)) == (1, "ansi", str(made))
    for one in (made, other):
        one.reset(seed=7)
    assert made.render() == other.render()
