"""The limits of the learners, and that they resume exactly where they were stopped."""

import numpy as np
import pytest
import torch

from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from envs.geister.game import Geister
from learners.deep_cfr.advantage import AdvantageLearner
from learners.devices import choose_device
from learners.dream.baseline import BaselineLearner
from learners.dream.settings import SamplingSettings
from learners.networks.inference import Inference, action_values
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings
from learners.samples import advantage_dtype, pack_mask
from learners.settings import TrainingSettings
from learners.storage import ForeignState
from learners.training import TrainingDiverged
from tests.games import TreeGame, kuhn, pack, random_game, unpack
from tests.trees import Floats, Tree, net_policy

NET = NetworkSettings(trunk="flat", width=64, depth=2, norm="layer", outputs="action")


def advantages_of(learner: AdvantageLearner, game: TreeGame) -> np.ndarray:
    """d(s, a) at every infostate by the weights that are sent to actors."""
    everywhere = pack(np.arange(game.infostates))
    outputs = Inference(learner.network, [learner.weights()])([game.encode(everywhere)[None]])
    values = np.empty((1, *game.legal_at.shape), np.float32)
    action_values(outputs, game.output_slots(everywhere, learner.network.outputs), game.legal_at, values)
    return values[0]


def samples(game: TreeGame, at, targets, iterations, log_weights=0.0) -> np.ndarray:
    rows = np.zeros(len(at), advantage_dtype(game.spec))
    legal = Tree(game).legal[at]
    rows["infostate"] = pack(at)
    rows["advantage"] = np.where(legal, targets, 0)
    rows["legal"] = pack_mask(legal)
    rows["iteration"] = iterations
    rows["log_weight"] = log_weights
    return rows


def weighted_mean(rows: np.ndarray, at: np.ndarray, weight: Floats, infostates: int) -> Floats:
    total = np.zeros((infostates, rows["advantage"].shape[1]))
    np.add.at(total, at, weight[:, None] * rows["advantage"])
    return total / np.maximum(np.bincount(at, weight, infostates), 1e-12)[:, None]


def converge(learner: AdvantageLearner | BaselineLearner, rows: np.ndarray, iteration: int, steps: int) -> None:
    """Steps over all rows together, at three falling rates."""
    for rate in (3e-3, 5e-4, 1e-4):
        learner.trainer.optimiser.param_groups[0]["lr"] = rate
        assert learner.fit([rows] * steps, iteration)["rows"] == steps * len(rows)


@pytest.mark.parametrize("power", [1.0, 0.0, 3.0])
@pytest.mark.parametrize("outputs", ["action", "dense", "sum"])
def test_the_advantage_net_learns_the_weighted_mean_of_its_samples(power, outputs):
    """Linear CFR: with weights t it is sum_t t * d_t(s, a) / sum_t t at every infostate, on legal actions."""
    game, rng = random_game(4), np.random.default_rng(1)
    tree, iterations = Tree(game), 6
    at = rng.choice(np.concatenate([tree.own(0), tree.own(1)]), size=160)
    rows = samples(game, at, rng.normal(size=(160, 3)), rng.integers(1, iterations + 1, size=160))
    settings = NET.model_copy(update={"outputs": outputs})
    learner = AdvantageLearner(game, settings, TrainingSettings(batch=160), iteration_power=power, seed=2)

    converge(learner, rows, iterations, steps=300)
    weight = rows["iteration"].astype(float) ** power
    expected = weighted_mean(rows, at, weight, game.infostates)
    everywhere = np.unique(at)
    legal = tree.legal[everywhere]
    found = advantages_of(learner, game)[everywhere]
    np.testing.assert_allclose(found[legal], expected[everywhere][legal], atol=0.02)


