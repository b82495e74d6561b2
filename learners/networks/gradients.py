"""Compiled kernels of the backward pass. `m` rows, `H` units, `A` actions, `S` outputs; arrays are `float32`."""

import numpy as np

from learners.networks.kernels import fast

_ZERO, _ONE = np.float32(0), np.float32(1)


@fast
def relu_gradient(upper, y, lower, bias):
    """lower = upper where y = ReLU(...) is positive, else 0; its sum over rows is added to `bias [H]`."""
    for b in range(y.shape[0]):
        for j in range(y.shape[1]):
            value = upper[b, j] if y[b, j] > 0 else _ZERO
            lower[b, j] = value
            bias[j] += value


@fast
def tanh_gradient(upper, y, lower, bias):
    """lower = upper * (1 - y^2) where y = tanh(...); its sum over rows is added to `bias [H]`."""
    total = np.zeros(bias.shape[0], np.float32)  # of these rows alone: a sum over all of them would lose digits
    for b in range(y.shape[0]):
        for j in range(y.shape[1]):
            value = upper[b, j] * (_ONE - y[b, j] * y[b, j])
            lower[b, j] = value
            total[j] += value
    for j in range(bias.shape[0]):
        bias[j] += total[j]


@fast
def normalise(x, y, scale):
    """y = x with mean 0 and variance 1 in each row; `scale [m]` is what the deviations were multiplied by."""
    width = np.float32(x.shape[1])
    for b in range(x.shape[0]):
        total = _ZERO
        for j in range(x.shape[1]):
            total += x[b, j]
        mean = total / width
        square = _ZERO
        for j in range(x.shape[1]):
            square += (x[b, j] - mean) * (x[b, j] - mean)
        scale[b] = _ONE / np.sqrt(square / width + np.float32(1e-5))
        for j in range(x.shape[1]):
            y[b, j] = (x[b, j] - mean) * scale[b]


@fast
def normalise_gradient(upper, y, scale, lower):
    """Backward of `normalise`: lower = scale * (upper - mean(upper) - y * mean(upper * y))."""
    width = np.float32(y.shape[1])
    for b in range(y.shape[0]):
        total, along = _ZERO, _ZERO
        for j in range(y.shape[1]):
            total += upper[b, j]
            along += upper[b, j] * y[b, j]
        total /= width
        along /= width
        for j in range(y.shape[1]):
            lower[b, j] = scale[b] * (upper[b, j] - total - y[b, j] * along)


@fast
def sparse_gradient(upper, place, value, first, matrix):
    """Adds the gradient of x @ matrix by the matrix, for a view x by its inputs that are not 0.

    Args:
        upper: `[m, H]`.
        place: `int16[m, K]`.
        value: `[m, K]`.
        first: Row of the matrix that stands for the view's first input.
        matrix: Result, `[I, H]`.
    """
    for b in range(upper.shape[0]):
        for k in range(place.shape[1]):
            v = value[b, k]
            if v != 0:
                i = first + place[b, k]
                for j in range(upper.shape[1]):
                    matrix[i, j] += v * upper[b, j]


@fast
def chosen_gradient(upper, x, matrix, slots, needed, lower, weight, bias):
    """Backward of `kernels.chosen_outputs` for one net.

    Args:
        upper: Gradient by the values, `[m, A]`.
        x: Last hidden layer, `[m, H]`.
        matrix: `[S, H]`.
        slots: `int16[m, A, K]`.
        needed: `bool[m, A]`.
        lower: Result, gradient by `x`, `[m, H]`.
        weight: The gradient by the matrix is added to this, `[S, H]`.
        bias: Likewise, `[S]`.
    """
    total = np.zeros(x.shape[1], np.float32)
    for b in range(x.shape[0]):
        for j in range(total.shape[0]):
            total[j] = 0
        for a in range(upper.shape[1]):
            value = upper[b, a]
            if not needed[b, a] or value == 0:
                continue
            for k in range(slots.shape[2]):
                slot = slots[b, a, k]
                if slot >= 0:
                    bias[slot] += value
                    for j in range(total.shape[0]):
                        total[j] += value * matrix[slot, j]
                    for j in range(total.shape[0]):
                        weight[slot, j] += value * x[b, j]
        for j in range(total.shape[0]):
            lower[b, j] = total[j]


@fast
def scatter_gradient(upper, slots, needed, outputs):
    """Backward of `kernels.action_values` for one net: `upper [m, A]` into `outputs [m, S]`."""
    for b in range(outputs.shape[0]):
        for j in range(outputs.shape[1]):
            outputs[b, j] = 0
        for a in range(upper.shape[1]):
            if needed[b, a]:
                for k in range(slots.shape[2]):
                    if slots[b, a, k] >= 0:
                        outputs[b, slots[b, a, k]] += upper[b, a]
