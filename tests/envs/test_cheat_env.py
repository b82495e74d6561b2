"""Cheat as a PettingZoo environment, and its pictures."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, render_test, seed_test

from envs.cheat import Cheat, env, raw_env, render
from envs.cheat.cards import pack, unpack
from envs.game import GameOver, IllegalAction, States

MINI: dict[str, Any] = {"ranks": 3, "copies": 2, "dealt": 2, "max_discard": 2}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"players": 4},
    {"players": 4, "ranks": 4, "copies": 3, "discards": "sets", "max_discard": 3, "observation_health": 1},
    {"discards": "sets", **MINI},
    {"health": 0, "ply_limit": 25, **MINI},
    {"players": 6, "health": 1},
]
EVERY = pytest.mark.parametrize("options", OPTIONS)
# PettingZoo's test asks for plain boxes of every environment that it does not know by name.
pytestmark = pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each")


@EVERY
@pytest.mark.parametrize("make", [env, raw_env])
@pytest.mark.filterwarnings("error")
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each")
def test_api(make: Any, options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    api_test(make(**options), num_cycles=100)
    seed_test(partial(make, **options), num_cycles=60)
    assert "Passed API test" in capsys.readouterr().out


@pytest.mark.parametrize("options", OPTIONS[:3])
def test_render(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    render_test(partial(env, **options))
    assert "player_0" in capsys.readouterr().out


@EVERY
def test_metadata_and_spaces(options: dict[str, Any]) -> None:
    made = env(**options)
    spec = made.unwrapped.game.spec
    assert str(made) == "cheat_v0"
    assert made.metadata["is_parallelizable"] is False
    assert made.possible_agents == [f"player_{p}" for p in range(options.get("players", 2))]
    for agent in made.possible_agents:
        space = made.observation_space(agent)
        assert space is made.observation_space(agent)
        assert space["observation"].shape == spec.shapes["flat"]
        assert (space["observation"].low.min(), space["observation"].high.max()) == (0, 1)
        assert made.action_space(agent).n == spec.num_actions


@EVERY
def test_shows_what_the_rules_say(options: dict[str, Any]) -> None:
    """Played beside the rules with the same chance: masks, observations, rewards, endings."""
    for seed in range(4):
        made = raw_env(**options)
        made.reset(seed=seed)
        game, choose = Cheat(**options), np.random.default_rng(seed + 100)
        states, total = game.reset(1, np.random.default_rng(seed)), np.zeros(game.players)
        for agent in made.agent_iter():
            observation, reward, over, _, info = made.last()
            player = made.possible_agents.index(agent)
            total[player] += reward
            assert made.observation_space(agent).contains(observation)
            assert np.array_equal(made.states, states)
            flat = game.encode(game.observe(states, np.array([player], np.int8)))[0]
            assert np.array_equal(flat, observation["observation"])
            assert np.array_equal(info["action_mask"], observation["action_mask"])
            if over:
                assert info["ending"] in game.spec.endings[1:]
                made.step(None)
                continue
            assert game.to_move(states)[0] == player
            assert np.array_equal(game.legal(states)[0], observation["action_mask"])
            others = [a for a in made.possible_agents if a != agent]
            assert not any(made.observe(a)["action_mask"].any() for a in others)
            action = int(choose.choice(np.flatnonzero(observation["action_mask"])))
            made.step(action)
            game.step(states, np.array([action]))
        assert game.finished(states)[0]
        assert total == pytest.approx(game.returns(states)[0])
        assert total.sum() == pytest.approx(0, abs=1e-6)


def test_flat_observation_of_a_known_position() -> None:
    """3 x 2 cards: player 0 has two of the current rank and lays one; player 1, who has the third and the fourth card
    of the next ranks, looks."""
    game = Cheat(**MINI, health=2)
    states = placed(game, [[2, 0, 0], [0, 1, 1]])
    game.step(states, np.array([3]))
    game.step(states, np.array([2]))
    flat = game.encode(game.observe(states, np.array([1], np.int8)))[0].tolist()
    sixth = pytest.approx(1 / 6)
    assert flat[:2] == [0, 1], "answering"
    assert flat[2:5] == [0, 1, 0], "one card is claimed"
    assert flat[5:7] == [0, 1], "by the other player"
    assert flat[7:9] == [pytest.approx(2 / 6), sixth], "cards in hand"
    assert flat[9:11] == [1, 1], "health"
    assert flat[11:13] == [0, 0], "not the last health point"
    assert flat[13:15] == [0, sixth], "cards put into the pile"
    assert flat[15:21] == [0, 0, 1, 0, 1, 0], "the own hand"
    assert flat[21:] == [0] * (6 + 3 + 3 + 12) + [1, 0, 0], "nothing else is known"
    game.step(states, np.array([1]))
    flat = game.encode(game.observe(states, np.array([0], np.int8)))[0].tolist()
    assert flat[7:11] == [sixth, 0.5, 1, 0.5], "player 1 has taken the pile and lost a point"
    assert flat[11:13] == [0, 1]
    assert flat[21:27] == [0, 0, 0, 0, 1, 0], "player 1 has the card, whose rank returns in 2 turns"
    assert flat[33:36] == [1, 0, 1], "one card was claimed, and challenged"


def placed(game: Cheat, hands: list[list[int]]) -> States:
    """One game with these hands, counts by rank, that player 0 begins."""
    states = game.reset(1, np.random.default_rng(0))
    states["hand"] = pack(np.array(hands))
    states["discarder"] = states["mover"] = 0
    return states


@pytest.mark.parametrize("action", [-1, 0, 1, 2, 99, None, "lay", 0.0, True, False])
def test_raw_env_refuses_illegal_actions(action: Any) -> None:
    made = raw_env()
    made.reset(seed=0)
    before, agent = made.states.copy(), made.agent_selection
    with pytest.raises(IllegalAction, match=rf"^cheat_v0: [^\n]+ is not legal for {agent}; legal actions [^\n]+\]$"):
        made.step(action)
    assert np.array_equal(made.states, before)
    made.step(int(made.infos[agent]["action_mask"].argmax()))
    assert not np.array_equal(made.states, before)


def test_wrapped_env_ends_after_an_illegal_action() -> None:
    made = env(players=3)
    made.reset(seed=0)
    agent = made.agent_selection
    made.step(1)
    assert all(made.terminations.values())
    assert made.rewards == {a: -1.0 if a == agent else 0 for a in made.possible_agents}


def test_nothing_is_to_be_had_before_and_after() -> None:
    made = raw_env(render_mode="ansi", **MINI)
    for call in (made.last, made.render, lambda: made.observe("player_0"), lambda: made.step(0)):
        with pytest.raises(GameOver, match=r"^cheat_v0: no game has begun; call reset\(\) first$"):
            call()
    made.reset(seed=0)
    while not all(made.terminations.values()):
        made.step(int(made.infos[made.agent_selection]["action_mask"].argmax()))
    made.step(None)
    made.step(None)
    for call in (made.last, lambda: made.observe("player_0"), lambda: made.step(None)):
        with pytest.raises(GameOver, match=r"^cheat_v0: [^\n]+ call reset\(\) first$"):
            call()


@pytest.mark.parametrize(
    "options",
    [{"render_mode": "svg"}, {"view": 2}, {"view": -1}, {"view": True}, {"view": "0"}, {"players": 7}, {"health": 0}],
)
def test_impossible_options(options: dict[str, Any]) -> None:
    for make in (env, raw_env):
        with pytest.raises(ValueError, match=rf"^{next(iter(options))}[^\n]+$"):
            make(**options)
        with pytest.raises(TypeError, match=r"^[^\n]+'colour'$"):
            make(colour="red")


def test_travels_to_other_processes() -> None:
    made = raw_env(render_mode="ansi", view=1, **MINI)
    other = pickle.loads(pickle.dumps(made))
    assert other.game == made.game
    assert (other.view, other.render_mode, str(other)) == (1, "ansi", str(made))
    for one in (made, other):
        one.reset(seed=7)
    assert made.render() == other.render()


def test_texts() -> None:
    game = Cheat(**MINI, health=2)
    states = placed(game, [[1, 1, 0], [0, 1, 1]])
    game.step(states, np.array([3 + 0]))
    assert render.ansi(game, states[0]).splitlines() == [
        "ply 1, rank A: player_0 discards",
        "> player_0  health 2  hand 1 (2)  put 0  picked 1 (A)",
        "  player_1  health 2  hand 2 (23)  put 0",
    ]
    assert render.ansi(game, states[0], 1).splitlines()[1:] == [
        "> player_0  health 2  hand 2  put 0",
        "  player_1  health 2  hand 2 (23)  put 0",
    ]
    game.step(states, np.array([2]))
    assert render.ansi(game, states[0], 1).splitlines() == [
        "ply 2, rank A: player_0 claims 1, player_1 answers",
        "  player_0  health 2  hand 1  put 1",
        "> player_1  health 2  hand 2 (23)  put 0",
    ]
    game.step(states, np.array([1]))
    assert render.ansi(game, states[0], 0).splitlines() == [
        "ply 3, rank 2: player_1 discards",
        "  shown A, player_1 takes the pile",
        "  player_0  health 2  hand 1 (2)  put 0",
        "> player_1  health 1  hand 3  put 0",
    ]
    game.step(states, np.array([3 + 1]))  # a lie
    game.step(states, np.array([2]))
    game.step(states, np.array([1]))
    assert render.ansi(game, states[0], 0).splitlines() == [
        "ply 6, rank 2: player_0 wins (health gone)",
        "  shown 3, player_1 takes the pile",
        "  player_0  health 2  hand 1 (2)  put 0",
        "  player_1  health 0  hand 3  put 0",
    ]


@pytest.mark.parametrize(
    "options", [{}, {"players": 3}, {"players": 6, "health": 20}, {"copies": 7, "discards": "sets", "max_discard": 2}]
)
def test_pictures_hide_what_the_viewer_may_not_know(options: dict[str, Any]) -> None:
    """Hidden cards that change places change the spectator's picture, and only his."""
    game, rng, changed = Cheat(**options), np.random.default_rng(4), 0
    states = game.reset(6, rng)
    for _ in range(70):
        states = states[~game.finished(states)]
        if not len(states):
            break
        view = int(rng.integers(game.players))
        other = swapped(game, states[:1], view, rng)
        changed += not np.array_equal(states[:1], other)
        for draw in (render.ansi, render.rgb_array):
            assert np.array_equal(draw(game, states[0], view), draw(game, other[0], view))
            alike = np.array_equal(draw(game, states[0]), draw(game, other[0]))
            assert alike == np.array_equal(states[:1], other)
        picture = render.rgb_array(game, states[0], view)
        assert picture.dtype == np.uint8
        assert picture.shape == (2 * render.HEAD + game.players * render.ROW, render.WIDTH, 3)
        game.step(states, (game.legal(states) * rng.random((len(states), game.spec.num_actions))).argmax(1))
    assert changed >= 5


