"""Compiled kernels of the networks: operations between matrix products, and products with few nonzero factors.

In shapes, `T` is the number of nets, `m` that of rows per net, `I` that of inputs and `H` that of units of a layer.
Arrays are `float32`.
"""

import numpy as np

from envs.compiled import fast

# tanh(x) = x P(x^2) / Q(x^2) on [-9, 9], and 1 in float32 beyond: a minimax fit, relative error 2.1e-8 before
# rounding.
_P1, _P2, _P3, _P4 = (np.float32(c) for c in (0.13381013, 3.495574e-3, 2.0608852e-5, 1.3354352e-8))
_Q1, _Q2, _Q3, _Q4 = (np.float32(c) for c in (0.4671433, 2.5876928e-2, 3.2856117e-4, 7.776429e-7))
_ZERO, _ONE, _END = np.float32(0), np.float32(1), np.float32(9)


@fast
def _tanh(x):
    """Computes tanh(x) within 5e-7. It is vectorised, and 6 to 20 times as fast as the library's function."""
    x = min(max(x, -_END), _END)
    z = x * x
    numerator = x * (_ONE + z * (_P1 + z * (_P2 + z * (_P3 + z * _P4))))
    return numerator / (_ONE + z * (_Q1 + z * (_Q2 + z * (_Q3 + z * _Q4))))


@fast
def bias_tanh(x, bias):
    """x = tanh(x + bias), `x [T, m, H]`, `bias [T, H]`."""
    for t in range(x.shape[0]):
        for b in range(x.shape[1]):
            for j in range(x.shape[2]):
                x[t, b, j] = _tanh(x[t, b, j] + bias[t, j])


@fast
def bias_relu(x, bias):
    """x = ReLU(x + bias), `x [T, m, H]`, `bias [T, H]`."""
    for t in range(x.shape[0]):
        for b in range(x.shape[1]):
            for j in range(x.shape[2]):
                x[t, b, j] = max(x[t, b, j] + bias[t, j], _ZERO)


@fast
def bias_skip_relu(x, bias, skip):
    """x = ReLU(x + bias + skip), `x [T, m, H]`, `bias [T, H]`, `skip [T, m, H]` or `[1, m, H]` for all nets."""
    for t in range(x.shape[0]):
        s = t if skip.shape[0] > 1 else 0
        for b in range(x.shape[1]):
            for j in range(x.shape[2]):
                x[t, b, j] = max(x[t, b, j] + bias[t, j] + skip[s, b, j], _ZERO)


@fast
def layer_norm(x):
    """Normalises each row of `x [T, m, H]` to mean 0 and variance 1."""
    width = np.float32(x.shape[2])
    for t in range(x.shape[0]):
        for b in range(x.shape[1]):
            total = _ZERO
            for j in range(x.shape[2]):
                total += x[t, b, j]
            mean = total / width
            square = _ZERO
            for j in range(x.shape[2]):
                square += (x[t, b, j] - mean) * (x[t, b, j] - mean)
            scale = _ONE / np.sqrt(square / width + np.float32(1e-5))
            for j in range(x.shape[2]):
                x[t, b, j] = (x[t, b, j] - mean) * scale


@fast
def add_bias(x, bias):
    """x += bias, `x [T, m, H]`, `bias [T, H]`."""
    for t in range(x.shape[0]):
        for b in range(x.shape[1]):
            for j in range(x.shape[2]):
                x[t, b, j] += bias[t, j]


@fast
def few_products(x, matrix, out):
    """out = x @ matrix for few rows. Reading the matrix then dominates the cost, so its rows are not read if their
    input is 0, like half of the outputs of a ReLU.

    Args:
        x: `[T, m, I]`, or `[1, m, I]` for all nets.
        matrix: `[T, I, H]`.
        out: Result, `[T, m, H]`.
    """
    inputs, units = x.shape[2], out.shape[2]
    total = np.zeros(units, np.float32)
    for t in range(out.shape[0]):
        s = t if x.shape[0] > 1 else 0
        for b in range(out.shape[1]):
            for j in range(units):
                total[j] = 0
            for i in range(inputs):  # one row at a time: processors prefetch a single stream better than several
                value = x[s, b, i]
                if value != 0:
                    for j in range(units):
                        total[j] += value * matrix[t, i, j]
            for j in range(units):
                out[t, b, j] = total[j]


