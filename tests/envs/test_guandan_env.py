"""GuanDan as a PettingZoo environment; see also `test_pettingzoo`."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import flatten, unflatten
from pettingzoo.test import api_test, seed_test

from envs.game import GameOver, IllegalAction
from envs.guandan import GuanDan, env, raw_env
from envs.guandan.rules.cards import BACK, CARDS, KINDS, PASS, RANKS, TRIBUTE, notation, unpack
from envs.guandan.rules.generation import LONGEST
from envs.ragged_view import ListedGameEnv
from envs.sparse import dense

OPTIONS: list[dict[str, Any]] = [
    {},
    {"length": "match"},
    {"situation": "first", "encoding": "no_wild_flags"},
    {"length": "match", "double_tribute": "by_seat", "a_attempts": 0},
]
# PettingZoo's test asks for plain boxes of every environment that it does not know by name.
pytestmark = pytest.mark.filterwarnings("ignore:Observation is not a NumPy", "ignore:Observation space for each")

Decision = tuple[str, dict[str, Any], int]


def play(made: raw_env, seed: int) -> Iterator[Decision]:
    """Mover, its observation and a random action of every decision of a game, before the action is played."""
    rng = np.random.default_rng(seed)
    made.reset(seed=seed)
    for agent in made.agent_iter():
        if made.terminations[agent]:
            return
        observation = made.observe(agent)
        action = int(rng.integers(observation["action_mask"].sum()))
        yield agent, observation, action
        made.step(action)


def rewarded(made: raw_env, seed: int) -> dict[str, float]:
    """The rewards of each agent in a game, as loops over `last` see them."""
    rng = np.random.default_rng(seed)
    made.reset(seed=seed)
    total = dict.fromkeys(made.possible_agents, 0.0)
    for agent in made.agent_iter():
        observation, reward, terminated, truncated, _ = made.last()
        total[agent] += reward
        assert not truncated
        made.step(None if terminated else int(rng.integers(observation["action_mask"].sum())))
    return total


def test_any_ragged_game_is_an_environment(capsys: pytest.CaptureFixture[str]) -> None:
    made = ListedGameEnv(GuanDan(), encoding="tribute")
    api_test(made, num_cycles=200)
    seed_test(partial(ListedGameEnv, GuanDan()), num_cycles=20)
    assert "Passed API test" in capsys.readouterr().out
    made.reset(seed=0)
    shown = made.observe(made.agent_selection)["legal_actions"]
    expected = np.empty((len(shown), 54), np.float32)
    dense(*made.game.encode_actions(made.game.legal(made.states).rows), expected)
    assert np.array_equal(shown, expected)
    made.close()


def test_spaces() -> None:
    made = raw_env(encoding="no_wild_flags")
    assert made.action_space("player_0").n == LONGEST
    space = made.observation_space("player_0")
    assert space["observation"].shape == (501,)
    assert space["legal_actions"].feature_space.high.tolist() == [2] * 54 + [len(KINDS) - 1, 14]


@pytest.mark.parametrize(("options", "seed"), [(OPTIONS[0], 5), (OPTIONS[1], 6), (OPTIONS[2], 7)])
def test_shows_what_the_rules_say(options: dict[str, Any], seed: int) -> None:
    made = raw_env(**options)
    game = made.game
    states = game.reset(1, np.random.default_rng(seed))
    for agent, observation, action in play(made, seed):
        assert np.array_equal(states, made.states)
        mover = int(game.to_move(states)[0])
        legal = game.legal(states).rows
        assert agent == f"player_{mover}"
        for seat, other in enumerate(made.possible_agents):
            seen = made.observe(other)
            vector = game.encode(game.observe(states, np.array([seat], np.int8)), made.encoding)[0]
            assert np.array_equal(seen["observation"], vector)
            assert seen["observation"].dtype == np.float32
            count = len(legal) if seat == mover else 0
            assert (seen["action_mask"].dtype, seen["action_mask"].shape) == (np.int8, (LONGEST,))
            assert np.array_equal(np.flatnonzero(seen["action_mask"]), np.arange(count))
            assert np.array_equal(made.infos[other]["action_mask"], seen["action_mask"])
            assert seen["legal_actions"].shape == (count, 56)
            assert made.observation_space(other).contains(seen)
        vectors = np.empty((len(legal), 54), np.float32)
        dense(*game.encode_actions(legal), vectors)
        listed = observation["legal_actions"]
        assert np.array_equal(listed[:, :54], vectors)
        assert np.array_equal(listed[:, 54], legal["kind"])
        assert np.array_equal(listed[:, 55], legal["rank"])
        assert made.legal_actions() == [notation(row) for row in legal]
        game.step(states, legal[action : action + 1])
    assert game.finished(states)[0]
    assert np.array_equal(states, made.states)


def test_readings_of_the_same_cards_can_be_told_apart() -> None:
    shared = 0
    made = raw_env(situation="first")
    for seed in range(20):
        made.reset(seed=seed)
        listed = made.observe(made.agent_selection)["legal_actions"]
        assert len(np.unique(listed, axis=0)) == len(listed)
        shared += len(listed) - len(np.unique(listed[:, :54], axis=0))
        assert len({(kind, rank, tuple(cards)) for kind, rank, cards in made.legal_actions()}) == len(listed)
    assert shared > 100


def test_a_player_may_choose_by_what_is_written() -> None:
    made = env(situation="first")
    made.reset(seed=2)
    leader = made.agent_selection
    state = made.unwrapped.states[0]
    seat = int(state["to_move"])
    card = unpack(state["low"][seat], state["high"][seat])[0]
    made.step(made.legal_actions().index(("Single", card[1], [card])))
    assert made.agent_selection == f"player_{(int(leader[-1]) + 1) % 4}"
    assert unpack(state["last_low"][seat], state["last_high"][seat]) == [card]


@pytest.mark.parametrize("seed", range(6))
def test_rewards_of_a_round_are_the_returns(seed: int) -> None:
    made = raw_env()
    total = rewarded(made, seed)
    assert list(total.values()) == made.game.returns(made.states)[0].tolist()
    assert total["player_0"] == total["player_2"] == -total["player_1"] == -total["player_3"]


def test_rewards_of_rounds_take_every_value() -> None:
    made = raw_env(situation="drawn")
    values = {rewarded(made, seed)["player_0"] for seed in range(60)}
    assert {-3, -2, -1, 1, 2, 3} <= values <= {-3, -2, -1, 0, 1, 2, 3}


def test_a_whole_match() -> None:
    made = raw_env(length="match", situation="first")
    points: list[list[float]] = []
    kinds = set()
    for agent, observation, action in play(made, seed=0):
        rewards = [made.rewards[a] for a in made.possible_agents]
        if made.states[0]["number"] == len(points):
            assert not any(rewards)
        else:
            points.append(rewards)
            check_last_round(made, rewards)
        if points:
            assert made.infos[agent]["last_round"]["number"] == len(points)
        else:
            assert "last_round" not in made.infos[agent]
        assert "winners" not in made.infos[agent]
        kinds.add(int(observation["legal_actions"][action, 54]))
    points.append([made.rewards[a] for a in made.possible_agents])
    check_last_round(made, points[-1])
    assert len(points) == made.game.rounds(made.states)[0] > 4
    assert (np.sum(points, axis=1) == 0).all()
    assert 0 in np.array(points)  # a level A that was not closed
    assert {TRIBUTE, BACK, PASS} < kinds
    returns = made.game.returns(made.states)[0]
    for info in made.infos.values():
        assert info["winners"] == [a for a, value in zip(made.possible_agents, returns, strict=True) if value == 1]
        assert info["ending"] in ("double", "partner third")
        assert info["last_round"]["number"] == len(points)
        assert info["last_round"]["level"][info["winners"][0]] == "A"


def check_last_round(made: raw_env, rewards: list[float]) -> None:
    """The infos' result of a round that has just ended against its order and the rewards."""
    for info in made.infos.values():
        result = info["last_round"]
        order = [int(agent[-1]) for agent in result["order"]]
        assert order == made.states[0]["former"].tolist()
        rise = 4 - order.index((order[0] + 2) % 4)
        assert result["points"] == dict(zip(made.possible_agents, rewards, strict=True))
        assert rewards[order[0]] == rise or (rewards[order[0]] == 0 and rise == 1)
        assert [result["level"][a] for a in made.possible_agents[:2]] == [RANKS[x] for x in made.states[0]["levels"]]


