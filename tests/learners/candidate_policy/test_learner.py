"""A policy over candidates: its samples, the gradient of its learner, and the limit of self-play."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from actors.candidate_policy import CandidatePolicyPlayer
from actors.listed_play import SelfPlayTask, SelfPlayWeights
from envs.game import Packed, States
from learners.candidate_policy.learner import CandidatePolicyLearner, log_softmax
from learners.candidate_policy.settings import CandidatePolicyTrainingSettings
from learners.listed.critic import without_critic
from learners.listed.settings import QNetworkSettings
from learners.networks.q_inference import QInference
from learners.samples import choice_dtype
from learners.training import TrainingDiverged
from tests.ragged_game import HeapGame

NET = QNetworkSettings(width=32, depth=1, tower=1, tower_width=32)


@dataclass(frozen=True)
class OpenHeap(HeapGame):
    """A heap that hides nothing: the critic sees it twice."""

    hidden_size = 1

    @property
    def full_inputs(self) -> int:
        return 2 * self.largest

    def observe_hidden(self, states: States, players: NDArray[np.int8]) -> Packed:
        return self.observe(states, players)

    def encode_full(self, packed: Packed, hidden: Packed) -> NDArray[np.float32]:
        return np.concatenate([self.encode(packed, "flat"), self.encode(hidden, "flat")], axis=1)


GAME = OpenHeap()


def training(**changes) -> CandidatePolicyTrainingSettings:
    given = {"batch": 256, "minibatches": 2, "optimiser": "adam", "learning_rate": 3e-3, "clip": 1.0, "max_age": 2}
    return CandidatePolicyTrainingSettings(proposals=3, critic_width=16, **(given | changes))


def player(proposals: int = 3, trace: float = 1.0) -> CandidatePolicyPlayer:
    return CandidatePolicyPlayer(GAME, NET, proposals, trace)


def probabilities(learner: CandidatePolicyLearner) -> NDArray[np.float64]:
    """Of every choice of `HeapGame.positions`."""
    packed, offsets, rows = GAME.positions()
    logits = QInference(NET, without_critic(learner.weights()))(
        GAME.encode(packed, "flat"), offsets, GAME.encode_actions(rows)
    ).astype(np.float64)
    grown = np.exp(logits)
    return grown / np.repeat(np.add.reduceat(grown, offsets[:-1]), np.diff(offsets))


@pytest.mark.parametrize("average", [0.0, 3.0])
def test_a_learner_with_a_start_plays_by_it_before_its_first_fit(average):
    start = CandidatePolicyLearner(GAME, NET, training(), seed=1).weights()
    found = CandidatePolicyLearner(GAME, NET, training(weight_average=average), seed=2, start=start).weights()
    assert found.keys() == start.keys()
    assert all((found[name] == array).all() for name, array in start.items())


def test_logarithms_of_policies_are_torchs():
    counts = [3, 1, 5]
    logits = torch.randn(9, generator=torch.Generator().manual_seed(1)) * 30
    owner = torch.repeat_interleave(torch.arange(3), torch.tensor(counts))
    expected = torch.cat([part.log_softmax(0) for part in logits.split(counts)])
    torch.testing.assert_close(log_softmax(logits, owner, 3), expected)


def test_samples_tell_what_was_proposed_and_how_likely_the_choice_was():
    learner = CandidatePolicyLearner(GAME, NET, training(), seed=1)
    weights, task = SelfPlayWeights(4, learner.weights()), SelfPlayTask((5,), 40, 40)
    stats, block = player().play(task, weights)
    rows = block["values"]
    assert rows.tobytes() == player().play(task, weights)[1]["values"].tobytes()
    assert rows.dtype == choice_dtype(GAME.spec, GAME.action_dtype, 3, 1)
    assert stats["sum/advantage_square"] == pytest.approx(np.square(rows["advantage"]).sum())
    assert (rows["version"] == 4).all()
    _, offsets, actions = GAME.positions()
    policy = probabilities(learner)
    assert len(rows) > 60
    for row in rows:
        choices = row["choices"].copy().view(GAME.action_dtype)[: row["count"], 0]["take"]
        heap = int(row["infostate"][0])
        assert sorted(choices) == list(range(1, min(heap, 3) + 1))
        at = offsets[heap - 1] + int(choices[row["action"]]) - 1
        assert actions["take"][at] == choices[row["action"]]
        assert row["log_probability"] == pytest.approx(np.log(policy[at]), abs=1e-5)
        assert abs(row["value"]) == pytest.approx(1, abs=1e-5), "with lambda = 1 the critic learns the return"


def test_the_gradient_is_that_of_the_objective_written_out():
    """One minibatch, rows played by other weights, in pieces of any length; entropy and critic count as they should."""
    settings = training(entropy=0.1, ratio_clip=0.05)
    learner, other = (CandidatePolicyLearner(GAME, NET, settings, seed=seed) for seed in (2, 3))
    with torch.no_grad():
        for each in (learner, other):
            each.trainer.net.q.out.weight.mul_(20)  # policies that differ by more than the clip
    task = SelfPlayTask((1,), 60, 60)
    part = player(trace=0.5).play(task, SelfPlayWeights(1, other.weights()))[1]["values"]
    net, offsets = learner.trainer.net, GAME.positions()[1]
    packed, _, actions = GAME.positions()
    owner = np.repeat(np.arange(len(packed)), np.diff(offsets))
    logits = net.q(net.tensors(GAME.encode(packed, "flat")[owner], GAME.encode_actions(actions)))
    scale = 1 / np.sqrt(np.square(part["advantage"]).mean())
    total, clipped = torch.zeros(()), 0
    for row in part:
        heap = int(row["infostate"][0])
        logs = logits[offsets[heap - 1] : offsets[heap]].log_softmax(0)
        take = int(row["choices"][row["action"]].copy().view(GAME.action_dtype)[0]["take"])
        ratio, advantage = (logs[take - 1] - float(row["log_probability"])).exp(), float(row["advantage"] * scale)
        bounded = min(max(ratio.item(), 0.95), 1.05)
        if bounded * advantage < ratio.item() * advantage:
            total, clipped = total - bounded * advantage, clipped + 1
        else:
            total = total - ratio * advantage
        full = torch.from_numpy(GAME.encode_full(row["infostate"][None], row["hidden"][None]))
        total = total + 0.25 * (net.values(full)[0] - float(row["value"])) ** 2 + 0.1 * (logs.exp() * logs).sum()
    (total / len(part)).backward()
    expected = [parameter.grad.clone() for parameter in net.parameters()]
    for rows in (1024, 17):
        learner._rows = rows
        net.zero_grad()
        tallies = torch.zeros(5, dtype=torch.float64)
        for piece in learner._pieces(part, np.ones(len(part), bool), 1, tallies):
            piece().backward()
        assert 0 < tallies[3] == clipped < len(part)
        for one, two in zip(expected, (parameter.grad for parameter in net.parameters()), strict=True):
            torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-6)


def test_self_play_learns_to_play_perfectly():
    learner = CandidatePolicyLearner(GAME, NET, training(entropy=0.02, entropy_end=0.005, schedule=100), seed=4)
    worker, metrics = player(trace=0.9), {}
    for t in range(1, 131):
        _, block = worker.play(SelfPlayTask((3, t), 200, 200), SelfPlayWeights(t - 1, learner.weights()))
        metrics = learner.fit([block["values"]] * 4, t)
    offsets = GAME.positions()[1]
    optimum, policy = GAME.optimal_values(), probabilities(learner)
    winning = np.maximum.reduceat(optimum, offsets[:-1]) == 1
    right = np.add.reduceat(policy * (optimum == 1), offsets[:-1])
    assert winning.sum() == 6
    assert right[winning].min() > 0.95
    assert metrics["entropy"] < 0.6
    assert metrics["age"] == 1
    assert metrics["dropped"] == 0


def test_rows_of_weights_that_are_too_old_are_not_trained_on():
    learner = CandidatePolicyLearner(GAME, NET, training(max_age=1), seed=1)
    rows = player().play(SelfPlayTask((5,), 40, 40), SelfPlayWeights(3, learner.weights()))[1]["values"]
    before = learner.weights()
    assert learner.fit([rows], 5)["dropped"] == 1
    assert all((after == before[name]).all() for name, after in learner.weights().items())
    assert learner.fit([rows], 4)["dropped"] == 0


def test_learning_rate_and_entropy_follow_their_schedule():
    settings = training(learning_rate=1e-2, learning_rate_end=1e-4, entropy=0.04, entropy_end=0.01, schedule=3)
    assert [settings.at("learning_rate", t) for t in (1, 2, 3, 9)] == pytest.approx([1e-2, 1e-3, 1e-4, 1e-4])
    assert [settings.at("entropy", t) for t in (1, 2, 3, 9)] == pytest.approx([0.04, 0.02, 0.01, 0.01])
    learner = CandidatePolicyLearner(GAME, NET, settings)
    rows = player().play(SelfPlayTask((5,), 10, 10), SelfPlayWeights(1, learner.weights()))[1]["values"]
    learner.fit([rows], 2)
    assert learner.trainer.optimiser.param_groups[0]["lr"] == pytest.approx(1e-3)


def test_a_loss_that_is_no_number_ends_the_training():
    learner = CandidatePolicyLearner(GAME, NET, training())
    rows = player().play(SelfPlayTask((5,), 10, 10), SelfPlayWeights(1, learner.weights()))[1]["values"]
    rows["value"] = np.nan
    with pytest.raises(TrainingDiverged):
        learner.fit([rows], 1)


@pytest.mark.parametrize("values", [{"entropy": 0.0, "entropy_end": 0.1}, {"proposals": 256}])
def test_settings_that_make_no_sense_are_refused(values):
    with pytest.raises(ValueError, match=r"entropy_end|255"):
        CandidatePolicyTrainingSettings(**values)
