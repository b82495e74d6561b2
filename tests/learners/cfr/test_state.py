"""The arrays of vector CFR: the worked example of `learners.cfr.vector`, and refusals of arrays that do not fit."""

import numpy as np
import pytest

from envs.kuhn import Kuhn
from envs.leduc import Leduc
from learners.cfr.sequence_form import realization_plan, shares
from learners.cfr.state import check_pair, check_state, new_state
from learners.cfr.vector_solver import VectorSolver
from learners.value_functions.batched import BatchSolver
from learners.value_functions.bottom import solve_bottom
from learners.value_functions.exploitability import TrunkEvaluator
from learners.value_functions.solver import DepthLimitedSolver, ZeroValues
from tests.learners.cfr.oracle import form_of
from tests.learners.value_functions.oracle import cut


def test_the_worked_example() -> None:
    """Iteration 1 of CFR on Kuhn poker, player 0 with a jack."""
    form = form_of(Kuhn())
    treeplex = form.players[0]
    assert treeplex.begin.tolist() == [1, 3, 5, 7, 9, 11, 13]
    assert treeplex.parent.tolist() == [0, 0, 0, 1, 3, 5]
    ends = form.gradient(0, form.plans(form.tree.uniform())[1])
    assert ends[[1, 2, 7, 8]] == pytest.approx([-1 / 6, -1 / 6, -1 / 6, -1 / 3])
    solver = VectorSolver(form, "cfr")
    solver.run(1)
    state = solver._states[0]
    assert state.regrets[[1, 2, 7, 8]] == pytest.approx([-1 / 8, 1 / 8, 1 / 12, -1 / 12])
    assert state.policy[[1, 2, 7, 8]] == pytest.approx([0, 1, 1, 0])
    assert state.plan[[0, 1, 2, 7, 8]] == pytest.approx([1, 0, 1, 0, 0])


@pytest.mark.parametrize("batch", [None, 1, 5, 64])
def test_arrays_begin_at_a_cache_line(batch: int | None) -> None:
    form = form_of(Leduc())
    roots = None if batch is None else np.full((1, batch), 0.5)
    state = new_state(form.players[0], form.payoffs(np.float32)[0], roots)
    arrays = [state.regrets, state.policy, state.plan, state.reach, state.average, state.values]
    assert all(array.ctypes.data % 64 == 0 and array.flags.c_contiguous for array in arrays)
    assert {array.shape[1:] for array in arrays} == {() if batch is None else (batch,)}


def test_a_state_with_an_array_of_another_shape_or_type_is_refused_by_name() -> None:
    form = form_of(Kuhn())
    first, second = (new_state(t, p) for t, p in zip(form.players, form.payoffs(), strict=True))
    for name in ("regrets", "policy", "plan", "reach", "average", "values"):
        for wrong in (np.zeros(12), np.zeros((13, 1)), np.zeros(13, np.float32)):
            with pytest.raises(ValueError, match=rf"^{name} .*float64\[13\]"):
                check_state(first._replace(**{name: wrong}))
    with pytest.raises(ValueError, match=r"^roots"):
        check_state(first._replace(roots=np.ones(2)))
    with pytest.raises(ValueError, match=r"^begin"):
        check_state(first._replace(treeplex=first.treeplex._replace(begin=first.treeplex.begin.astype(np.int64))))
    with pytest.raises(ValueError, match=r"^parent"):
        check_state(first._replace(treeplex=first.treeplex._replace(parent=np.full(6, 13, np.uint32))))
    with pytest.raises(ValueError, match=r"^indptr"):
        check_state(first._replace(payoffs=first.payoffs._replace(indptr=first.payoffs.indptr[:-1])))
    far = first._replace(payoffs=first.payoffs._replace(indices=first.payoffs.indices + np.uint32(13)))
    with pytest.raises(ValueError, match=r"^indices .*13"):
        check_pair(far, second)
    with pytest.raises(ValueError, match=r"^policy"):
        check_pair(first, new_state(form.players[1], form.payoffs()[1], np.ones((1, 3))))


def test_entries_refuse_arrays_that_do_not_fit() -> None:
    form, split = form_of(Kuhn()), cut(Kuhn(), "actions:1")
    treeplex = form.players[0]
    with pytest.raises(ValueError, match=r"^policy .*\[13, 1\].*\[12, 1\]"):
        realization_plan(treeplex, np.ones((12, 1)))
    with pytest.raises(ValueError, match=r"^roots .*\[1, 1\].*\[2, 1\]"):
        realization_plan(treeplex, np.ones((13, 1)), np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"^weights"):
        shares(treeplex, np.ones((14, 2)))
    with pytest.raises(ValueError, match=r"^policy"):
        form.plans(np.ones(23))
    ranges = [np.ones((count, 2)) for count in split.histories]
    with pytest.raises(ValueError, match=r"^roots"):
        BatchSolver(split.bottom, (ranges[0][:-1], ranges[1]))
    with pytest.raises(ValueError, match=r"^ranges"):
        solve_bottom(split, (ranges[0], ranges[1][:, :1]))
    with pytest.raises(ValueError, match=r"^plans"):
        TrunkEvaluator(split, 1).evaluate((np.ones((3, 1)), np.ones((3, 1))))
    with pytest.raises(ValueError, match=r"^start"):
        DepthLimitedSolver(split, ZeroValues(), start=(np.ones((3, 1)), np.ones((3, 1))))
    solver = BatchSolver(split.bottom, (ranges[0], ranges[1]))
    with pytest.raises(ValueError, match=r"^polic"):
        solver.values((np.ones((2, 2), np.float32), solver.average_policies()[1]), 0)