@fast
def sparse_layer(place, value, matrix, first, begin, end, bias, out):
    """out = ReLU(x @ matrix + bias) for a sparse encoding x, see `envs.sparse.Sparse`.

    Args:
        place: Indices of the inputs, `int16[m, K]`, K a multiple of 4; the same for all nets.
        value: Values of the inputs, `[m, K]`.
        matrix: `[T, I, H]`.
        first: Row of the matrix that stands for input 0 of this view.
        begin: Whether this is the first view of x; the others add to `out`.
        end: Whether this is the last view of x.
        bias: `[T, H]`.
        out: Result, `[T, m, H]`.
    """
    units = out.shape[2]
    total = np.zeros(units, np.float32)
    for t in range(out.shape[0]):
        for b in range(out.shape[1]):
            for j in range(units):
                total[j] = bias[t, j] if begin else out[t, b, j]
            for k in range(0, place.shape[1], 4):
                v0, v1, v2, v3 = value[b, k], value[b, k + 1], value[b, k + 2], value[b, k + 3]
                w0, w1 = matrix[t, first + place[b, k]], matrix[t, first + place[b, k + 1]]
                w2, w3 = matrix[t, first + place[b, k + 2]], matrix[t, first + place[b, k + 3]]
                for j in range(units):
                    total[j] += v0 * w0[j] + v1 * w1[j] + v2 * w2[j] + v3 * w3[j]
            for j in range(units):
                out[t, b, j] = max(total[j], _ZERO) if end else total[j]


@fast
def sparse_layer_gradient(upper, place, value, first, weight):
    """Backward pass of `sparse_layer` for one net and one view, without the ReLU.

    Args:
        upper: Gradient with respect to the result, `[m, H]`.
        place, value, first: See `sparse_layer`.
        weight: Gradient with respect to the matrix, `[I, H]`, is added to this.
    """
    for b in range(upper.shape[0]):
        for k in range(place.shape[1]):
            factor = value[b, k]
            if factor != 0:
                row = first + place[b, k]
                for j in range(upper.shape[1]):
                    weight[row, j] += factor * upper[b, j]


@fast
def action_layer(base, offsets, place, value, matrix, first, tanh, out):
    """First layer of a Q-network: the sum of the state's part and the rows of the matrix for the action's entries.

    Args:
        base: The states' part with the bias, `[D, H]`.
        offsets: The actions of state d are ``offsets[d]`` to ``offsets[d + 1]`` - 1, `int64[D + 1]`.
        place: Indices of the actions' features, see `envs.sparse.Sparse`, `int16[N, K]`, K a multiple of 4.
        value: Values of these features, `[N, K]`.
        matrix: The actions' part of the matrix, `[A, H]`.
        first: Action of the first row of `out`.
        tanh: Whether the activation is tanh; otherwise it is ReLU.
        out: Result, `[m, H]`.
    """
    units = out.shape[1]
    state = np.searchsorted(offsets, first, side="right") - 1
    total = np.zeros(units, np.float32)
    for b in range(out.shape[0]):
        n = first + b
        while offsets[state + 1] <= n:  # skips empty lists, too
            state += 1
        for j in range(units):
            total[j] = base[state, j]
        for k in range(0, place.shape[1], 4):
            v0, v1, v2, v3 = value[n, k], value[n, k + 1], value[n, k + 2], value[n, k + 3]
            if v0 != 0 or v1 != 0 or v2 != 0 or v3 != 0:
                w0, w1 = matrix[place[n, k]], matrix[place[n, k + 1]]
                w2, w3 = matrix[place[n, k + 2]], matrix[place[n, k + 3]]
                for j in range(units):
                    total[j] += v0 * w0[j] + v1 * w1[j] + v2 * w2[j] + v3 * w3[j]
        if tanh:
            for j in range(units):
                out[b, j] = _tanh(total[j])
        else:
            for j in range(units):
                out[b, j] = max(total[j], _ZERO)


