"""The learner of value functions, and where its samples come from."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from learners.samples import range_value_dtype
from learners.settings import TrainingSettings
from learners.storage import ForeignState, load_state, save_state
from learners.value_functions.learner import RangeValueLearner, validation_losses
from learners.value_functions.limit import Limit
from learners.value_functions.network import NetValues, RangeValueNet
from learners.value_functions.samples import asked_plans, random_plans, solve_samples, typical_value
from learners.value_functions.settings import ValueNetSettings, ValueSolving
from learners.value_functions.solver import DepthLimitedSolver
from learners.value_functions.trunks import plans_of, random_policies
from tests.learners.value_functions.oracle import SMALL, cut, named

GAME, LIMIT = Goofspiel(3), "actions:2"
NETWORK = ValueNetSettings(width=32, depth=2)
SOLVING = ValueSolving(iterations=100, asked_iterations=12, starts=4)


def learner(loss: str = "huber", seed: int = 1, network: ValueNetSettings = NETWORK, **training) -> RangeValueLearner:
    chosen = TrainingSettings(**({"batch": 32, "minibatches": None} | training))
    return RangeValueLearner(GAME, Limit.parse(LIMIT), network, chosen, loss, seed=seed)  # type: ignore[arg-type]


def samples(strategies: int, seed: int = 1) -> np.ndarray:
    split, rng = cut(GAME, LIMIT), np.random.default_rng(seed)
    return solve_samples(split, random_plans(split, strategies, SOLVING, rng), SOLVING, rng)[0]


def net_of(made: RangeValueLearner, network: ValueNetSettings = NETWORK) -> RangeValueNet:
    return RangeValueNet.load(cut(GAME, LIMIT).encoding, network, made.weights())


def answers(net: RangeValueNet, rows: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        public = torch.from_numpy(rows["public"].astype(np.int64))
        return net(public, torch.from_numpy(rows["ranges"].copy())).numpy().astype(np.float64)


@pytest.mark.parametrize("loss", ["huber", "l1", "linf"])
def test_losses_are_what_is_written_down_here(loss: str) -> None:
    """The loss of the first minibatch, before the first step, in the units of the net's outputs."""
    rows, made = samples(8), learner(loss)
    net = net_of(made)
    error = np.abs(answers(net, rows) - rows["values"] / float(net.scale))
    mask = cut(GAME, LIMIT).encoding.mask()[rows["public"]]
    assert not error[~mask].any()
    each = {"huber": np.where(error < 1, error**2 / 2, error - 0.5), "l1": error}
    wanted = error.max(axis=1).mean() if loss == "linf" else each[loss][mask].mean()
    found = made.fit([rows], 1)
    assert found["loss"] == pytest.approx(wanted, rel=1e-4)
    assert found["rows"] == 24


def test_a_net_of_reach_probabilities_is_fitted_to_the_values_of_the_game() -> None:
    """So its errors are those of the game in other units, and of a state that the other player never reaches 0."""
    rows, network = samples(8), NETWORK.model_copy(update={"ranges": "reach"})
    rows["sums"][::4, 0] = 0
    made, split = learner("l1", network=network), cut(GAME, LIMIT)
    net = RangeValueNet.load(split.encoding, network, made.weights())
    widths = split.encoding.widths
    own, other = (np.repeat(sums, widths, axis=1) for sums in (rows["sums"], rows["sums"][:, ::-1]))
    with torch.inference_mode():
        public = torch.from_numpy(rows["public"].astype(np.int64))
        found = net(public, torch.from_numpy(rows["ranges"] * own)).numpy().astype(np.float64)
    error = np.abs(found - rows["values"] * other / float(net.scale))[split.encoding.mask()[rows["public"]]]
    held = validation_losses(net, rows)
    assert held["fitted_l1"] == pytest.approx(error.mean(), rel=1e-4)
    assert held["l1"] == pytest.approx(error.mean() * float(net.scale), rel=1e-4)
    assert made.fit([rows], 1)["loss"] == pytest.approx(error.mean(), rel=1e-4)
    assert float(net.scale) < float(net_of(learner()).scale)  # in this game they are below 1


@pytest.mark.parametrize("loss", ["huber", "l1", "linf"])
def test_the_fitted_loss_of_held_out_rows_is_that_of_training(loss: str) -> None:
    rows, made = samples(8), learner(loss)
    net = net_of(made)
    assert made.fit([rows], 1)["loss"] == pytest.approx(validation_losses(net, rows)[f"fitted_{loss}"], rel=1e-4)


@pytest.mark.parametrize("loss", ["huber", "l1", "linf"])
def test_a_small_data_set_is_learnt_by_heart(loss: str) -> None:
    rows, made = samples(10), learner(loss)
    before = made.fit([rows], 1)["loss"]
    for factor in (3e-3, 3e-4):
        for group in made.trainer.optimiser.param_groups:
            group["lr"] = factor
        for t in range(300):
            after = made.fit([rows], t + 2)["loss"]
    assert after < before / (50 if loss == "huber" else 5)
    assert validation_losses(net_of(made), rows)["fitted_largest"] < 1