@pytest.mark.parametrize(
    ("importance", "expected"),
    [("none", 0.5), ("full", 0.75), ("clipped", 1.2 / (0.5 + 1.2))],
)
def test_importance_weights_move_the_fixed_point(importance, expected):
    """Targets 0 and 1 with weights 1 and 3: their mean is 2, and 1.2 times that is the bound of ``clipped``."""
    game = kuhn()
    at = np.tile(Tree(game).own(0)[:1], 2)
    rows = samples(game, at, [[0, 0], [1, -1]], 1, np.log([1, 3]) + 50.0)  # any scale of the weights will do
    learner = AdvantageLearner(
        game,
        NET,
        TrainingSettings(batch=2, learning_rate=1e-3),
        importance=importance,
        importance_clip=1.2,
        seed=3,
    )
    learner.fit([rows] * 400, 1)
    np.testing.assert_allclose(advantages_of(learner, game)[at[0]], [expected, -expected], atol=0.01)


@pytest.mark.parametrize(("delta", "expected"), [(None, 3.0), (1.0, 0.25), (100.0, 3.0)])
def test_hubers_loss_pulls_no_stronger_than_its_bend(delta, expected):
    """Targets 0, 0, 0, 0 and 15: their mean is 3. With a bend at 1 the last one pulls by 1, as four errors of 0.25."""
    game = kuhn()
    at = np.tile(Tree(game).own(0)[:1], 5)
    rows = samples(game, at, [[0, 0]] * 4 + [[15, -15]], 1)
    learner = AdvantageLearner(game, NET, TrainingSettings(batch=5, learning_rate=3e-3), huber_delta=delta, seed=3)
    loss = learner.fit([rows] * 600, 1)["loss"]
    assert loss > 0
    np.testing.assert_allclose(advantages_of(learner, game)[at[0]], [expected, -expected], atol=0.05)


def test_illegal_actions_have_no_part_in_the_loss():
    game = random_game(4)
    tree = Tree(game)
    at = np.flatnonzero(tree.legal.sum(1) == 1)[:4]
    rows = samples(game, at, np.zeros((4, 3)), 1)
    learner = AdvantageLearner(game, NET, TrainingSettings(batch=4), seed=4)
    before = advantages_of(learner, game)
    loss = learner.fit([rows], 1)["loss"]
    expected = np.square(before[at][tree.legal[at]]).sum() / 4 / 3
    assert loss == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["kuhn", "ragged"])
def test_the_baseline_net_learns_the_value_of_every_action(name):
    """Expected SARSA under a fixed policy: Q(s*, a) of the actor, from games in which both players explore. Traversals
    with that baseline then have sampled advantages that hardly vary."""
    game = kuhn() if name == "kuhn" else random_game(4)
    tree = Tree(game)
    torch.manual_seed(5)
    policies = tuple(ValueNet(NET, game.spec).inference_weights() for _ in range(2))
    worker = DreamTraverser(game, NET, NET, SamplingSettings(epsilon=1, opponent_epsilon=1))
    _, block = worker.traverse(TraversalTask((6,), 1, 0, 4000), TraversalWeights(1, policies, None))
    rows = np.unique(block["transitions"])
    learner = BaselineLearner(game, NET, TrainingSettings(batch=len(rows)), seed=7)

    converge(learner, rows, 1, steps=400)
    policy = tree.merge(*(net_policy(tree, NET, weights) for weights in policies))
    exact = np.where(game.player == 0, 1, -1)[:, None] * tree.action_values(policy)
    nodes = tree.decisions
    mover = game.player[nodes]
    views = [game.encode(pack(game.observation[nodes, who]))[None] for who in (mover, 1 - mover)]
    found = Inference(NET, [learner.weights()])(views)[0]
    legal = game.children[nodes] >= 0
    np.testing.assert_allclose(found[legal], exact[nodes][legal], atol=0.04)
    with_baseline, without = (
        advantage_error(tree, policy, TraversalWeights(1, policies, weights)) for weights in (learner.weights(), None)
    )
    assert with_baseline < 0.1 * without


