"""Shards together are one buffer: their draws, for which chunks, and after a resume."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from actors.buffer import BufferServer
from actors.remote import InlineRuntime, fetch
from actors.runtime import Handle, InlineHandle
from actors.sharding import ShardedBuffer, ShardServer, shard_files, start_buffer
from learners.buffers import CircularBuffer, EmptyBuffer, RecordBuffer, ReservoirBuffer
from learners.shares import Share
from learners.storage import ForeignState

DTYPE = np.dtype([("infostate", np.uint8, (4,)), ("number", np.int32)])
KINDS = pytest.mark.parametrize("kind", [ReservoirBuffer, CircularBuffer])


def rows(first: int, count: int) -> np.ndarray:
    made = np.zeros(count, DTYPE)
    made["number"] = np.arange(first, first + count)
    return made


def started(kind: type[RecordBuffer], capacity: int, shards: int) -> Handle:
    return start_buffer(InlineRuntime(), kind, capacity, DTYPE, None, name="buffer", shards=shards)


def fill(buffer: Handle, chunks: range, size: int = 30) -> None:
    """Chunks (0, 0), (0, 1), (1, 0), ..."""
    for chunk in chunks:
        name = divmod(chunk, 2)
        fetch(buffer.call(BufferServer.add, name, rows(size * chunk, size), (7, *name)))


def filled(kind: type[RecordBuffer] = ReservoirBuffer, capacity: int = 100, shards: int = 3, chunks: int = 8) -> Handle:
    buffer = started(kind, capacity, shards)
    fill(buffer, range(chunks))
    return buffer


def draw(buffer: Handle, seed: tuple[int, ...], start: int, count: int, epoch: bool = False, share=None) -> np.ndarray:
    return fetch(buffer.call(BufferServer.draw, seed, start, count, epoch, share))


def test_one_shard_is_the_buffer_itself() -> None:
    plain = BufferServer(ReservoirBuffer, 100, DTYPE)
    one = filled(shards=1)
    assert not isinstance(one, ShardedBuffer)
    for chunk in range(8):
        name = divmod(chunk, 2)
        plain.add(name, rows(30 * chunk, 30), (7, *name))
    for epoch in (False, True):
        assert draw(one, (3, 4), 10, 60, epoch).tobytes() == plain.draw((3, 4), 10, 60, epoch).tobytes()


@KINDS
def test_chunks_are_spread_evenly_and_come_once(kind) -> None:
    buffer = started(kind, 900, 3)
    assert isinstance(buffer, ShardedBuffer)
    for t in range(40):  # seven chunks in each iteration: one shard gets one more
        shares = np.bincount([buffer.shard_of((t, t % 2, chunk)) for chunk in range(7)], minlength=3)
        assert sorted(shares) == [2, 2, 3]
    single = np.bincount([buffer.shard_of((t, t % 2, 0)) for t in range(1, 601, 2)], minlength=3)
    assert chisquare(single).pvalue > 1e-3  # one chunk an iteration, player and iteration in step
    for chunk in range(8):
        name = divmod(chunk, 2)
        for expected in (30, 0):
            assert fetch(buffer.call(BufferServer.add, name, rows(30 * chunk, 30), (7, *name))) == expected
    stats = fetch(buffer.call(BufferServer.stats))
    assert stats == {"rows": 240, "capacity": 900, "offered": 240, "fill": 240 / 900, "repeated": 8, "bytes": 240 * 8}
    with pytest.raises(ValueError, match="has no method sample"):
        buffer.send("sample", (3,), {})


def shards_of(capacity: int, offered: tuple[int, ...], seed: int) -> ShardedBuffer:
    """Three reservoirs that were offered rows 0, 1, ... (the first), 1000, 1001, ... (the second), and so on."""
    shards = [InlineHandle("shard", lambda: ShardServer(ReservoirBuffer, capacity, DTYPE)) for _ in range(3)]
    for number, (shard, count) in enumerate(zip(shards, offered, strict=True)):
        shard.call(BufferServer.add, (0, number), rows(1000 * number, count), (seed, number))
    return ShardedBuffer("buffer", shards)


def drawn_once(trials: int, epoch: bool) -> np.ndarray:
    """How often each of 30 rows is drawn, 6 of the first shard and 12 of each other, where each shard holds 3, so that
    rows of the first are kept twice as often. Draws of one filled buffer depend on each other: each is of its own."""
    drawn = [int(draw(shards_of(3, (6, 12, 12), trial), (trial,), 0, 1, epoch)["number"][0]) for trial in range(trials)]
    counts: np.ndarray = np.bincount(drawn, minlength=2012)
    return np.concatenate([counts[:6], counts[1000:1012], counts[2000:2012]])


def test_every_row_offered_is_drawn_with_the_same_probability() -> None:
    """3,000 draws, seeds 0 to 2,999, 100 of each row expected. A chi-square test does not tell them from uniform ones
    (p >= 0.001), and the first shard's share of 0.2 lies within its 99.9 % interval of +- 0.024. The same test
    rejects draws in proportion to rows held, such as the first rows of epochs."""
    trials = 3000
    counts = drawn_once(trials, epoch=False)
    assert counts.sum() == trials
    assert chisquare(counts).pvalue > 1e-3
    assert abs(counts[:6].sum() / trials - 0.2) < 3.29 * np.sqrt(0.2 * 0.8 / trials)
    assert chisquare(drawn_once(trials // 4, epoch=True)).pvalue < 1e-6


def test_a_large_draw_takes_from_each_shard_what_it_was_offered() -> None:
    offered = (100, 400, 500)
    drawn = draw(shards_of(50, offered, 1), (5, 6), 0, 20_000)["number"] // 1000
    assert chisquare(np.bincount(drawn), 20 * np.array(offered)).pvalue > 1e-3
    halves = [np.bincount(half, minlength=3) for half in np.split(drawn, 2)]  # rows are in no order of shards
    assert chi2_contingency(halves).pvalue > 1e-3


@KINDS
def test_draws_are_decided_by_seed_and_start(kind) -> None:
    buffer, other = filled(kind), filled(kind)
    first = draw(buffer, (3, 4), 0, 200)
    assert first.tobytes() == draw(other, (3, 4), 0, 200).tobytes()
    for seed, start in [((3, 4), 200), ((3, 5), 0), ((3,), 4)]:
        assert first.tobytes() != draw(buffer, seed, start, 200).tobytes()
    with pytest.raises(EmptyBuffer, match="3 empty shards"):
        draw(started(kind, 9, 3), (1,), 0, 2)


@KINDS
def test_an_epoch_gives_every_row_once(kind) -> None:
    buffer = filled(kind)
    held = fetch(buffer.call(BufferServer.stats))["rows"]
    blocks = [draw(buffer, (5, 1), start, 32, epoch=True) for start in range(0, held + 32, 32)]
    order = np.concatenate(blocks)["number"]
    assert len(order) == held
    assert len(set(order.tolist())) == held
    assert order.tolist() != sorted(order)
    assert draw(filled(kind), (5, 1), 0, held, epoch=True)["number"].tolist() == order.tolist()
    assert len(draw(buffer, (5, 1), held, 32, epoch=True)) == 0


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("epoch", [False, True])
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_shares_of_all_ranks_are_the_whole_draw(shards: int, epoch: bool, ranks: int) -> None:
    buffer = filled(shards=shards)
    whole = draw(buffer, (3,), 0, 90, epoch)["number"]
    parts = [draw(buffer, (3,), 0, 90, epoch, Share(20, rank, ranks))["number"] for rank in range(ranks)]
    for start in range(0, len(whole), 20):
        minibatch, pieces = whole[start : start + 20].tolist(), []
        for rank in range(ranks):
            own = Share(20, rank, ranks).cut(len(minibatch))
            size = own.stop - own.start
            pieces += parts[rank][:size].tolist()
            parts[rank] = parts[rank][size:]
        assert pieces == minibatch
    assert all(len(part) == 0 for part in parts)


def test_a_minibatch_smaller_than_the_number_of_ranks_is_given_to_all() -> None:
    shares = [Share(8, rank, 4) for rank in range(4)]
    assert [share.cut(3) for share in shares] == [slice(0, 3)] * 4
    for size in range(12):
        indices = [share.of(size) for share in shares]
        assert set(np.concatenate(indices).tolist()) == set(range(size))
        if size % 8:
            assert sum(share.weight(size % 8) for share in shares) == pytest.approx(1)


@KINDS
def test_a_saved_buffer_goes_on_and_still_knows_its_chunks(kind, tmp_path) -> None:
    path = tmp_path / "buffer.safetensors"
    held = fetch(filled(kind, chunks=5).call(BufferServer.save, str(path)))
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(file.name for file in shard_files(path, 3))
    resumed = started(kind, 100, 3)
    assert fetch(resumed.call(BufferServer.load, str(path))) == held
    fill(resumed, range(4, 8))  # the first of them is in the files
    assert fetch(resumed.call(BufferServer.stats)) == fetch(filled(kind).call(BufferServer.stats)) | {"repeated": 1}
    for epoch in (False, True):
        assert draw(resumed, (1,), 0, 60, epoch).tobytes() == draw(filled(kind), (1,), 0, 60, epoch).tobytes()
    with pytest.raises(ForeignState, match=r"capacity.* 33 .*34"):
        fetch(started(kind, 102, 3).call(BufferServer.load, str(path)))


def test_rows_are_divided_among_shards(tmp_path) -> None:
    buffer = started(ReservoirBuffer, 101, 3)
    assert fetch(buffer.call(BufferServer.stats))["capacity"] == 101
    with pytest.raises(ValueError, match="at least its 3 shards, got 2"):
        started(ReservoirBuffer, 2, 3)


def test_shards_on_ray_are_those_inline(ray_runtime, tmp_path) -> None:
    """Chunks may come from any worker, and a learner in another process draws."""
    buffer = start_buffer(ray_runtime, ReservoirBuffer, 100, DTYPE, None, name="buffer", shards=3, cpus=0)
    ray_runtime.get(buffer.ready())
    fill(buffer, range(8))
    inline = filled()
    for epoch in (False, True):
        expected = draw(inline, (3, 4), 5, 60, epoch).tobytes()
        assert ray_runtime.get(buffer.call(BufferServer.draw, (3, 4), 5, 60, epoch)).tobytes() == expected
        reader = ray_runtime.start(Reader, buffer, cpus=0)
        assert ray_runtime.get(reader.call(Reader.read, epoch)) == expected
    assert ray_runtime.get(buffer.call(BufferServer.stats)) == fetch(inline.call(BufferServer.stats))
    assert (
        ray_runtime.get(buffer.call(BufferServer.save, str(tmp_path / "b.safetensors")))
        == fetch(inline.call(BufferServer.stats))["rows"]
    )


class Reader:
    """Draws from a buffer that it was given, as a learner does."""

    def __init__(self, buffer: Handle) -> None:
        self.buffer = buffer

    def read(self, epoch: bool) -> bytes:
        block: np.ndarray = fetch(self.buffer.call(BufferServer.draw, (3, 4), 5, 60, epoch))
        return block.tobytes()
