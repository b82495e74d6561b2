"""The value net and its use as a value function: properties that hold exactly, whatever its weights."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.value_functions.network import NetValues, RangeValueNet, rows_of
from learners.value_functions.settings import ValueNetSettings
from learners.value_functions.trunks import normalise
from tests.learners.value_functions.oracle import LARGER, SMALL, cut, named

CASES = (SMALL[1], SMALL[5], SMALL[7], SMALL[9], LARGER[0], LARGER[4])
SEEDS = st.integers(0, 2**32 - 1)


def net_of(split, seed: int = 0, scale: float = 3.0, **changes) -> RangeValueNet:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RangeValueNet(split.encoding, ValueNetSettings(**({"width": 24, "depth": 2} | changes)), scale)


def random_reaches(split, batch: int, seed: int):
    rng = np.random.default_rng(seed)
    first, second = (rng.exponential(size=(count, batch)) for count in split.histories)
    return first, second


def rows_at_random(split, count: int, seed: int):
    """Public states, and ranges in their places that sum to 1 for either player."""
    rng = np.random.default_rng(seed)
    encoding = split.encoding
    public = rng.integers(encoding.num_public, size=count)
    ranges = rng.exponential(size=(count, encoding.width)) * encoding.mask()[public]
    for player in (0, 1):
        own = ranges[:, encoding.columns(player)]
        own /= own.sum(axis=1, keepdims=True)
    return public, ranges.astype(np.float32)


@pytest.mark.parametrize("zero_sum", [True, False])
@pytest.mark.parametrize("case", CASES, ids=named)
def test_it_computes_what_is_written_down_here(case, zero_sum: bool) -> None:
    """Layer by layer in NumPy."""
    split = cut(*case)
    encoding, net = split.encoding, net_of(split, zero_sum=zero_sum, depth=3)
    public, ranges = rows_at_random(split, 40, 1)
    mask = encoding.mask().astype(np.float64)
    counts = [mask[:, encoding.columns(player)].sum(axis=1).mean() for player in (0, 1)]
    gain = np.concatenate([np.full(encoding.widths[player], np.sqrt(counts[player])) for player in (0, 1)])
    x = np.concatenate([encoding.features[public], ranges * gain], axis=1).astype(np.float64)
    weights = net.inference_weights()
    names = [name.removesuffix(".weight") for name in weights if name.endswith(".weight")]
    assert len(names) == 4
    for i, name in enumerate(names):
        x = x @ weights[f"{name}.weight"].astype(np.float64).T + weights[f"{name}.bias"]
        x = np.maximum(x, 0) if i < 3 else x
    x *= mask[public]
    if zero_sum:
        x -= 0.5 * (x * ranges).sum(axis=1, keepdims=True) * mask[public]
    with torch.inference_mode():
        found = net(torch.from_numpy(public), torch.from_numpy(ranges)).numpy()
    np.testing.assert_allclose(found, x, atol=1e-5)


@settings(max_examples=30)
@given(st.sampled_from(CASES), SEEDS)
def test_places_of_nobody_are_0_and_the_sum_too(case, seed: int) -> None:
    split = cut(*case)
    public, ranges = rows_at_random(split, 16, seed)
    with torch.inference_mode():
        found = net_of(split, seed)(torch.from_numpy(public), torch.from_numpy(ranges)).numpy()
    mask = split.encoding.mask()[public]
    assert not found[~mask].any()
    assert found[mask].any()
    np.testing.assert_allclose((found * ranges).sum(axis=1), 0, atol=1e-5)


@settings(max_examples=30)
@given(st.sampled_from(CASES), SEEDS)
def test_of_reach_probabilities_the_sum_is_0_too(case, seed: int) -> None:
    """One player in four does not reach the public state, and both in one of sixteen."""
    split, rng = cut(*case), np.random.default_rng(seed)
    public, ranges = rows_at_random(split, 32, seed)
    sums = rng.random((32, 2)) * (rng.random((32, 2)) < 0.75)
    ranges *= np.repeat(sums, split.encoding.widths, axis=1).astype(np.float32)
    with torch.inference_mode():
        found = net_of(split, seed, ranges="reach")(torch.from_numpy(public), torch.from_numpy(ranges)).numpy()
    assert np.isfinite(found).all()
    assert not found[~split.encoding.mask()[public]].any()
    np.testing.assert_allclose((found * ranges).sum(axis=1), 0, atol=1e-5)


def test_without_the_correction_it_is_not_0() -> None:
    split = cut(*CASES[1])
    public, ranges = rows_at_random(split, 16, 1)
    with torch.inference_mode():
        found = net_of(split, zero_sum=False)(torch.from_numpy(public), torch.from_numpy(ranges)).numpy()
    assert np.abs((found * ranges).sum(axis=1)).max() > 1e-3


@settings(max_examples=30)
@given(st.sampled_from(CASES), SEEDS, st.integers(0, 1), st.integers(-20, 20))
def test_degree_1_in_the_others_range_and_0_in_the_own(case, seed: int, player: int, power: int) -> None:
    """To the last bit, for powers of two."""
    split = cut(*case)
    function = NetValues(split, net_of(split, seed))
    reaches = random_reaches(split, 3, seed)
    before = function.values(reaches)
    after = function.values(tuple(r * 2.0**power if p == player else r for p, r in enumerate(reaches)))
    np.testing.assert_array_equal(after[player], before[player])
    np.testing.assert_array_equal(after[1 - player], before[1 - player] * 2.0**power)


@settings(max_examples=20)
@given(st.sampled_from(CASES), SEEDS)
def test_degrees_hold_public_state_by_public_state(case, seed: int) -> None:
    """Another factor in each of them, and any factor but for rounding."""
    split, rng = cut(*case), np.random.default_rng(seed)
    function = NetValues(split, net_of(split, seed))
    reaches = random_reaches(split, 2, seed)
    factors = rng.uniform(0.1, 5.0, size=(2, split.encoding.num_public, 1))
    public = split.encoding.public
    after = function.values(tuple(r * factors[p][public[p]] for p, r in enumerate(reaches)))
    for player, before in enumerate(function.values(reaches)):
        np.testing.assert_allclose(after[player], before * factors[1 - player][public[player]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_reaches_times_values_sum_to_0(case) -> None:
    """The game is zero-sum in each public state, whatever the reaches."""
    split = cut(*case)
    reaches = random_reaches(split, 5, 1)
    values = NetValues(split, net_of(split)).values(reaches)
    sums = [split.encoding.groups[player] @ (reaches[player] * values[player]) for player in (0, 1)]
    scale = max(np.abs(sums[0]).max(), 1.0)
    np.testing.assert_allclose(sums[0] + sums[1], 0, atol=1e-5 * scale)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_values_are_the_nets_answers_history_by_history(case) -> None:
    """Row by row: one public state, one column, the places of its histories."""
    split = cut(*case)
    encoding, net = split.encoding, net_of(split, scale=7.0)
    reaches = random_reaches(split, 2, 3)
    found = NetValues(split, net).values(reaches)
    for state in range(encoding.num_public):
        for k in (0, 1):
            row, sums = np.zeros(encoding.width, np.float32), []
            for player in (0, 1):
                mine = np.flatnonzero(encoding.public[player] == state)
                own = reaches[player][mine, k]
                sums.append(own.sum())
                row[encoding.columns(player).start + encoding.places[player][mine]] = own / own.sum()
            with torch.inference_mode():
                answer = net(torch.tensor([state]), torch.from_numpy(row[None])).numpy()[0] * 7.0
            for player in (0, 1):
                mine = np.flatnonzero(encoding.public[player] == state)
                wanted = answer[encoding.columns(player).start + encoding.places[player][mine]] * sums[1 - player]
                np.testing.assert_allclose(found[player][mine, k], wanted, rtol=1e-4, atol=1e-4)


def test_a_net_of_reach_probabilities_is_asked_with_them() -> None:
    split = cut(*CASES[1])
    encoding, net = split.encoding, net_of(split, scale=7.0, ranges="reach")
    reaches = random_reaches(split, 2, 3)
    reaches[0][encoding.public[0] == 1] = 0.0
    found = NetValues(split, net).values(reaches)
    rows = rows_of(encoding, reaches).astype(np.float32)
    with torch.inference_mode():
        answer = net(torch.arange(encoding.num_public).repeat_interleave(2), torch.from_numpy(rows)).numpy() * 7.0
    for player in (0, 1):
        own = answer.reshape(encoding.num_public, 2, -1)[:, :, encoding.columns(player)]
        wanted = own[encoding.public[player], :, encoding.places[player]]
        wanted[(encoding.public[player] == 1) & (player == 1)] = 0.0  # the other player does not get there
        np.testing.assert_allclose(found[player], wanted, rtol=1e-5, atol=1e-5)


def test_where_nobody_gets_to() -> None:
    """A player without reach has a uniform range there, and the other's values are 0."""
    split = cut(*CASES[1])
    encoding, function = split.encoding, NetValues(split, net_of(split))
    first, second = random_reaches(split, 1, 5)
    gone = encoding.public[0] == 1
    none, even = first.copy(), first.copy()
    none[gone], even[gone] = 0.0, 1.0
    found, wanted = function.values((none, second)), function.values((even, second))
    np.testing.assert_array_equal(found[0], wanted[0])
    there = encoding.public[1] == 1
    assert not found[1][there].any()
    np.testing.assert_array_equal(found[1][~there], wanted[1][~there])