def advantage_error(tree: Tree, policy: Floats, weights: TraversalWeights) -> float:
    """Root mean square of sampled less exact advantages of player 0."""
    worker = DreamTraverser(tree.game, NET, NET, SamplingSettings(epsilon=0.5))
    _, block = worker.traverse(TraversalTask((16,), 2, 0, 2000), weights)
    seen = block["transitions"]["infostates"]
    mine = np.isin(unpack(seen[:, 0]), tree.own(0))
    places = {tuple(pair): node for node, pair in enumerate(tree.game.observation) if tree.game.player[node] == 0}
    nodes = [places[tuple(pair)] for pair in np.stack([unpack(seen[mine, view]) for view in (0, 1)], axis=1)]
    error = block["advantages"]["advantage"] - tree.history_advantages(policy, 0)[nodes]
    return float(np.sqrt(np.square(error).mean()))


def test_baseline_targets_leave_batch_normalisation_alone():
    """Running moments come from the states trained on, as many batches as were trained."""
    game = kuhn()
    net = NET.model_copy(update={"norm": "batch"})
    worker = DreamTraverser(game, net, net, SamplingSettings())
    _, block = worker.traverse(TraversalTask((8,), 1, 0, 100), TraversalWeights(0, (None, None), None))
    learner = BaselineLearner(game, net, TrainingSettings(batch=50), seed=9)
    metrics = learner.fit([block["transitions"][:200]], 1)
    assert learner.trainer.net.norm.num_batches_tracked == 4
    assert 0 <= metrics["idle_share"] < 1
    assert "idle_share" not in learner.fit([], 2)  # no minibatch to count by


def test_clipped_baselines_stay_within_the_largest_return():
    """In the recursion and in the targets of the next fit, whatever the net says."""
    game = kuhn()
    wild = BaselineLearner(game, NET, TrainingSettings(batch=50), seed=9, clip=True)
    with torch.no_grad():
        for parameter in wild.trainer.net.parameters():
            parameter.mul_(30)
    weights = TraversalWeights(1, (None, None), wild.weights())
    task = TraversalTask((8,), 1, 0, 200)
    found = {}
    for clip in (False, True):
        worker = DreamTraverser(game, NET, NET, SamplingSettings(clip_baseline=clip))
        _, block = worker.traverse(task, weights)
        found[clip] = np.abs(worker._rows["baseline"]).max()
    assert found[False] > game.spec.max_return == found[True]
    rows = block["transitions"]
    free = BaselineLearner(game, NET, TrainingSettings(batch=50), seed=9)
    free.trainer.net.load_state_dict(wild.trainer.net.state_dict())
    last = rows["next_policy"].sum(1) == 0
    assert np.abs(free._targets(rows).numpy()).max() > game.spec.max_return
    assert np.abs(wild._targets(rows).numpy()[~last]).max() <= game.spec.max_return + 1e-5
    assert (wild._targets(rows).numpy()[last] == rows["reward"][last]).all()


def traversed(game: TreeGame, kind: type, seed: int) -> np.ndarray:
    worker = DreamTraverser(game, NET, NET, SamplingSettings())
    _, block = worker.traverse(TraversalTask((seed,), 1, 0, 200), TraversalWeights(0, (None, None), None))
    return block["advantages" if kind is AdvantageLearner else "transitions"]


@pytest.mark.parametrize("weight_average", [0.0, 9.0])
@pytest.mark.parametrize("warm_start", [True, False])
@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("kind", [AdvantageLearner, BaselineLearner])
def test_a_restored_learner_goes_on_bit_for_bit(kind, norm, warm_start, weight_average):
    game = kuhn()
    net = NET.model_copy(update={"norm": norm})
    training = TrainingSettings(batch=32, warm_start=warm_start, weight_average=weight_average)
    first, second, third = (traversed(game, kind, seed) for seed in (1, 2, 3))
    through = kind(game, net, training, seed=10)
    through.fit([first], 1)
    arrays, meta = through.state_arrays()
    through.fit([second], 2)
    through.fit([third], 3)  # must not reach into the arrays handed out before
    restored = kind(game, net, training, seed=10)
    restored.load_state_arrays(arrays, meta)
    restored.fit([second], 2)
    restored.fit([third], 3)
    expected, found = through.weights(), restored.weights()
    assert expected.keys() == found.keys()
    for name in expected:
        assert expected[name].tobytes() == found[name].tobytes(), name
    mine, theirs = through.state_arrays(), restored.state_arrays()
    assert {name: array.tobytes() for name, array in mine[0].items()} == {
        name: array.tobytes() for name, array in theirs[0].items()
    }
    assert mine[1] == theirs[1]


