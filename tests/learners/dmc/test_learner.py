"""The learner of Deep Monte-Carlo: its limit, the effect of the clip for staleness, and that it can be resumed."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from actors.buffer import BufferServer
from actors.learning import LearnerServer
from actors.runtime import InlineRuntime
from envs.game import Ragged, States
from envs.ragged import best_rows
from learners.buffers import CircularBuffer
from learners.dmc.learner import QLearner, clip_stale
from learners.dmc.settings import DmcTrainingSettings
from learners.listed.settings import QNetworkSettings
from learners.networks.q_inference import QInference
from learners.samples import pack_actions, unpack_actions, value_dtype
from learners.storage import ForeignState, load_state, save_state
from learners.training import TrainingDiverged
from tests.ragged_game import ACTION, HeapGame, choose_uniformly, play

GAME = HeapGame()
NET = QNetworkSettings(width=32, depth=2)


def values_of(learner: QLearner) -> np.ndarray:
    """Value of every choice everywhere by the weights that are sent to actors."""
    packed, offsets, rows = GAME.positions()
    forward = QInference(learner.network, learner.weights())
    return forward(GAME.encode(packed, "flat"), offsets, GAME.encode_actions(rows))


def uniform_rows(games: int, seed: int = 0, version: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return play(GAME, games, choose_uniformly(rng), version, rng)


def training(**changes) -> DmcTrainingSettings:
    return DmcTrainingSettings(**{"batch": 256, "learning_rate": 3e-3, **changes})


@pytest.mark.parametrize(
    ("network", "changes"),
    [
        (NET, {}),
        (QNetworkSettings(width=32, depth=3, activation="relu"), {"optimiser": "adam", "clip": 1.0}),
        (NET, {"weight_average": 3.0}),
        (NET, {"optimiser": "rmsprop_tf"}),
    ],
    ids=["tanh rmsprop", "relu adam clip", "average", "tanh rmsprop_tf"],
)
def test_the_net_learns_the_mean_return_of_every_action(network, changes):
    """Of play at random, whose values are known; the actor saw other values, and no sample is dropped for that."""
    rows = uniform_rows(20_000)
    learner = QLearner(GAME, network, training(staleness=None, batch=2000, **changes), seed=1)
    passes = 24 if learner.training.optimiser == "rmsprop_tf" else 8  # its first steps are small
    for rate in (1e-2, 1e-3):
        learner.trainer.optimiser.param_groups[0]["lr"] = rate
        metrics = learner.fit([rows] * passes, 1)
    packed, offsets, actions = GAME.positions()
    choice = choice_of(np.repeat(packed, np.diff(offsets), axis=0), actions["take"])
    rows_choice = choice_of(rows["infostate"], unpack_actions(rows["action"], ACTION)["take"])
    mean = np.bincount(rows_choice, rows["target"]) / np.maximum(np.bincount(rows_choice), 1)
    assert np.abs(values_of(learner) - mean[choice]).max() < 0.05
    assert np.abs(mean[choice] - GAME.uniform_values()).max() < 0.1  # as far as 20,000 games tell
    assert metrics["clipped"] == 0
    variance = np.mean((rows["target"] - mean[rows_choice]) ** 2)
    assert metrics["loss"] == pytest.approx(variance, abs=0.01)  # nothing but the noise of the returns is left


def choice_of(packed: np.ndarray, take: np.ndarray) -> np.ndarray:
    """A number for each heap with how many of its cards are taken."""
    return packed[:, 0].astype(int) * 4 + take


def test_self_play_with_the_clip_learns_to_play_perfectly():
    """Epsilon-greedy self-play by weights of the last fit, a pool of the latest samples: values go to the optimum's."""
    rng = np.random.default_rng(3)
    learner = QLearner(GAME, NET, training(minibatches=6), seed=4)
    pool = CircularBuffer(6000, value_dtype(GAME.spec, GAME.action_dtype))

    def choose(states: States, choices: Ragged) -> tuple[np.ndarray, np.ndarray]:
        features = GAME.encode(GAME.observe(states, GAME.to_move(states)), "flat")
        values = forward(features, choices.offsets, GAME.encode_actions(choices.rows))
        explored = rng.random(len(states)) < 0.1
        random = rng.integers(choices.offsets[:-1], choices.offsets[1:])
        chosen = np.where(explored, random, best_rows(choices.offsets, values))
        return chosen, values[chosen]

    clipped = []
    for iteration in range(1, 151):
        forward = QInference(NET, learner.weights())
        pool.add(play(GAME, 500, choose, iteration - 1, rng), rng)
        metrics = learner.fit([pool.sample(6 * 256, rng)], iteration)
        clipped.append(metrics["clipped"])
    found, optimum = values_of(learner), GAME.optimal_values()
    _, offsets, _ = GAME.positions()
    winning = np.maximum.reduceat(optimum, offsets[:-1]) == 1
    best = best_rows(offsets, found)
    assert (optimum[best[winning]] == 1).all()
    assert np.abs(found[best] - optimum[best]).max() < 0.35  # opponents err in a tenth of their moves
    assert 0 < max(clipped) < 0.5
    assert metrics["age"] == pytest.approx(metrics["age_updates"] / 6)
    assert 1 < metrics["age"] < 6  # a pool of about six iterations


