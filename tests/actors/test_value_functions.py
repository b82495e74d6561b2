"""Chunks of solved samples: their contents, and that the seed alone decides them."""

import numpy as np
import pytest
import torch

from actors.remote import RayRuntime
from actors.value_functions import ValueSolver, ValueTask
from envs.goofspiel import Goofspiel
from envs.oshi_zumo import OshiZumo
from learners.value_functions.limit import Limit
from learners.value_functions.network import RangeValueNet
from learners.value_functions.samples import random_plans
from learners.value_functions.settings import ValueNetSettings, ValueSolving
from learners.value_functions.trunks import ranges_of
from tests.learners.value_functions.oracle import cut, public_value

GAME, LIMIT = Goofspiel(3), Limit.parse("actions:2")
NETWORK = ValueNetSettings(width=16, depth=2)
SETTINGS = ValueSolving(iterations=400, asked_iterations=20, starts=3)
TASK = ValueTask((1, 2, 3), 5, False)


def solver(**changes: object) -> ValueSolver:
    return ValueSolver(GAME, LIMIT, NETWORK, SETTINGS.model_copy(update=changes))


def weights(seed: int = 0) -> dict:
    torch.manual_seed(seed)
    return RangeValueNet(cut(GAME, "actions:2").encoding, NETWORK, 2.0).inference_weights()


def test_rows_go_strategy_by_strategy_through_the_public_states() -> None:
    stats, rows = solver().solve(TASK)
    split = cut(GAME, "actions:2")
    assert (stats["rows"], len(rows)) == (15, 15)
    assert 0 <= stats["gap"] < 5e-4
    assert stats["seconds"] > 0
    assert rows["public"].tolist() == [0, 1, 2] * 5
    rng = np.random.default_rng(np.random.SeedSequence(TASK.seed))
    ranges = ranges_of(split, random_plans(split, 5, SETTINGS, rng))
    mask = split.encoding.mask()[rows["public"]]
    assert not rows["ranges"][~mask].any()
    assert not rows["values"][~mask].any()
    for player in (0, 1):
        own = rows["ranges"][:, split.encoding.columns(player)]
        np.testing.assert_allclose(own.sum(axis=1), 1, atol=1e-6)
        raw = (own * rows["sums"][:, player : player + 1]).reshape(5, 3, -1).transpose(1, 2, 0)
        np.testing.assert_allclose(raw, split.encoding.spread(player, ranges[player]), atol=1e-6)


def test_values_are_those_of_linear_programs() -> None:
    _, rows = solver().solve(TASK)
    encoding = cut(GAME, "actions:2").encoding
    for row in rows:
        state = int(row["public"])
        weights, found = [], []
        for player in (0, 1):
            places = np.zeros((encoding.num_public, encoding.widths[player]))
            places[state] = row["ranges"][encoding.columns(player)]
            weights.append(encoding.gather(player, places))
            both = row["ranges"].astype(np.float64) * row["values"]
            found.append(both[encoding.columns(player)].sum())
        assert found[0] == pytest.approx(-found[1], abs=1e-5)
        exact = public_value(GAME, "actions:2", state, (weights[0], weights[1]))
        assert found[0] == pytest.approx(exact, abs=1e-3 * 4)


@pytest.mark.parametrize("asked", [False, True])
def test_the_same_seed_gives_the_same_samples(asked: bool) -> None:
    made, net = solver(), weights() if asked else None
    first = made.solve(ValueTask((1, 2, 3), 4, asked), net)[1]
    made.solve(ValueTask((9, 9, 9), 4, asked), net)
    np.testing.assert_array_equal(first, made.solve(ValueTask((1, 2, 3), 4, asked), net)[1])
    np.testing.assert_array_equal(first, solver().solve(ValueTask((1, 2, 3), 4, asked), net)[1])
    for seed in ((0, 2, 3), (1, 1, 3), (1, 2, 4)):
        other = made.solve(ValueTask(seed, 4, asked), net)[1]
        assert (other["ranges"] != first["ranges"]).any()


def test_strategies_that_are_asked_for_depend_on_the_net() -> None:
    made, task = solver(), ValueTask((1, 2, 3), 8, True)
    first, second = (made.solve(task, weights(seed))[1] for seed in (0, 1))
    assert (first["ranges"] != second["ranges"]).any()
    with pytest.raises(ValueError, match="weights"):
        made.solve(task)
    assert (task.kind, TASK.kind) == ("asked", "random")


def test_weights_of_another_net_are_refused() -> None:
    other = RangeValueNet(cut(GAME, "actions:2").encoding, ValueNetSettings(width=8, depth=2), 1.0)
    with pytest.raises(ValueError, match="another net"):
        solver().solve(ValueTask((1, 2, 3), 2, True), other.inference_weights())


def test_a_player_who_does_not_get_to_a_public_state_has_a_random_range_there() -> None:
    """With pure strategies alone: the range is drawn, not uniform, and its sum is 0."""
    made = ValueSolver(OshiZumo(coins=4), Limit.parse("actions:4"), NETWORK, ValueSolving(iterations=50, pure=1.0))
    _, rows = made.solve(ValueTask((1, 1, 1), 20, False))
    split = cut(OshiZumo(coins=4), "actions:4")
    drawn = 0
    for player in (0, 1):
        own = rows["ranges"][:, split.encoding.columns(player)]
        np.testing.assert_allclose(own.sum(axis=1), 1, atol=1e-6)
        lost = rows["sums"][:, player] == 0
        drawn += ((own[lost] > 0) & (own[lost] < 1)).any(axis=1).sum()
        assert set(np.unique(own[~lost]).tolist()) == {0.0, 1.0}, "a pure strategy comes to one history"
        assert set(np.unique(rows["sums"]).tolist()) == {0.0, 1.0}
    assert drawn > 5


def test_workers_of_ray_make_the_same(ray_runtime: RayRuntime) -> None:
    from actors.pool import WorkerPool

    tasks = [ValueTask((1, 1, chunk), 3, False) for chunk in range(4)]
    pool = WorkerPool(ray_runtime, ValueSolver, (GAME, LIMIT, NETWORK, SETTINGS))
    found = list(pool.run(ValueSolver.solve, [(task,) for task in tasks]))
    assert [args[0] for args, _, _ in found] == tasks, "in order"
    for task, (_, stats, block) in zip(tasks, found, strict=True):
        wanted_stats, wanted = solver().solve(task)
        np.testing.assert_array_equal(ray_runtime.get(block), wanted)
        assert stats["gap"] == wanted_stats["gap"]
