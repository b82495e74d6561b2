"""TensorFlow's RMSProp: its formula, its own figures, and where it differs from torch's."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from learners.optimisers import TensorFlowRmsProp

numbers = st.floats(-100, 100, allow_subnormal=False)


def follow(optimiser: torch.optim.Optimizer, weights: list[nn.Parameter], gradients: list[list[np.ndarray]]) -> None:
    for step in gradients:
        for weight, gradient in zip(weights, step, strict=True):
            weight.grad = torch.from_numpy(np.array(gradient))
        optimiser.step()


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=30), st.floats(0, 0.999))
def test_weights_follow_the_formula(gradients: list[tuple[float, ...]], decay: float) -> None:
    """In double precision, over two tensors of different shapes."""
    weights = [nn.Parameter(torch.tensor([0.5, -2.0], dtype=torch.float64)), nn.Parameter(torch.zeros(1, 1).double())]
    optimiser = TensorFlowRmsProp(weights, lr=0.1, eps=1e-3, decay=decay)
    follow(optimiser, weights, [[np.array(g[:2]), np.array(g[2:]).reshape(1, 1)] for g in gradients])
    mean, expected = np.ones(3), np.array([0.5, -2.0, 0.0])
    for gradient in np.array(gradients):
        mean = decay * mean + (1 - decay) * gradient**2
        expected = expected - 0.1 * gradient / np.sqrt(mean + 1e-3)
    np.testing.assert_allclose(np.concatenate([w.detach().numpy().ravel() for w in weights]), expected, rtol=1e-9)


def test_weights_are_those_of_tensorflow() -> None:
    """After 3 and 30 updates by `tf.compat.v1.train.RMSPropOptimizer(1e-3, epsilon=1e-5)` of TensorFlow 2.21, whose
    settings are rounded to single precision."""
    gradients = np.array([[1e-4, 1e-2, 1.0, -10.0], [2e-4, -1e-2, 0.5, 10.0], [1e-4, 3e-2, -1.0, 2.0]])
    weight = nn.Parameter(torch.tensor([0.5, -2.0, 0.0, 1.0], dtype=torch.float64))
    optimiser = TensorFlowRmsProp([weight], lr=1e-3, eps=1e-5)
    follow(optimiser, [weight], [[one] for one in gradients])
    tensorflow = [0.49999955524985634, -2.0000345634958703, -0.00048431226132229625, 1.000313712184518]
    np.testing.assert_allclose(weight.tolist(), tensorflow, rtol=0, atol=1e-9)
    follow(optimiser, [weight], [[one] for one in gradients] * 9)
    tensorflow = [0.49998998156901525, -2.000777043446925, -0.005364698205061024, 0.9984421239717295]
    np.testing.assert_allclose(weight.tolist(), tensorflow, rtol=0, atol=1e-9)


def test_the_first_steps_are_small_where_those_of_torch_are_ten_times_the_learning_rate() -> None:
    ours, theirs = (nn.Parameter(torch.zeros(2)) for _ in range(2))
    gradient = [[np.array([1e-3, 1e-2], np.float32)]]
    follow(TensorFlowRmsProp([ours], lr=1e-3, eps=1e-5), [ours], gradient)
    follow(torch.optim.RMSprop([theirs], lr=1e-3, eps=1e-5), [theirs], gradient)
    assert (-ours.detach()).tolist() == pytest.approx([1e-6 / 0.9**0.5, 1e-5 / 0.9**0.5], rel=1e-4)
    assert (-theirs.detach()).tolist() == pytest.approx([1e-2 / 1.1, 1e-2 / 1.01], rel=1e-4)


def test_a_weight_without_a_gradient_stays() -> None:
    used, unused = (nn.Parameter(torch.ones(2)) for _ in range(2))
    optimiser = TensorFlowRmsProp([unused, used], lr=0.1, eps=1e-5)
    optimiser.step()  # neither has one yet
    used.grad = torch.ones(2)
    optimiser.step()
    assert unused.tolist() == [1, 1]
    assert (used < 1).all()
    with pytest.raises(ValueError, match="takes no closure"):
        optimiser.step(lambda: 0.0)
