"""Buffers: a reservoir keeps a uniform sample, a ring the latest rows, and both survive being saved."""

import numpy as np
import psutil
import pytest
from scipy.stats import chi2

from learners.buffers import CircularBuffer, EmptyBuffer, RecordBuffer, ReservoirBuffer
from learners.storage import load_state, save_state

DTYPE = np.dtype([("infostate", np.uint8, (5,)), ("advantage", np.float32, (3,)), ("number", np.int32)])
KINDS = [ReservoirBuffer, CircularBuffer]


def block(first: int, rows: int) -> np.ndarray:
    """Rows numbered from `first`, with other fields that belong to the number."""
    made = np.zeros(rows, DTYPE)
    made["number"] = np.arange(first, first + rows)
    made["infostate"] = (made["number"][:, None] * [1, 3, 5, 7, 11]) % 251
    made["advantage"] = made["number"][:, None] * np.float32([0.5, -1, 2])
    return made


def fed(buffer: RecordBuffer, sizes: list[int], seed: int = 0) -> RecordBuffer:
    rng = np.random.default_rng(seed)
    for size in sizes:
        buffer.add(block(buffer.offered, size), rng)
    return buffer


def content(buffer: RecordBuffer) -> np.ndarray:
    return buffer.take(np.arange(len(buffer)))


@pytest.mark.parametrize(
    ("capacity", "sizes", "repeats"),
    [
        (1, [25], 10_000),  # all rows of one block compete for one place: the later of two must win
        (4, [40], 6_000),
        (4, [1] * 40, 1_500),
        (50, [7, 93, 1, 299, 100], 2_500),
    ],
)
def test_every_row_is_kept_with_the_same_probability(capacity: int, sizes: list[int], repeats: int) -> None:
    rows = sum(sizes)
    kept = np.zeros(rows)
    rng = np.random.default_rng(12345)
    blocks = [block(start, size) for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False)]
    for _ in range(repeats):
        buffer = ReservoirBuffer(capacity, DTYPE)
        for part in blocks:
            buffer.add(part, rng)
        numbers = content(buffer)["number"]
        assert len(np.unique(numbers)) == capacity
        kept[numbers] += 1
    p = capacity / rows
    # Inclusions have variance p (1 - p) and correlation -1 / (rows - 1), hence the factor.
    statistic = np.sum((kept - repeats * p) ** 2) / (repeats * p * (1 - p)) * (rows - 1) / rows
    low, high = chi2.interval(0.999, rows - 1)
    assert low < statistic < high


def test_a_reservoir_keeps_all_rows_until_it_is_full_and_copies_them_whole() -> None:
    buffer = fed(ReservoirBuffer(100, DTYPE), [30, 30, 30])
    assert (len(buffer), buffer.offered, buffer.fill) == (90, 90, 0.9)
    assert content(buffer).tobytes() == block(0, 90).tobytes()
    fed(buffer, [400])
    assert (len(buffer), buffer.offered, buffer.fill) == (100, 490, 1.0)
    after = content(buffer)
    assert after.tobytes() == block(0, 490)[after["number"]].tobytes()


@pytest.mark.parametrize("sizes", [[3, 4, 10], [10], [11], [35], [4] * 9, [9, 25, 1], [10, 10], [0, 5, 0, 7]])
def test_a_ring_keeps_the_latest_rows(sizes: list[int]) -> None:
    buffer = fed(CircularBuffer(10, DTYPE), sizes)
    total = sum(sizes)
    assert buffer.offered == total
    assert sorted(content(buffer)["number"]) == list(range(max(0, total - 10), total))
    after = content(buffer)
    assert after.tobytes() == block(0, total)[after["number"]].tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_generator_gives_the_same_content_and_the_same_draws(kind: type[RecordBuffer]) -> None:
    one, two = (fed(kind(64, DTYPE), [50, 200, 33], seed=5) for _ in range(2))
    assert content(one).tobytes() == content(two).tobytes()
    draws = [buffer.sample(40, np.random.default_rng(8)) for buffer in (one, two)]
    assert draws[0].tobytes() == draws[1].tobytes()
    assert draws[0].tobytes() != one.sample(40, np.random.default_rng(9)).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_uniform_with_replacement(kind: type[RecordBuffer]) -> None:
    buffer = fed(kind(200, DTYPE), [40])  # partly filled: only rows in use may be drawn
    counts = np.bincount(buffer.sample(40_000, np.random.default_rng(3))["number"], minlength=40)
    low, high = chi2.interval(0.999, 39)
    assert low < np.sum((counts - 1000.0) ** 2) / 1000 < high


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_taken_as_copies_and_only_from_those_in_use(kind: type[RecordBuffer]) -> None:
    buffer = fed(kind(20, DTYPE), [5])
    taken = buffer.take(np.array([4, 0, 4], np.int32))
    assert taken["number"].tolist() == [4, 0, 4]
    taken["number"] = -1
    assert content(buffer)["number"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(IndexError):
        buffer.take(np.array([5]))
    assert len(buffer.take(np.array([], np.int64))) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_use_changes_nothing(kind: type[RecordBuffer]) -> None:
    rng = np.random.default_rng(0)
    empty = kind(4, DTYPE)
    with pytest.raises(EmptyBuffer):
        empty.sample(1, rng)
    assert len(empty.sample(0, rng)) == 0
    with pytest.raises(ValueError, match="float32"):
        empty.add(np.zeros(3, np.float32), rng)
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        empty.add(np.zeros((2, 3), DTYPE), rng)
    assert (len(empty), empty.offered) == (0, 0)
    with pytest.raises(ValueError, match="capacity"):
        kind(0, DTYPE)
    with pytest.raises(ValueError, match="object"):
        kind(3, np.dtype(object))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", [[], [17], [64], [50, 100]])
def test_a_saved_buffer_goes_on_as_if_nothing_had_happened(kind, before, tmp_path) -> None:
    undisturbed = fed(fed(kind(64, DTYPE), before, seed=1), [30, 30], seed=2)
    saved = fed(kind(64, DTYPE), before, seed=1)
    save_state(tmp_path / "buffer", saved.state_arrays(), {})
    resumed = kind(64, DTYPE)
    resumed.load_state_arrays(load_state(tmp_path / "buffer")[0])
    fed(resumed, [30, 30], seed=2)
    assert resumed.offered == undisturbed.offered
    assert content(resumed).tobytes() == content(undisturbed).tobytes()


def test_the_state_of_another_buffer_is_refused() -> None:
    buffer = fed(ReservoirBuffer(10, DTYPE), [4])
    state = buffer.state_arrays()
    with pytest.raises(ValueError, match=r"10 .*11"):
        ReservoirBuffer(11, DTYPE).load_state_arrays(state)
    with pytest.raises(ValueError, match="dtype"):
        ReservoirBuffer(10, np.dtype([("x", np.int8)])).load_state_arrays(state)
    with pytest.raises(ValueError, match="counts"):
        buffer.load_state_arrays({"records": state["records"]})
    with pytest.raises(ValueError, match=r"4 .*9"):
        buffer.load_state_arrays(state | {"counts": np.array([10, 9])})
    assert content(buffer)["number"].tolist() == [0, 1, 2, 3]


def test_memory_is_touched_only_as_rows_arrive() -> None:
    wide = np.dtype([("row", np.uint8, (158,))])
    process = psutil.Process()
    before = process.memory_info().rss
    buffer = ReservoirBuffer(2_150_400, wide)
    buffer.add(np.ones(1000, wide), np.random.default_rng(0))
    assert process.memory_info().rss - before < 16 << 20
    assert buffer.nbytes == 158_000