def test_rewards_of_a_match_reach_everybody() -> None:
    """Those of rounds in which an agent does not move again are kept for its next turn."""
    made = raw_env(length="match")
    expected = np.zeros(4)
    for _ in play(made, seed=8):
        expected += list(made.rewards.values())
    expected += list(made.rewards.values())
    assert list(rewarded(made, seed=8).values()) == expected.tolist()
    assert expected[0] == expected[2] == -expected[1] == -expected[3]


def test_players_who_are_out_still_see() -> None:
    made = raw_env()
    seen = 0
    for _ in play(made, seed=1):
        for seat in np.flatnonzero(made.states[0]["left"] == 0):
            agent = f"player_{seat}"
            observation = made.observe(agent)
            assert made.observation_space(agent).contains(observation)
            assert not observation["action_mask"].any()
            assert not observation["observation"][: len(CARDS)].any()
            partner = made.observe(f"player_{(seat + 2) % 4}")
            assert (partner["observation"] == -1).sum() == len(CARDS)
            seen += 1
    assert seen > 0


def test_observations_are_small() -> None:
    made = raw_env()
    sizes = [sum(part.nbytes for part in observation.values()) for _, observation, _ in play(made, seed=0)]
    assert max(sizes) < 500_000
    assert np.median(sizes) < 40_000


def test_gymnasium_flattens_what_a_mover_sees() -> None:
    made = raw_env()
    made.reset(seed=0)
    space, observation = made.observation_space("player_0"), made.observe(made.agent_selection)
    again = unflatten(space, flatten(space, observation))
    assert again.keys() == observation.keys()
    assert all(np.array_equal(again[name], observation[name]) for name in again)


@pytest.mark.parametrize("action", [10_000, LONGEST, -1, None, "Single", 0.0, True, False])
def test_raw_env_refuses_illegal_actions(action: Any) -> None:
    made = raw_env(situation="first")
    made.reset(seed=0)
    before, agent = made.states.copy(), made.agent_selection
    count = len(made.legal_actions())
    expected = rf"^guandan_v0: action \S+ is not legal for {agent}; [^\n]* 0 to {count - 1}, and 0 is \w+ .*\]$"
    with pytest.raises(IllegalAction, match=expected):
        made.step(action)
    assert np.array_equal(made.states, before)
    assert made.agent_selection == agent
    assert made.rewards == dict.fromkeys(made.possible_agents, 0.0)
    made.step(count - 1)
    assert made.agent_selection != agent


def test_actions_cannot_be_listed_before_the_first_reset() -> None:
    with pytest.raises(GameOver, match=r"^guandan_v0: [^\n]+ call reset\(\) first$"):
        raw_env().legal_actions()
