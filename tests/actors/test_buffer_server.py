"""The host of a buffer: chunks that come twice, draws by seed, saving."""

import numpy as np
import pytest

from actors.buffer import BufferServer
from learners.buffers import CircularBuffer, EmptyBuffer, ReservoirBuffer
from learners.storage import DamagedFile

DTYPE = np.dtype([("infostate", np.uint8, (4,)), ("number", np.int32)])


def rows(first: int, count: int) -> np.ndarray:
    made = np.zeros(count, DTYPE)
    made["number"] = np.arange(first, first + count)
    return made


def filled(kind=ReservoirBuffer, capacity: int = 100, chunks: int = 8) -> BufferServer:
    """Chunks (0, 0), (0, 1), (1, 0), ... of 30 rows each."""
    server = BufferServer(kind, capacity, DTYPE)
    for chunk in range(chunks):
        name = divmod(chunk, 2)
        assert server.add(name, rows(30 * chunk, 30), (7, *name)) == 30
    return server


def content(server: BufferServer) -> bytes:
    return server.draw((1,), 0, 10**6, epoch=True).tobytes()


@pytest.mark.parametrize("kind", [ReservoirBuffer, CircularBuffer])
def test_a_repeated_chunk_is_ignored_and_counted(kind) -> None:
    once, twice = filled(kind), BufferServer(kind, 100, DTYPE)
    for chunk in range(8):
        name = divmod(chunk, 2)
        for expected in (30, 0, 0):
            assert twice.add(name, rows(30 * chunk, 30), (7, *name)) == expected
        if chunk:  # a late replay of the chunk before
            earlier = divmod(chunk - 1, 2)
            assert twice.add(earlier, rows(30 * (chunk - 1), 30), (7, *earlier)) == 0
    assert content(once) == content(twice)
    stats = {"rows": 100, "capacity": 100, "offered": 240, "fill": 1.0, "repeated": 0, "bytes": 800}
    assert once.stats() == stats
    assert twice.stats() == stats | {"repeated": 23}


def test_a_chunk_too_old_to_be_known_is_refused() -> None:
    server = filled()  # has reached iteration 3
    assert server.add((2, 1), rows(0, 30), (0,)) == 0
    with pytest.raises(ValueError, match=r"chunk \(1, 1\) .* the buffer has reached iteration 3"):
        server.add((1, 1), rows(0, 30), (0,))
    assert server.stats()["offered"] == 240


def test_a_refused_chunk_may_come_again() -> None:
    server = BufferServer(ReservoirBuffer, 100, DTYPE)
    with pytest.raises(ValueError, match="int8"):
        server.add((0, 0), np.zeros(3, np.int8), (1,))
    assert server.add((0, 0), rows(0, 3), (1,)) == 3


def test_the_part_of_a_block_that_belongs_to_the_buffer_is_taken() -> None:
    server = BufferServer(CircularBuffer, 10, DTYPE, part="transitions")
    assert server.add((0, 0), {"advantages": np.zeros(9), "transitions": rows(5, 4)}, (0,)) == 4
    assert sorted(server.draw((0,), 0, 10, epoch=True)["number"]) == [5, 6, 7, 8]


def test_draws_with_replacement_are_decided_by_seed_and_start() -> None:
    server = filled()
    first = server.draw((3, 4), 0, 500, epoch=False)
    assert len(first) == 500
    assert first.tobytes() == server.draw((3, 4), 0, 500, epoch=False).tobytes()
    assert first.tobytes() == filled().draw((3, 4), 0, 500, epoch=False).tobytes()
    others = [((3, 4), 500), ((3, 5), 0), ((4, 3), 0), ((3,), 4), ((3, 4, 0), 0)]
    for seed, start in others:
        assert first.tobytes() != server.draw(seed, start, 500, epoch=False).tobytes()
    with pytest.raises(EmptyBuffer):
        BufferServer(ReservoirBuffer, 5, DTYPE).draw((1,), 0, 1, epoch=False)


@pytest.mark.parametrize(("batch", "sizes"), [(32, [32, 32, 32, 4, 0]), (50, [50, 50, 0]), (128, [100, 0])])
def test_an_epoch_gives_every_row_once_in_an_order_of_its_own(batch: int, sizes: list[int]) -> None:
    server = filled(CircularBuffer)
    blocks = [server.draw((5, 1), start, batch, epoch=True) for start in range(0, batch * len(sizes), batch)]
    assert [len(block) for block in blocks] == sizes
    order = np.concatenate(blocks)["number"]
    assert sorted(order) == list(range(140, 240))
    assert order.tolist() != sorted(order)
    other = filled(CircularBuffer)
    again = np.concatenate([other.draw((5, 1), start, 10, epoch=True) for start in range(0, 100, 10)])
    assert again["number"].tolist() == order.tolist()
    assert server.draw((5, 2), 0, 100, epoch=True)["number"].tolist() != order.tolist()


def test_an_epoch_over_a_buffer_that_has_grown_needs_a_new_seed() -> None:
    server = BufferServer(ReservoirBuffer, 100, DTYPE)
    server.add((0, 0), rows(0, 10), (0,))
    assert len(server.draw((1,), 0, 100, epoch=True)) == 10
    server.add((0, 1), rows(10, 10), (1,))
    assert len(server.draw((1,), 0, 100, epoch=True)) == 10
    assert len(server.draw((2,), 0, 100, epoch=True)) == 20


def test_its_random_streams_differ_from_others_with_the_same_seed() -> None:
    server = BufferServer(CircularBuffer, 1000, DTYPE)
    server.add((0,), rows(0, 1000), (0,))
    drawn = server.draw((3, 4), 5, 200, epoch=False)["number"]
    assert drawn.tolist() != np.random.default_rng([3, 4, 5]).integers(0, 1000, 200).tolist()


@pytest.mark.parametrize("kind", [ReservoirBuffer, CircularBuffer])
def test_a_saved_server_goes_on_and_still_knows_its_chunks(kind, tmp_path) -> None:
    path = tmp_path / "buffer.state"
    assert filled(kind, chunks=5).save(path) == 100
    resumed = BufferServer(kind, 100, DTYPE)
    resumed.draw((1,), 0, 100, epoch=True)  # an order of no rows, which must not outlive the loading
    assert resumed.load(path) == 100
    for chunk in range(4, 8):  # the first of them is in the file
        name = divmod(chunk, 2)
        assert resumed.add(name, rows(30 * chunk, 30), (7, *name)) == (30 if chunk > 4 else 0)
    assert content(resumed) == content(filled(kind))
    assert resumed.stats()["repeated"] == 1


def test_what_belongs_to_another_buffer_or_is_damaged_is_refused(tmp_path) -> None:
    path = tmp_path / "buffer.state"
    filled().save(path)
    untouched = filled(capacity=50, chunks=3)
    before = content(untouched)
    with pytest.raises(ValueError, match=r"buffer.state.*100 .*50"):
        untouched.load(path)
    with pytest.raises(ValueError, match="a ReservoirBuffer, not a CircularBuffer"):
        BufferServer(CircularBuffer, 100, DTYPE).load(path)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DamagedFile):
        BufferServer(ReservoirBuffer, 100, DTYPE).load(path)
    assert content(untouched) == before
