"""PettingZoo environments as games, and games as PettingZoo environments."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from pettingzoo.classic import leduc_holdem_v4, rps_v2, tictactoe_v3
from pettingzoo.test import api_test, seed_test

from envs.aec import ENDINGS, AecGame
from envs.game import Game, IllegalAction, States
from envs.geister import Geister, raw_env
from envs.pettingzoo_view import GameEnv
from envs.players import RandomAgent
from tests.envs.matches import play

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each"),
]


def leduc(**options: Any) -> AecGame:
    return AecGame(leduc_holdem_v4.raw_env, "leduc", **{"max_plies": 10, "max_return": 7.0, **options})


def played(game: Game, batch: int, seed: int, plies: int = 1_000) -> States:
    """States after up to `plies` random decisions."""
    rng = np.random.default_rng(seed)
    states = game.reset(batch, rng)
    player = RandomAgent()
    player.begin(game, batch, rng)
    for _ in range(plies):
        if game.finished(states).all():
            break
        game.step(states, player.act(states, np.arange(batch), rng), rng)
    return states


def both_views(game: Game, states: States) -> list[bytes]:
    return [game.observe(states, np.full(len(states), player, np.int8)).tobytes() for player in (0, 1)]


def test_leduc_is_a_game() -> None:
    game = leduc()
    assert isinstance(game, Game)
    assert (game.spec.num_actions, game.spec.shapes, game.spec.name) == (4, {"flat": (36,)}, "leduc")
    states = played(game, 300, seed=0)
    returns = game.returns(states)
    assert game.finished(states).all()
    assert np.array_equal(returns[:, 0], -returns[:, 1])
    assert set(np.unique(returns * 2) % 1) == {0}  # half a big blind is the smallest stake
    assert (returns != 0).mean() > 0.8
    assert np.abs(returns).max() <= 7
    assert {ENDINGS[e] for e in game.endings(states)} == {"terminated"}
    assert not game.legal(states).any()
    assert (game.to_move(states) == -1).all()


def test_leduc_says_what_the_environment_says() -> None:
    game = leduc()
    rng = np.random.default_rng(3)
    states = game.reset(4, rng)
    envs = []
    for state in states:
        envs.append(leduc_holdem_v4.env())
        envs[-1].reset(seed=int(state["seed"]))
    while not game.finished(states).all():
        legal = game.legal(states)
        actions = np.array([rng.choice(np.flatnonzero(m)) if m.any() else 0 for m in legal])
        movers = game.to_move(states)
        seen = game.encode(game.observe(states, np.maximum(movers, 0)))
        for b, env in enumerate(envs):
            if movers[b] < 0:
                continue
            observation, *_ = env.last()
            assert env.agent_selection == f"player_{movers[b]}"
            assert np.array_equal(observation["action_mask"], legal[b])
            assert np.array_equal(observation["observation"], seen[b])
            env.step(int(actions[b]))
        game.step(states, actions, rng)
        for b in np.flatnonzero(game.finished(states) & (movers >= 0)):
            assert list(envs[b].rewards.values()) == game.returns(states)[b].tolist()


@pytest.mark.parametrize("options", [{}, {"size": 4, "ply_limit": 12}, {"random_setup": False, "ply_limit": 20}])
def test_adapted_geister_equals_the_compiled_game(options: dict[str, Any]) -> None:
    compiled = Geister(**options)
    adapted = AecGame(partial(raw_env, **options))
    rng = np.random.default_rng(0)
    ours = adapted.reset(12, rng)
    theirs = np.concatenate([compiled.reset(1, np.random.default_rng(seed)) for seed in ours["seed"]])
    player = RandomAgent()
    player.begin(compiled, 12, rng)
    for _ in range(compiled.spec.max_plies):
        assert np.array_equal(adapted.to_move(ours), compiled.to_move(theirs))
        assert np.array_equal(adapted.legal(ours), compiled.legal(theirs))
        assert np.array_equal(adapted.finished(ours), compiled.finished(theirs))
        assert np.array_equal(adapted.returns(ours), compiled.returns(theirs))
        for seat in (0, 1):
            players = np.full(12, seat, np.int8)
            flat = adapted.encode(adapted.observe(ours, players), "flat")
            planes = compiled.encode(compiled.observe(theirs, players), "planes")
            assert np.array_equal(flat.reshape(planes.shape), planes)
        actions = player.act(theirs, np.arange(12), rng)
        adapted.step(ours, actions, rng)
        compiled.step(theirs, actions, rng)
    assert compiled.finished(theirs).all()


def test_states_are_values() -> None:
    """Stepping a copy leaves the original alone, in whatever order they are looked at."""
    game = leduc()
    rng = np.random.default_rng(1)
    states = game.reset(20, rng)
    before, legal = both_views(game, states), game.legal(states)
    twice = np.concatenate([states, states])
    actions = np.concatenate([legal.argmax(1), game.spec.num_actions - 1 - legal[:, ::-1].argmax(1)])
    game.step(twice, actions, rng)
    assert both_views(game, states) == before
    assert np.array_equal(game.legal(states), legal)
    again = states.copy()
    game.step(again, actions[:20], rng)
    assert np.array_equal(again, twice[:20])
    assert both_views(game, again) == both_views(game, twice[:20])


def test_environments_are_reclaimed() -> None:
    game = leduc(reserve=1)
    kept = []
    for seed in range(6):
        states = played(game, 20, seed)
        kept.append((states, both_views(game, states)))
        assert game.live <= 41
    for states, views in kept:  # even those pushed out long ago
        assert both_views(game, states) == views
    assert game.live <= 41
    game.close()
    assert game.live == 0
    assert both_views(game, kept[0][0]) == kept[0][1]


def test_running_games_push_each_other_out_unharmed() -> None:
    small, large = leduc(reserve=1), leduc()
    rows = [played(small, 3, seed, plies=2) for seed in range(10)]
    assert small.live <= 7
    for states in rows:
        assert both_views(small, states) == both_views(large, states)


def test_states_and_games_travel_to_other_processes() -> None:
    game = leduc()
    states = played(game, 10, seed=4, plies=2)
    other_game, other = pickle.loads(pickle.dumps((game, states)))
    assert other_game.live == 0
    assert both_views(other_game, other) == both_views(game, states)


def test_same_seed_same_games() -> None:
    assert np.array_equal(played(leduc(), 15, seed=2), played(leduc(), 15, seed=2))
    assert not np.array_equal(played(leduc(), 15, seed=2), played(leduc(), 15, seed=3))


@pytest.mark.parametrize("action", [-1, 4, 3])
def test_illegal_action_changes_nothing(action: int) -> None:
    game = leduc()
    states = game.reset(3, np.random.default_rng(0))
    before, views = states.copy(), both_views(game, states)
    assert not game.legal(states)[1, 3]  # the first player of a round cannot check the blind
    with pytest.raises(IllegalAction, match=rf"^leduc, game 1, ply 0: {action} is not legal$"):
        game.step(states, np.array([0, action, 0]))
    assert np.array_equal(states, before)
    assert both_views(game, states) == views


def test_returns_are_scaled_and_bounded() -> None:
    plain, scaled = played(leduc(), 30, seed=6), played(leduc(scale=1 / 7, max_return=1.0), 30, seed=6)
    assert np.allclose(leduc().returns(plain) / 7, leduc(scale=1 / 7).returns(scaled))
    with pytest.raises(ValueError, match=r"^leduc: a return of \S+ exceeds max_return=0.1: pass max_return="):
        played(leduc(max_return=0.1), 30, seed=6)


def test_long_games_are_cut_off() -> None:
    game = leduc(max_plies=2)
    states = played(game, 60, seed=7)
    cut = game.endings(states) == ENDINGS.index("ply limit")
    assert 0 < cut.sum() < 60
    assert (game.returns(states)[cut] == 0).all()
    assert game.finished(states).all()


def test_rewards_along_the_way_are_summed() -> None:
    """Rock, paper, scissors: no mask, no box of observations, a reward every other step, and truncation."""
    game = AecGame(partial(rps_v2.raw_env, max_cycles=4), max_return=4)
    assert game.spec.shapes == {"flat": (4,)}
    rng = np.random.default_rng(0)
    states = game.reset(1, rng)
    for action in (1, 0, 0, 0, 2, 1, 0, 1):  # won, tied, won, lost by player 0
        assert game.legal(states).all()
        assert game.returns(states).tolist() == [[0, 0]]
        game.step(states, np.array([action]), rng)
    assert game.returns(states).tolist() == [[1, -1]]
    assert [ENDINGS[e] for e in game.endings(states)] == ["truncated"]


def test_wrong_environments_are_refused() -> None:
    class Three(GameEnv):
        def __init__(self) -> None:
            super().__init__(Geister(4))
            self.possible_agents = ["a_0", "a_1", "a_2"]

    with pytest.raises(ValueError, match=r"^mini-geister: only games of 2 players"):
        AecGame(Three)
    nan, inf = float("nan"), float("inf")  # returns would be nan, or any return would pass
    for options in (
        *({"max_plies": 0}, {"scale": 0}, {"max_return": -1.0}),
        *({"scale": nan}, {"scale": inf}, {"max_return": nan}, {"max_return": inf}),
    ):
        with pytest.raises(ValueError, match="must be positive"):
            leduc(**options)
    with pytest.raises(ValueError, match="only the encoding 'flat'"):
        leduc().encode(np.zeros((1, 144), np.uint8), "planes")


def test_unrepeatable_environments_are_noticed() -> None:
    class Unseeded(raw_env):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
            super().reset(seed=None)

    game = AecGame(partial(Unseeded, size=4))
    states = played(game, 30, seed=0)
    game.close()
    with pytest.raises(RuntimeError, match=r"reset\(seed\) and the same actions led to another state$"):
        both_views(game, states)


def test_any_game_is_an_environment(capsys: pytest.CaptureFixture[str]) -> None:
    """There and back again: an environment made of a game made of an environment."""
    for game in (leduc(), AecGame(tictactoe_v3.raw_env)):
        api_test(GameEnv(game), num_cycles=100)
        seed_test(partial(GameEnv, game), num_cycles=20)
        assert "Passed API test" in capsys.readouterr().out


def test_environment_of_a_game_travels_and_refuses() -> None:
    made = pickle.loads(pickle.dumps(GameEnv(Geister(4), name="small", encoding="flat")))
    made.reset(seed=0)
    assert str(made) == "small"
    assert made.observe("player_1")["observation"].shape == (52,)
    with pytest.raises(ValueError, match="encoding must be one of"):
        GameEnv(Geister(4), encoding="hexes")
    with pytest.raises(ValueError, match="render_mode must be one of"):
        GameEnv(Geister(4), render_mode="ansi")
    with pytest.raises(ValueError, match=r"agent must be one of .*, got 'player_7'"):
        made.observe("player_7")


def test_matches_on_an_adapted_game() -> None:
    game = leduc()
    states, _ = play(game, (RandomAgent(), RandomAgent()), 40, np.random.default_rng(9))
    assert game.finished(states).all()