@pytest.mark.parametrize("kind", [AdvantageLearner, BaselineLearner])
def test_a_warm_start_continues_and_a_reset_forgets(kind):
    game = kuhn()
    first, other, second = (traversed(game, kind, seed) for seed in (1, 2, 3))

    def fitted(warm_start: bool, *blocks: np.ndarray) -> dict[str, np.ndarray]:
        learner = kind(game, NET, TrainingSettings(batch=32, warm_start=warm_start), seed=11)
        for block in blocks:
            learner.fit([block], 1)
        return learner.weights()

    def same(one: dict[str, np.ndarray], two: dict[str, np.ndarray]) -> bool:
        return all(np.array_equal(one[name], two[name]) for name in one)

    assert same(fitted(False, first, second), fitted(False, other, second))  # nothing is left of the first fit
    assert not same(fitted(False, first), fitted(False, first, first))  # and each fit has its own first weights
    assert not same(fitted(True, first, second), fitted(True, other, second))
    assert same(fitted(True, first), fitted(False, first))
    assert same(fitted(True, first), fitted(True, first, first[:0]))  # no data, no change


@pytest.mark.parametrize("kind", [AdvantageLearner, BaselineLearner])
def test_fresh_moments_leave_only_the_weights_of_the_last_fit(kind):
    game = kuhn()
    first, second = (traversed(game, kind, seed) for seed in (1, 2))
    kept, fresh = (kind(game, NET, TrainingSettings(batch=32, keep_moments=keep), seed=11) for keep in (True, False))
    for learner in (kept, fresh):
        learner.fit([first], 1)
    other = kind(game, NET, TrainingSettings(batch=32), seed=12)
    other.trainer.net.load_state_dict(fresh.trainer.net.state_dict())
    for learner in (kept, fresh, other):
        learner.fit([second], 1)
    assert np.array_equal(fresh.weights()["out.w"], other.weights()["out.w"])
    assert not np.array_equal(fresh.weights()["out.w"], kept.weights()["out.w"])


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_averaged_weights_are_the_running_average_over_minibatches(norm):
    """Power 3 by hand over the weights after each step; training itself continues with the plain ones."""
    game = kuhn()
    net = NET.model_copy(update={"norm": norm})
    block = traversed(game, AdvantageLearner, 1)[:64]
    plain = AdvantageLearner(game, net, TrainingSettings(batch=32), seed=3)
    averaged = AdvantageLearner(game, net, TrainingSettings(batch=32, weight_average=3), seed=3)
    average: dict[str, np.ndarray] = {}
    for n in range(1, 7):
        plain.fit([block[:32]], 1)
        averaged.fit([block[:32]], 1)
        for name, value in plain.trainer.net.state_dict().items():
            new = value.double().numpy()
            average[name] = average.get(name, new) * (n - 1) / (n + 3) + new * 4 / (n + 3)
    for name, value in plain.trainer.net.state_dict().items():
        assert torch.equal(value, averaged.trainer.net.state_dict()[name])
    reference = ValueNet(net, game.spec)
    reference.load_state_dict({name: torch.from_numpy(np.asarray(value)) for name, value in average.items()})
    found, wanted = averaged.weights(), reference.inference_weights()
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-5, err_msg=name)
    assert not np.allclose(plain.weights()["out.w"], wanted["out.w"], atol=1e-5)


@pytest.mark.parametrize("kind", [AdvantageLearner, BaselineLearner])
def test_a_loss_that_is_no_number_ends_the_training(kind):
    game = kuhn()
    block = traversed(game, kind, 1).copy()
    block["advantage" if kind is AdvantageLearner else "reward"] = 1e30  # its square is beyond float32
    cure = r"lower it, or bound the targets \(sampling\.target_clip\)" if kind is AdvantageLearner else "lower it"
    with pytest.raises(TrainingDiverged, match=rf"the loss of fit 1 is inf: .*; {cure}$"):
        kind(game, NET, TrainingSettings(batch=32)).fit([block], 1)


