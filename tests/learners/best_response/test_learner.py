"""The learner of a best response fits the values of the actions that were played."""

import numpy as np

from envs.geister import Geister
from envs.kuhn import Kuhn
from learners.best_response.agent import QValues
from learners.best_response.learner import ResponseLearner
from learners.best_response.settings import settings_for
from learners.networks.settings import NetworkSettings
from learners.samples import response_dtype
from learners.settings import TrainingSettings

MINI = Geister(size=4, ply_limit=30, observation_limit=30)
NET = NetworkSettings(width=32, depth=2, outputs="square")


def test_values_become_the_mean_of_what_came_of_each_action() -> None:
    rng = np.random.default_rng(1)
    states = MINI.reset(2048, rng)
    legal = MINI.legal(states)
    rows = np.empty(len(states), response_dtype(MINI.spec))
    rows["infostate"] = MINI.observe(states, MINI.to_move(states))
    rows["action"] = np.where(legal, rng.random(legal.shape), 0).argmax(axis=1)
    worth = np.linspace(-1, 1, 8)
    rows["target"] = worth[rows["action"]] + rng.normal(0, 0.2, len(rows))
    training = TrainingSettings(batch=256, minibatches=150, learning_rate=3e-3, weight_average=10.0)
    learner = ResponseLearner(MINI, NET, training, seed=3)
    draws = (rows[rng.integers(0, len(rows), 256)] for _ in range(150))
    metrics = learner.fit(draws, 1)
    assert metrics["rows"] == 150 * 256
    values = QValues(MINI, NET, learner.weights())(np.ascontiguousarray(rows["infostate"][:64]), legal[:64])
    assert np.isneginf(values[~legal[:64]]).all()
    square = {a: rows["target"][rows["action"] == a].mean() for a in np.flatnonzero(legal.any(axis=0))}
    for action, mean in square.items():
        found = values[legal[:64, action], action]
        assert np.abs(found - mean).max() < 0.15


def test_outputs_by_kind_of_move_are_taken_where_there_are_any() -> None:
    assert settings_for(MINI.spec).network.outputs == "move"
    assert settings_for(Kuhn().spec).network.outputs == "action"
