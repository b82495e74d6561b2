"""Merges the samples of each infostate into one row.

The loss of an advantage net is a weighted sum of squared errors. For samples y_i of one infostate with weights w_i, it
is W (d - m)^2 plus a constant, where W is the sum of the weights and m the weighted mean of the samples. So one row
(m, W) has the same gradient, without the noise of drawing some of the samples. Merging pays off if the buffer contains
many samples of each infostate, as in small games, and at the beginning in larger ones.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel


def merge_samples(
    samples: NDArray[np.void], weight: NDArray[np.float64], seen: NDArray[np.generic]
) -> NDArray[np.void]:
    """Merges samples to one row per infostate, in the order in which the infostates first occur.

    Args:
        samples: Samples, `advantage_dtype[n]`.
        weight: Weight of each sample, more than 0, `float64[n]`.
        seen: Infostate of each sample, packed or encoded, `[n, ...]`; samples with equal ones are merged.

    Returns:
        `advantage_dtype[I]`, with the weighted mean of the advantages, and the logarithm of the sum of the weights as
        `log_weight`.
    """
    infostates = np.ascontiguousarray(seen.reshape(len(samples), -1)).view(np.uint8)
    first, row = np.empty(len(samples), np.int64), np.empty(len(samples), np.int64)
    count = _number(infostates, first, row)
    sums, total = np.zeros((count, samples["advantage"].shape[1])), np.zeros(count)
    _add_up(row, np.ascontiguousarray(samples["advantage"]), weight, sums, total)
    merged = samples[first[:count]]
    merged["advantage"] = sums / total[:, None]
    merged["log_weight"] = np.log(total)
    return merged


@kernel
def _number(infostates, first, row):
    """Numbers the infostates, equal ones alike; returns how many there are.

    Args:
        infostates: Infostates as bytes, `uint8[n, bytes]`.
        first: Row in which each number first occurs, `int64[n]`; written.
        row: Number of each row, `int64[n]`; written.
    """
    size = 1024
    table = np.full(size, -1, np.int64)
    hashes = np.empty(infostates.shape[0], np.uint64)
    count = 0
    for i in range(infostates.shape[0]):
        h = np.uint64(0xCBF29CE484222325)
        for byte in range(infostates.shape[1]):  # FNV-1a (Fowler, Noll and Vo)
            h = (h ^ np.uint64(infostates[i, byte])) * np.uint64(0x100000001B3)
        h ^= h >> np.uint64(32)
        place = h & np.uint64(size - 1)
        while table[place] >= 0:
            other = table[place]
            if hashes[other] == h and (infostates[first[other]] == infostates[i]).all():
                break
            place = (place + np.uint64(1)) & np.uint64(size - 1)
        if table[place] < 0:
            if 2 * (count + 1) > size:  # enlarge the table by the hashes of the numbers so far
                size *= 2
                table = np.full(size, -1, np.int64)
                for number in range(count):
                    at = hashes[number] & np.uint64(size - 1)
                    while table[at] >= 0:
                        at = (at + np.uint64(1)) & np.uint64(size - 1)
                    table[at] = number
                place = h & np.uint64(size - 1)
                while table[place] >= 0:
                    place = (place + np.uint64(1)) & np.uint64(size - 1)
            table[place] = count
            first[count] = i
            hashes[count] = h
            count += 1
        row[i] = table[place]
    return count


@kernel
def _add_up(row, advantage, weight, sums, total):
    for i in range(row.shape[0]):
        total[row[i]] += weight[i]
        for a in range(advantage.shape[1]):
            sums[row[i], a] += weight[i] * advantage[i, a]