finite = st.floats(-5, 5, width=32)


@given(q=finite, acted=finite, staleness=st.floats(0.05, 1.5), floor=st.sampled_from([0.0, 0.01, 0.5, 1.0]))
def test_the_clip_is_the_papers_wherever_the_actors_value_exceeds_the_floor(q, acted, staleness, floor):
    """clip(Q / Q_a, 1 - lambda, 1 + lambda) * Q_a, for both signs of Q_a and where Q has the other one."""
    tensors = torch.tensor([q], dtype=torch.float64), torch.tensor([acted], dtype=torch.float64)
    found = clip_stale(*tensors, staleness, floor).item()
    if acted != 0 and abs(acted) >= floor:
        paper = np.clip(q / acted, 1 - staleness, 1 + staleness) * acted
        assert found == pytest.approx(paper, rel=1e-9, abs=1e-12)
    else:  # the same band as around a value of that size
        half = staleness * floor
        assert found == pytest.approx(np.clip(q, acted - half, acted + half), rel=1e-9, abs=1e-12)


@given(acted=finite, staleness=st.floats(0.05, 1.5), floor=st.floats(0.01, 2), far=st.floats(-3, 3))
def test_only_samples_within_the_band_have_a_gradient(acted, staleness, floor, far):
    half = staleness * max(abs(acted), floor)
    q = torch.tensor([acted + far * half], dtype=torch.float64, requires_grad=True)
    clipped = clip_stale(q, torch.tensor([acted], dtype=torch.float64), staleness, floor)
    clipped.sum().backward()
    assert torch.isfinite(clipped).all()
    if abs(abs(far) - 1) > 1e-6:
        assert q.grad.item() == (1.0 if abs(far) < 1 else 0.0)


def test_a_fresh_net_and_values_of_zero_train_without_a_division():
    """Even with no floor at all, where every sample that has moved is dropped."""
    rows = uniform_rows(300)
    assert (rows["q"] == 0).all()
    for floor in (0.0, 1.0):
        learner = QLearner(GAME, NET, training(staleness_floor=floor), seed=2)
        metrics = learner.fit([rows] * 3, 1)
        assert all(np.isfinite(value) for value in metrics.values())
        assert (metrics["clipped"] == 1) == (floor == 0)
        assert all(np.isfinite(array).all() for array in learner.weights().values())


def test_the_spread_of_values_shows_a_net_that_gives_a_constant():
    rows = uniform_rows(300)
    learner = QLearner(GAME, NET, training(staleness=None, learning_rate=1e-9), seed=2)
    assert learner.fit([rows], 1)["q_spread"] > 1e-2
    with torch.no_grad():
        for array in learner.trainer.net.parameters():
            array.zero_()
        for array in list(learner.trainer.net.parameters())[-1:]:
            array.fill_(0.7)
    metrics = learner.fit([rows], 2)
    assert metrics["q_mean"] == pytest.approx(0.7, abs=1e-4)
    assert metrics["q_spread"] < 1e-3