def swapped(game: Cheat, states: States, view: int, rng: np.random.Generator) -> States:
    """The game with the cards of all others dealt anew among all heaps of theirs, each as large as it was."""
    other = states.copy()
    picked = int(states["discarder"][0]) if states["phase"][0] == 0 else -1
    heaps = [("hand", p) for p in range(game.players) if p != view]
    heaps += [("put", p) for p in range(game.players) if p != view]
    heaps += [("discard", None)] if picked not in (-1, view) else []
    parts = [other[name] if p is None else other[name][:, p] for name, p in heaps]
    counts = [unpack(part, game.ranks)[0] for part in parts]
    cards = rng.permutation(np.repeat(np.tile(np.arange(game.ranks), len(counts)), np.concatenate(counts)))
    for part, count in zip(parts, counts, strict=True):
        dealt, cards = cards[: count.sum()], cards[count.sum() :]
        part[:] = pack(np.bincount(dealt, minlength=game.ranks)[None])
    return other


def test_many_cards_fit_the_picture() -> None:
    for options in ({"copies": 7}, {"copies": 7, "max_discard": 46}):
        game = Cheat(**options)
        states = game.reset(1, np.random.default_rng(0))
        for _ in range(50):
            states["health"] = 3
            render.rgb_array(game, states[0])
            render.rgb_array(game, states[0], view=int(states["mover"][0]))
            if game.finished(states)[0]:
                break
            game.step(states, np.array([np.flatnonzero(game.legal(states)[0])[-1]]))
        assert states["ply"][0] > 40 or game.finished(states)[0]