def test_rows_are_spread_ranges_public_state_by_public_state() -> None:
    split = cut(*CASES[4])
    (first, second), _ = normalise(split, random_reaches(split, 3, 1))
    rows = rows_of(split.encoding, (first, second)).reshape(split.encoding.num_public, 3, -1)
    for player, own in ((0, first), (1, second)):
        wanted = split.encoding.spread(player, own).transpose(0, 2, 1)
        np.testing.assert_array_equal(rows[:, :, split.encoding.columns(player)], wanted)
    np.testing.assert_allclose(rows.sum(axis=2), 2)


def test_weights_go_there_and_back() -> None:
    split = cut(*CASES[1])
    net = net_of(split, scale=5.0)
    again = RangeValueNet.load(split.encoding, net.settings, net.inference_weights())
    assert float(again.scale) == 5.0
    assert not again.training
    reaches = random_reaches(split, 2, 1)
    for found, wanted in zip(*(NetValues(split, n).values(reaches) for n in (again, net)), strict=True):
        np.testing.assert_array_equal(found, wanted)
    weights = net.inference_weights()
    for array in weights.values():
        array += 1
    assert float(net.scale) == 5.0, "they are copies"


@pytest.mark.parametrize("change", ["wider", "deeper", "shallower", "missing", "extra", "game"])
def test_weights_of_another_net_are_refused(change: str) -> None:
    split = cut(*CASES[1])
    wanted = ValueNetSettings(width=24, depth=2)
    weights = net_of(split).inference_weights()
    if change == "wider":
        weights = net_of(split, width=25).inference_weights()
    elif change in ("deeper", "shallower"):
        weights = net_of(split, depth=3 if change == "deeper" else 1).inference_weights()
    elif change == "missing":
        del weights["scale"]
    elif change == "extra":
        weights["extra"] = np.zeros(3, np.float32)
    else:
        weights = net_of(cut(*CASES[0])).inference_weights()
    with pytest.raises(ValueError, match="another net") as caught:
        RangeValueNet.load(split.encoding, wanted, weights)
    assert "\n" not in str(caught.value)