def test_metrics_are_means_over_rows():
    rows = uniform_rows(200)[:256]
    learner = QLearner(GAME, NET, training(minibatches=5), seed=5)
    features, actions = GAME.encode(rows["infostate"], "flat"), unpack_actions(rows["action"], ACTION)
    with torch.no_grad():
        net = learner.trainer.net
        q = net(net.tensors(features, GAME.encode_actions(actions))).numpy()
    rows["q"] = np.where(np.arange(256) < 64, q + 2, q - 0.25)  # a quarter of them far off
    rows["version"] = np.where(np.arange(256) < 128, 7, 10)
    metrics = learner.fit([rows], 11)
    clipped = np.where(np.arange(256) < 64, np.clip(q, rows["q"] - 0.65 * np.maximum(np.abs(rows["q"]), 1), None), q)
    assert metrics["rows"] == 256
    assert metrics["clipped"] == 0.25
    assert metrics["age"] == 2.5
    assert metrics["age_updates"] == 12.5
    assert metrics["q_mean"] == pytest.approx(q.mean(), abs=1e-5)
    assert metrics["q_spread"] == pytest.approx(q.std(), rel=1e-3)
    assert metrics["q_error"] == pytest.approx(np.mean((q - rows["target"]) ** 2), rel=1e-4)
    assert metrics["q_drift"] == pytest.approx((64 * 2 + 192 * 0.25) / 256, rel=1e-4)
    assert metrics["loss"] == pytest.approx(np.mean((clipped - rows["target"]) ** 2), rel=1e-4)