@fast
def chosen_outputs(x, matrix, bias, slots, legal, values):
    """Like `action_values`, but from the last hidden layer: only the outputs of legal actions are computed.

    Args:
        x: Last hidden layer, `[T, m, H]`.
        matrix: Output matrix, transposed, `[T, S, H]`.
        bias: `[T, S]`.
        slots: From `Game.output_slots`, `int16[m, A, K]`.
        legal: `bool[m, A]`.
        values: Result, `[T, m, A]`.
    """
    actions, units, pairs = legal.shape[1], x.shape[2], slots.shape[2] == 2
    place = np.zeros(actions + 1, np.int32)
    for b in range(legal.shape[0]):
        n = 0
        for a in range(actions):  # without a branch: the legal actions cannot be predicted
            place[n] = a
            n += legal[b, a]
        for t in range(x.shape[0]):
            for a in range(actions):
                values[t, b, a] = 0
            for i in range(n):
                value = _ZERO
                one = slots[b, place[i], 0]
                two = slots[b, place[i], 1] if pairs else one
                if pairs and one >= 0 and two >= 0:  # adds both rows first, to multiply by x once
                    value += bias[t, one] + bias[t, two]
                    for j in range(units):
                        value += x[t, b, j] * (matrix[t, one, j] + matrix[t, two, j])
                else:
                    for k in range(slots.shape[2]):
                        slot = slots[b, place[i], k]
                        if slot >= 0:
                            value += bias[t, slot]
                            for j in range(units):
                                value += x[t, b, j] * matrix[t, slot, j]
                values[t, b, place[i]] = value


@fast
def chosen_outputs_gradient(upper, x, matrix, slots, needed, lower, weight, bias):
    """Backward pass of `chosen_outputs` for one net.

    Args:
        upper: Gradient with respect to the values, `[m, A]`.
        x: Last hidden layer, `[m, H]`.
        matrix: Output matrix, transposed, `[S, H]`.
        slots: From `Game.output_slots`, `int16[m, A, K]`.
        needed: `bool[m, A]`.
        lower: Result, gradient with respect to `x`, `[m, H]`.
        weight: Gradient with respect to the matrix, `[S, H]`, is added to this.
        bias: Gradient with respect to the bias, `[S]`, is added to this.
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
def action_values(outputs, slots, legal, values):
    """Computes the value of each action, the sum of the outputs in its slots; 0 for illegal actions.

    Args:
        outputs: `[T, m, S]`.
        slots: From `Game.output_slots`, `int16[m, A, K]`.
        legal: `bool[m, A]`.
        values: Result, `[T, m, A]`.
    """
    for t in range(outputs.shape[0]):
        for b in range(outputs.shape[1]):
            for a in range(slots.shape[1]):
                value = _ZERO
                if legal[b, a]:
                    for k in range(slots.shape[2]):
                        if slots[b, a, k] >= 0:
                            value += outputs[t, b, slots[b, a, k]]
                values[t, b, a] = value


@fast
def patches(planes, out):
    """Writes the 2x2 patches of `[B, C, H, W]` to `[B, (H - 1) * (W - 1), 4 * C]`, in the order of `modules.unfold`."""
    batch, channels, height, width = planes.shape
    size, positions = 4 * channels, (height - 1) * (width - 1)
    flat, rows = planes.reshape(batch, channels * height * width), out.reshape(batch, positions * size)
    source = np.empty(positions * size, np.int32)
    for i in range(source.shape[0]):
        (position, part) = divmod(i, size)
        (corner, channel) = divmod(part, channels)
        y, x = position // (width - 1) + corner // 2, position % (width - 1) + corner % 2
        source[i] = (channel * height + y) * width + x
    for b in range(batch):
        for i in range(source.shape[0]):
            rows[b, i] = flat[b, source[i]]