def test_state_of_another_net_is_refused():
    game = kuhn()
    arrays, meta = AdvantageLearner(game, NET, TrainingSettings()).state_arrays()
    wider = NET.model_copy(update={"width": 65})
    with pytest.raises(ForeignState, match=r"of another network: its \S+ is .*, that of the network at hand "):
        AdvantageLearner(game, wider, TrainingSettings()).load_state_arrays(arrays, meta)


def test_construction_and_training_leave_torchs_global_stream_alone():
    game = kuhn()
    torch.manual_seed(12)
    before = torch.random.get_rng_state()
    learner = AdvantageLearner(game, NET, TrainingSettings(batch=32, warm_start=False), seed=1)
    learner.fit([traversed(game, AdvantageLearner, 1)], 1)
    learner.fit([traversed(game, AdvantageLearner, 2)], 1)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("clip", [0.01, 1e9])
def test_gradients_are_clipped_to_their_norm(clip):
    game, rng = kuhn(), np.random.default_rng(17)
    at = np.arange(game.infostates)[Tree(game).legal.any(axis=1)]
    rows = samples(game, at, 100 * rng.normal(size=(len(at), 2)), 1)
    learner = AdvantageLearner(game, NET, TrainingSettings(batch=len(at), clip=clip), seed=18)
    learner.fit([rows], 1)
    norm = torch.cat([p.grad.flatten() for p in learner.trainer.net.parameters()]).norm().item()
    assert norm == pytest.approx(0.01, rel=1e-3) if clip == 0.01 else norm > 10


def test_a_last_row_alone_is_left_out():
    game = kuhn()
    rows = traversed(game, AdvantageLearner, 1)[:33]
    learner = AdvantageLearner(game, NET, TrainingSettings(batch=32))
    assert learner.fit([rows], 1)["rows"] == 32
    assert learner.fit([rows[:0]], 1) == {"loss": 0.0, "rows": 0}


def test_bfloat16_learns_too():
    """Targets of the same scale are met to the precision of 8 bits."""
    game, rng = kuhn(), np.random.default_rng(13)
    at = np.arange(game.infostates)[Tree(game).legal.any(axis=1)]
    rows = samples(game, at, rng.normal(size=(len(at), 2)), 1)
    learner = AdvantageLearner(game, NET, TrainingSettings(batch=len(at), bf16=True, learning_rate=2e-3), seed=14)
    learner.fit([rows] * 500, 1)
    np.testing.assert_allclose(advantages_of(learner, game)[at], rows["advantage"], atol=0.1)
    assert all(p.dtype == torch.float32 for p in learner.trainer.net.parameters())


@pytest.mark.parametrize(
    "net",
    [
        NetworkSettings(trunk="flat", width=64, depth=2, norm="layer", outputs="square"),
        NetworkSettings(trunk="conv", width=64, depth=3, norm="batch", outputs="ghost"),
    ],
    ids=["square", "paper"],
)
def test_both_learners_fit_samples_of_geister(net):
    game = Geister(ply_limit=30)
    worker = DreamTraverser(game, net, net, SamplingSettings(ratio_bound=1.0, inverse_bound=4.0))
    _, block = worker.traverse(TraversalTask((15,), 1, 0, 64), TraversalWeights(0, (None, None), None))
    training = TrainingSettings(batch=256)
    learners = {
        "advantages": AdvantageLearner(game, net, training),
        "transitions": BaselineLearner(game, net, training),
    }
    for part, learner in learners.items():
        first = learner.fit([block[part]], 1)["loss"]
        learner.fit([block[part]] * 25, 1)
        assert learner.fit([block[part]], 1)["loss"] < 0.5 * first, part


def test_a_missing_device_is_named():
    assert choose_device("cpu").type == "cpu"
    if not torch.cuda.is_available():
        assert choose_device("auto").type == "cpu"
        with pytest.raises(ValueError, match="no CUDA device"):
            choose_device("cuda")