@pytest.mark.parametrize("pieces", [100, 1024, 10_000])
def test_a_minibatch_in_pieces_makes_the_same_update(pieces):
    rows = uniform_rows(600)[:1100]
    one, other = (QLearner(GAME, NET, training(batch=1100, optimiser="adam"), seed=6) for _ in range(2))
    other._rows = pieces
    first, second = one.fit([rows], 1), other.fit([rows], 1)
    assert first["loss"] == pytest.approx(second["loss"], rel=1e-5)
    for p, q in zip(one.trainer.net.parameters(), other.trainer.net.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(
    "changes",
    [{}, {"optimiser": "rmsprop_tf"}, {"optimiser": "adam", "weight_average": 2.0}],
    ids=["rmsprop", "rmsprop_tf", "adam average"],
)
def test_a_learner_goes_on_bit_for_bit_from_what_was_saved(changes, tmp_path: Path):
    blocks = [uniform_rows(200, seed) for seed in range(4)]
    straight = QLearner(GAME, NET, training(**changes), seed=7)
    straight.fit(blocks[:2], 1)
    save_state(tmp_path / "learner", *straight.state_arrays())
    expected = straight.fit(blocks[2:], 2)
    resumed = QLearner(GAME, NET, training(**changes), seed=8)
    resumed.load_state_arrays(*load_state(tmp_path / "learner"))
    assert resumed.fit(blocks[2:], 2) == expected
    for name, array in straight.weights().items():
        np.testing.assert_array_equal(resumed.weights()[name], array, err_msg=name)


@pytest.mark.parametrize(
    ("network", "changes", "reason"),
    [
        (
            QNetworkSettings(width=33, depth=2),
            {},
            "its hidden.0.weight is 32 x 11, that of the network at hand 33 x 11 ",
        ),
        (QNetworkSettings(width=32, depth=3), {}, "of another network: it has no hidden.2.weight"),
        (NET, {"optimiser": "adam"}, "of the optimiser rmsprop, not of adam"),
        (NET, {"optimiser": "rmsprop_tf"}, "of the optimiser rmsprop, not of rmsprop_tf"),
        (NET, {"weight_average": 1.0}, "of another network: it has no average of the weights"),
    ],
)
def test_state_of_another_learner_is_refused(network, changes, reason):
    saved = QLearner(GAME, NET, training())
    saved.fit([uniform_rows(50)], 1)
    with pytest.raises(ForeignState, match=reason):
        QLearner(GAME, network, training(**changes)).load_state_arrays(*saved.state_arrays())


def test_a_loss_that_is_no_number_ends_the_training():
    rows = uniform_rows(50)
    rows["target"] = 1e30  # its square is beyond float32
    with pytest.raises(TrainingDiverged, match=r"the loss of fit 1 is inf: .*lower it, or set a clip"):
        QLearner(GAME, NET, training()).fit([rows], 1)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_net_that_is_lost_cannot_hide_behind_the_clip(value):
    learner = QLearner(GAME, NET, training())
    with torch.no_grad():
        learner.trainer.net.out.bias.fill_(value)
    with pytest.raises(TrainingDiverged, match=f"the loss of fit 1 is {value}"):
        learner.fit([uniform_rows(50)], 1)


def test_no_rows_change_nothing():
    learner = QLearner(GAME, NET, training())
    before = learner.weights()
    metrics = learner.fit([uniform_rows(50)[:0]], 1)
    assert metrics["rows"] == metrics["loss"] == metrics["age"] == 0
    for name, array in learner.weights().items():
        np.testing.assert_array_equal(array, before[name])


def test_bfloat16_learns_too():
    rows = uniform_rows(500)
    learner = QLearner(GAME, NET, training(staleness=None, bf16=True), seed=9)
    first = learner.fit([rows], 1)["q_error"]
    assert learner.fit([rows] * 10, 1)["q_error"] < 0.97 * first
    assert all(p.dtype == torch.float32 for p in learner.trainer.net.parameters())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("bf16", [False, True])
def test_a_gpu_learns_the_same(bf16):
    rows = uniform_rows(2000)
    settings = training(staleness=None, bf16=bf16)
    cpu, gpu = (QLearner(GAME, NET, settings, device=torch.device(name), seed=10) for name in ("cpu", "cuda"))
    assert cpu.fit([rows] * 4, 1)["loss"] == pytest.approx(gpu.fit([rows] * 4, 1)["loss"], rel=0.05)
    np.testing.assert_allclose(values_of(cpu), values_of(gpu), atol=0.1 if bf16 else 0.01)


def test_a_learner_server_hosts_it():
    runtime = InlineRuntime()
    buffer = runtime.start(BufferServer, CircularBuffer, 5000, value_dtype(GAME.spec, GAME.action_dtype))
    rows = uniform_rows(500)
    runtime.get(buffer.call(BufferServer.add, (1, 0), rows, (1,)))
    arguments = {"game": GAME, "network": NET, "training": training(minibatches=3), "seed": 0}
    server = LearnerServer(QLearner, {0: arguments}, "cpu")
    metrics, weights = server.fit(0, 1, buffer, (2, 1))
    assert metrics["rows"] == 3 * 256
    assert metrics["rows_per_second"] > 0
    assert weights.keys() == server.weights(0).keys()


def test_torchs_global_stream_is_left_alone():
    torch.manual_seed(12)
    before = torch.random.get_rng_state()
    QLearner(GAME, NET, training(), seed=1).fit([uniform_rows(100)], 1)
    assert torch.equal(before, torch.random.get_rng_state())


def test_actions_pass_through_their_bytes():
    """The bytes between the fields of a record are not passed on."""
    raw = np.random.default_rng(0).integers(0, 256, (100, ACTION.itemsize), np.uint8)
    actions = raw.copy().view(ACTION)[:, 0]
    packed = pack_actions(actions)
    assert (packed[:, 1] == 0).all()
    assert (raw[:, 1] != 0).any()
    found = unpack_actions(packed, ACTION)
    for name in ACTION.names:
        np.testing.assert_array_equal(found[name], actions[name])
    assert len(unpack_actions(packed[:0], ACTION)) == len(pack_actions(actions[:0])) == 0


def test_rows_of_weights_that_are_too_old_are_not_trained_on_and_counted() -> None:
    old, new = uniform_rows(300, seed=1, version=0), uniform_rows(300, seed=2, version=4)
    rows = np.concatenate([old, new])
    changed = rows.copy()
    changed["target"][: len(old)] = -3.0
    share = len(old) / len(rows)
    nets = []
    for trained in (rows, changed):
        learner = QLearner(GAME, NET, training(max_age=2, batch=len(rows)), seed=3)
        metrics = learner.fit([trained], 6)
        assert metrics["dropped"] == pytest.approx(share)
        assert metrics["rows"] == len(rows)
        nets.append(values_of(learner))
    assert np.array_equal(*nets), "what they say of the return has no influence"
    free = QLearner(GAME, NET, training(batch=len(rows)), seed=3)
    assert free.fit([rows], 6)["dropped"] == 0
    assert not np.array_equal(values_of(free), nets[0])