@pytest.mark.parametrize("ranges", ["normalised", "reach"])
def test_it_generalises_to_other_strategies(ranges: str) -> None:
    network = NETWORK.model_copy(update={"ranges": ranges})
    made, shown, hidden = learner(network=network, minibatches=400), samples(300), samples(50, seed=2)
    draws = np.random.default_rng(1)
    before = validation_losses(net_of(made, network), hidden)
    made.fit((shown[draws.integers(len(shown), size=64)] for _ in range(600)), 1)
    after = validation_losses(net_of(made, network), hidden)
    for name in before:
        assert after[name] < before[name] / 2


def test_a_state_of_the_other_form_of_ranges_is_refused() -> None:
    arrays, meta = learner().state_arrays()
    reach = NETWORK.model_copy(update={"ranges": "reach"})
    with pytest.raises(ForeignState, match=r"network\.ranges=normalised, not reach"):
        learner(network=reach).load_state_arrays(arrays, meta)
    del meta["ranges"]  # as in states from before there was a choice
    learner().load_state_arrays(arrays, meta)
    with pytest.raises(ForeignState, match=r"network\.ranges=normalised, not reach"):
        learner(network=reach).load_state_arrays(arrays, meta)


@pytest.mark.parametrize("average", [0.0, 10.0])
def test_saved_and_restored_it_goes_on_to_the_bit(tmp_path: Path, average: float) -> None:
    rows, made = samples(10), learner(weight_average=average)
    for t in (1, 2):
        made.fit([rows], t)
    arrays, meta = made.state_arrays()
    save_state(tmp_path / "state.safetensors", arrays, meta)
    saved = made.weights()
    made.fit([rows[::-1].copy()], 3)
    again = learner(seed=9, weight_average=average)
    again.load_state_arrays(*load_state(tmp_path / "state.safetensors"))
    for name, array in again.weights().items():
        np.testing.assert_array_equal(array, saved[name])
    again.fit([rows[::-1].copy()], 3)
    assert set(again.weights()) == set(made.weights())
    for name, array in again.weights().items():
        np.testing.assert_array_equal(array, made.weights()[name])


def test_a_state_of_another_net_is_refused() -> None:
    arrays, meta = learner(network=ValueNetSettings(width=16, depth=2)).state_arrays()
    with pytest.raises(ForeignState):
        learner().load_state_arrays(arrays, meta)


def test_the_seed_decides_the_weights() -> None:
    first, same, other = learner().weights(), learner().weights(), learner(seed=2).weights()
    assert all((same[name] == array).all() for name, array in first.items())
    assert any((other[name] != array).any() for name, array in first.items())


@pytest.mark.parametrize("piece", [1, 7, 8192])
def test_validation_losses_against_numpy(piece: int) -> None:
    """Both for ranges of the game, where the other's reach is a factor, and for those that sum to 1, in units of the
    net's outputs."""
    rows, made = samples(20), learner()
    rows["values"] *= 3  # so that Huber's loss is beyond its bend somewhere
    net, encoding = net_of(made), cut(GAME, LIMIT).encoding
    found = validation_losses(net, rows, piece)
    errors: dict[str, list[list[float]]] = {"": [], "fitted_": []}
    predicted, scale = answers(net, rows), float(net.scale)
    for row, answer in zip(rows, predicted, strict=True):
        state = int(row["public"])
        fitted, raw = [], []
        for player in (0, 1):
            for place in range(encoding.widths[player]):
                column = encoding.columns(player).start + place
                if encoding.mask()[state, column]:
                    fitted.append(abs(answer[column] - float(row["values"][column]) / scale))
                    raw.append(fitted[-1] * scale * float(row["sums"][1 - player]))
        errors["fitted_"].append(fitted)
        errors[""].append(raw)
    for prefix, by_row in errors.items():
        each = np.concatenate([np.array(row) for row in by_row])
        assert max(each) > 1 > min(each)
        huber = [e**2 / 2 if e < 1 else e - 0.5 for e in each]
        assert found[f"{prefix}huber"] == pytest.approx(np.mean(huber), rel=1e-4)
        assert found[f"{prefix}l1"] == pytest.approx(each.mean(), rel=1e-4)
        assert found[f"{prefix}linf"] == pytest.approx(np.mean([max(row) for row in by_row]), rel=1e-4)
        assert found[f"{prefix}largest"] == pytest.approx(each.max(), rel=1e-4)
    assert set(found) == {f"{p}{name}" for p in ("", "fitted_") for name in ("huber", "l1", "linf", "largest")}


