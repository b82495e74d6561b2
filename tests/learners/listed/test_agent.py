"""The agent plays the best of each list, and asks the network only where there is a choice."""

import numpy as np
import pytest
import torch

from envs.game import GameOver
from envs.sparse import Sparse
from learners.listed.agent import QAgent
from learners.listed.network import QNet
from learners.listed.settings import QNetworkSettings
from learners.networks.q_inference import QInference
from tests.ragged_game import STATE, HeapGame

GAME = HeapGame(9)
NET = QNetworkSettings(width=16, depth=2)
RNG = np.random.default_rng(0)


def net_weights(network: QNetworkSettings = NET, game: HeapGame = GAME) -> dict:
    torch.manual_seed(1)
    return QNet(network, game.spec).inference_weights()


def heaps(*sizes: int) -> np.ndarray:
    states = np.zeros(len(sizes), STATE)
    states["heap"] = sizes
    return states


class Counting:
    """Runs the network and keeps how many states and actions it was asked for."""

    def __init__(self, network: QNetworkSettings, weights: dict) -> None:
        self.forward = QInference(network, weights)
        self.asked: list[tuple[int, int]] = []

    def __call__(self, states: np.ndarray, offsets: np.ndarray, actions: Sparse) -> np.ndarray:
        self.asked.append((len(states), len(actions.place)))
        return self.forward(states, offsets, actions)


@pytest.mark.parametrize("encoding", [None, "number"])
def test_the_action_of_the_highest_value_is_played(encoding):
    network = NET.model_copy(update={"encoding": encoding})
    weights = net_weights(network)
    agent = QAgent(GAME, network, weights, "mine")
    agent.begin(GAME, 9, RNG)
    packed, offsets, rows = GAME.positions()
    values = QInference(network, weights)(GAME.encode(packed, encoding or "flat"), offsets, GAME.encode_actions(rows))
    order = np.random.default_rng(1).permutation(9)
    played = agent.act(heaps(*(order + 1)), order, RNG)
    assert played.dtype == GAME.action_dtype
    for heap, action in zip(order, played, strict=True):
        own = slice(offsets[heap], offsets[heap + 1])
        assert action == rows[own][np.argmax(values[own])]
    assert agent.name == "mine"


def test_forced_moves_cost_no_inference():
    weights = net_weights()
    counting = Counting(NET, weights)
    agent = QAgent(GAME, NET, weights, forward=counting)
    agent.begin(GAME, 4, RNG)
    assert (agent.act(heaps(1, 1), np.arange(2), RNG)["take"] == 1).all()
    assert counting.asked == []
    played = agent.act(heaps(1, 2, 1, 9), np.arange(4), RNG)
    assert counting.asked == [(2, 5)]
    alone = QAgent(GAME, NET, weights)
    np.testing.assert_array_equal(played[[1, 3]], alone.act(heaps(2, 9), np.arange(2), RNG))
    assert (played["take"][[0, 2]] == 1).all()


def test_scripted_decisions_are_the_games_unless_they_were_learnt():
    game = HeapGame(9, scripted_at=5)
    weights = net_weights(NET, game)
    weights["action.w"][:] = np.array(
        [[0.0], [1.0], [0.5], [0.0]]
    )  # the fewer cards are taken, the higher is the value
    weights |= {name: np.abs(weights[name]) for name in ("hidden1.w", "out.w")}
    for learnt, asked, taken in ((False, (1, 3), [3, 1]), (True, (2, 6), [1, 1])):
        counting = Counting(NET, weights)
        agent = QAgent(game, NET, weights, learn_scripted=learnt, forward=counting)
        agent.begin(game, 2, RNG)
        assert agent.act(heaps(5, 6), np.arange(2), RNG)["take"].tolist() == taken
        assert counting.asked == [asked]


def test_no_games_need_no_moves():
    agent = QAgent(GAME, NET, net_weights())
    assert len(agent.act(heaps(), np.arange(0), RNG)) == 0


def test_a_game_that_has_ended_has_no_move():
    agent = QAgent(GAME, NET, net_weights())
    with pytest.raises(GameOver, match="net has no move"):
        agent.act(heaps(3, 0), np.arange(2), RNG)


def test_a_game_of_another_kind_is_refused():
    weights = net_weights()
    with pytest.raises(ValueError, match="no flat encoding planes"):
        QAgent(GAME, QNetworkSettings(encoding="planes"), weights)
