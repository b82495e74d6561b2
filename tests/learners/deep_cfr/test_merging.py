"""Samples merged by infostate: the same loss and gradient as the samples themselves."""

import numpy as np
import pytest
import torch

from envs.leduc import Leduc
from learners.deep_cfr.advantage import AdvantageLearner
from learners.deep_cfr.merging import merge_samples
from learners.networks.settings import NetworkSettings
from learners.samples import advantage_dtype, pack_mask
from learners.settings import TrainingSettings

GAME = Leduc()
NETWORK = NetworkSettings(trunk="flat", width=16, depth=2, norm="none", outputs="action")


def samples(n, seed, infostates=40):
    """Random targets at the infostates of random play, many of them more than once."""
    rng = np.random.default_rng(seed)
    states = GAME.reset(infostates, rng)
    packed, legal = GAME.observe(states, GAME.to_move(states)), GAME.legal(states)
    packed[:, -1] = np.arange(infostates) % 7  # distinct ones beyond the few that begin a game
    rows = np.zeros(n, advantage_dtype(GAME.spec))
    which = rng.integers(0, infostates, n)
    rows["infostate"], rows["legal"] = packed[which], pack_mask(legal)[which]
    rows["advantage"] = rng.normal(size=(n, GAME.spec.num_actions)) * legal[which]
    rows["iteration"] = rng.integers(1, 50, n)
    rows["log_weight"] = rng.normal(size=n)
    return rows


def test_each_infostate_is_one_row_with_the_weighted_mean():
    rows = samples(5000, 1, infostates=3000)
    weight = np.random.default_rng(2).random(5000) + 0.1
    merged = merge_samples(rows, weight, rows["infostate"])
    keys = [bytes(row) for row in rows["infostate"]]
    assert [bytes(row) for row in merged["infostate"]] == list(dict.fromkeys(keys))
    assert len(merged) < len(rows)
    for row in merged[:: len(merged) // 20]:
        mine = np.array([key == bytes(row["infostate"]) for key in keys])
        mean = (weight[mine, None] * rows["advantage"][mine]).sum(axis=0) / weight[mine].sum()
        assert row["advantage"] == pytest.approx(mean, abs=1e-5)
        assert row["log_weight"] == pytest.approx(np.log(weight[mine].sum()), abs=1e-5)


@pytest.mark.parametrize("importance", ["none", "full", "clipped"])
def test_the_gradient_is_that_of_all_samples(importance):
    """In one minibatch of everything: up to the scale of the weights, which are relative."""
    rows = samples(600, 3)
    gradients = []
    for merge in (False, True):
        learner = AdvantageLearner(
            GAME, NETWORK, TrainingSettings(minibatches=1, batch=600), importance=importance, merge=merge, seed=4
        )
        seen = []

        def keep(pieces, weight, learner=learner, seen=seen):
            learner.trainer.net.zero_grad()
            loss = sum(piece() for piece in pieces)
            loss.backward()
            seen.append(torch.cat([p.grad.ravel() for p in learner.trainer.net.parameters()]).numpy().copy())
            return loss.detach()

        learner.trainer.step = keep
        learner.fit(iter([rows]), 50)
        gradients.append(seen[0].astype(np.float64))
    one, other = gradients
    scale = one @ other / (other @ other)
    assert scale > 0
    assert np.abs(one - scale * other).max() < 1e-5 * np.abs(one).max()


def test_the_same_seed_gives_the_same_net():
    """Also where there are more infostates than a minibatch holds, so that they are drawn."""
    nets = []
    for _ in range(2):
        training = TrainingSettings(minibatches=5, batch=8)
        learner = AdvantageLearner(GAME, NETWORK, training, merge=True, seed=4)
        found = learner.fit(iter([samples(600, 3)]), 50)
        assert found["rows"] == 40
        nets.append(learner.weights())
    assert 8 < found["infostates"] < 40  # cards of one rank look alike to the net
    assert all(nets[0][name].tobytes() == nets[1][name].tobytes() for name in nets[0])


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_the_only_infostate_of_a_player_is_fitted(norm):
    """As in games in which a player decides once, without having seen anything."""
    rows = samples(400, 5, infostates=1)
    training = TrainingSettings(minibatches=300, batch=64, learning_rate=0.02, anneal=True, warm_start=False)
    learner = AdvantageLearner(GAME, NETWORK.model_copy(update={"norm": norm}), training, merge=True, seed=4)
    for _ in range(2):
        learner.fit(iter([rows]), 50)
    legal = rows["advantage"].any(axis=0)
    with torch.no_grad():
        slots = GAME.output_slots(rows["infostate"][:1], "action")
        learner.trainer.net.eval()
        values = learner.values([learner.encode(rows["infostate"][:1])], slots, legal[None], learner.trainer.net)[0]
    mean = np.average(rows["advantage"], axis=0, weights=rows["iteration"])
    assert values.numpy() == pytest.approx(mean, abs=0.01)