def test_the_unit_of_outputs_is_the_size_of_values() -> None:
    """Root of the mean square, near that of other strategies; the same whenever it is computed."""
    split = cut(GAME, LIMIT)
    rows = samples(200, seed=3)
    values = rows["values"][split.encoding.mask()[rows["public"]]]
    assert typical_value(split) == typical_value(split) == learner().scale
    assert typical_value(split) == pytest.approx(np.sqrt((values**2).mean()), rel=0.2)


def test_a_row_for_each_strategy_and_public_state() -> None:
    rows = samples(6)
    assert rows.dtype == range_value_dtype(cut(GAME, LIMIT).encoding.width)
    assert rows["public"].tolist() == [0, 1, 2] * 6


@pytest.mark.parametrize("case", SMALL, ids=named)
def test_random_strategies_are_distributions(case) -> None:
    split = cut(*case)
    policies = random_policies(split, 50, np.random.default_rng(1))
    for treeplex, own in zip(split.trunk.players, policies, strict=True):
        assert own.shape == (treeplex.num_sequences, 50)
        assert (own[0] == 1).all()
        assert (own >= 0).all()
        for j in range(len(treeplex.parent)):
            np.testing.assert_allclose(own[treeplex.begin[j] : treeplex.begin[j + 1]].sum(axis=0), 1, atol=1e-6)


@pytest.mark.parametrize("pure", [0.0, 0.1, 0.7, 1.0])
def test_the_share_of_pure_strategies_is_what_was_asked_for(pure: float) -> None:
    """Within 4.5 standard deviations; where they are pure, every action is as likely."""
    split = cut(Goofspiel(4), "actions:4")
    policies = random_policies(split, 2000, np.random.default_rng(2), pure)
    certain, total, chosen = 0, 0, []
    for treeplex, own in zip(split.trunk.players, policies, strict=True):
        for j in range(len(treeplex.parent)):
            mine = own[treeplex.begin[j] : treeplex.begin[j + 1]]
            sure = (mine == 1).any(axis=0)
            assert (mine[:, sure].sum(axis=0) == 1).all()
            certain, total = certain + int(sure.sum()), total + len(sure)
            if len(mine) == 4:
                chosen += mine[:, sure].argmax(axis=0).tolist()
    assert abs(certain - pure * total) <= 4.5 * np.sqrt(pure * (1 - pure) * total)
    if pure:
        counts = np.bincount(chosen, minlength=4)
        assert (np.abs(counts - len(chosen) / 4) < 4.5 * np.sqrt(len(chosen) * 3 / 16)).all()


def test_mixed_strategies_are_uniform_over_all_distributions() -> None:
    """Of two actions the first has a uniform probability, of three 1 - sqrt(1 - u); infosets are drawn apart."""
    two = random_policies(cut(Kuhn(), "actions:2"), 2000, np.random.default_rng(3), 0.0)[0][1:]
    assert kstest(two[0], "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(two[0], two[2])[0, 1]) < 0.1
    three = random_policies(cut(GAME, LIMIT), 2000, np.random.default_rng(3), 0.0)[0][1:]
    assert kstest(three[0], lambda x: 1 - (1 - x) ** 2).pvalue > 1e-3


def test_strategies_that_are_asked_for_are_iterates_of_the_solver() -> None:
    """Each is the policy of some start at some iteration; the first start is uniform play, the others are random."""
    split = cut(Goofspiel(4), "actions:4")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        function = NetValues(split, RangeValueNet(split.encoding, NETWORK, 1.0))
    found = asked_plans(split, function, 40, SOLVING, np.random.default_rng(7))
    assert [plan.shape for plan in found] == [(treeplex.num_sequences, 40) for treeplex in split.trunk.players]
    start = random_policies(split, SOLVING.starts, np.random.default_rng(7), SOLVING.pure)
    for own, even in zip(start, DepthLimitedSolver(split, function).current_policies(), strict=True):
        own[:, 0] = even[:, 0]
    met: list[tuple[int, int]] = []
    solver = DepthLimitedSolver(split, function, start=start)
    played = []
    for _ in range(SOLVING.asked_iterations):
        played.append([plan.astype(np.float32) for plan in solver.plans])
        solver.run(1)
    for column in range(40):
        at = [
            (t, k)
            for t, plans in enumerate(played)
            for k in range(SOLVING.starts)
            if all(np.allclose(plans[p][:, k], found[p][:, column], atol=1e-6) for p in (0, 1))
        ]
        assert at, "no start plays this"
        met.append(at[0])
    assert len({t for t, _ in met}) > 6, "at random iterations"
    assert {k for _, k in met} == set(range(SOLVING.starts)), "of every start"


def test_plans_of_random_strategies_come_from_their_policies() -> None:
    split = cut(GAME, LIMIT)
    found = random_plans(split, 9, SOLVING, np.random.default_rng(4))
    wanted = plans_of(split.trunk, random_policies(split, 9, np.random.default_rng(4), SOLVING.pure))
    for plan, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(plan, other)
