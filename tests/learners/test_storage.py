"""State files: arrays return as they were saved, and a damaged file is refused in one line."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from learners.storage import DamagedFile, describe_dtype, load_state, parse_dtype, save_state

RECORD = np.dtype(
    [
        ("packed", "u1", (24,)),
        ("advantage", "f4", (32,)),
        ("weight", "<f4"),
        ("inner", [("a", "i2"), ("b", "?")]),
    ],
    align=True,
)


def example(rng: np.random.Generator) -> dict[str, np.ndarray]:
    records = np.zeros(1000, RECORD)
    records["packed"] = rng.integers(256, size=(1000, 24))
    records["advantage"] = rng.normal(size=(1000, 32))
    records["inner"]["b"] = rng.random(1000) < 0.5
    return {
        "records": records,
        "grid": records[:12].reshape(3, 4),
        "weights": rng.normal(size=(7, 5, 3)).astype(np.float32),
        "transposed": rng.normal(size=(7, 5)).T,
        "big_endian": np.arange(5, dtype=">i4"),
        "half": np.arange(9, dtype=np.float16),
        "mask": rng.random(11) < 0.5,
        "scalar": np.array(2**63, dtype=np.uint64),
        "nothing": np.empty((0, 5), np.float32),
        "no records": np.empty(0, RECORD),
    }


def test_arrays_and_metadata_return_as_they_were(tmp_path):
    rng = np.random.default_rng(0)
    arrays = example(rng)
    meta = {
        "iteration": 40,
        "rng": rng.bit_generator.state,
        "rate": 1e-3,
        "notes": ['"crc32":"00000000"', None],
    }
    save_state(tmp_path / "state.safetensors", arrays, meta)
    loaded, loaded_meta = load_state(tmp_path / "state.safetensors")
    assert loaded_meta == meta
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype.newbyteorder("<")
        assert loaded[name].shape == array.shape
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].flags.writeable
    assert [path.name for path in tmp_path.iterdir()] == ["state.safetensors"]


def test_other_readers_of_safetensors_read_it(tmp_path):
    arrays = example(np.random.default_rng(1))
    save_state(tmp_path / "state.safetensors", arrays, {})
    loaded = load_file(tmp_path / "state.safetensors")
    np.testing.assert_array_equal(loaded["weights"], arrays["weights"])
    np.testing.assert_array_equal(loaded["records"].view(RECORD).reshape(-1), arrays["records"])


@pytest.mark.parametrize(
    "array",
    [
        np.array([{}], object),
        np.array(["a"]),
        np.array(["2020-01-01"], "datetime64[s]"),
        np.zeros(2, [("a", object)]),
        np.zeros(2, [("a", "f4"), ("b", [("c", "U3")])]),
        np.zeros(2, np.complex64),
    ],
)
def test_other_dtypes_are_refused(tmp_path, array):
    with pytest.raises(TypeError):
        save_state(tmp_path / "x", {"a": array}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "description",
    [
        "O",
        "|O",
        "<U4",
        "|V8",
        "<M8[s]",
        "f4,O",
        7,
        {"names": ["a"], "formats": ["O"], "offsets": [0], "itemsize": 8},
        {"names": ["a"], "formats": ["<f8"], "offsets": [4], "itemsize": 8},
        {"base": "|O", "shape": [2]},
    ],
)
def test_descriptions_of_other_dtypes_are_refused(description):
    with pytest.raises(ValueError):  # noqa: PT011 (NumPy words some of them)
        parse_dtype(description)


def test_dtype_description_keeps_padding():
    described = json.loads(json.dumps(describe_dtype(RECORD)))
    assert parse_dtype(described) == RECORD
    assert parse_dtype(described).itemsize == RECORD.itemsize


@pytest.mark.parametrize("keep", [0, 5, 8, 60, 0.3, 0.9, -1])
def test_a_truncated_file_is_refused_in_one_line(tmp_path, keep):
    path = tmp_path / "state.safetensors"
    save_state(path, example(np.random.default_rng(2)), {"a": 1})
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(DamagedFile) as caught:
        load_state(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_no_changed_byte_changes_what_is_read(tmp_path_factory, place, flip):
    """It is noticed, or it is in the padding after the header, where one blank is as good as another."""
    path = tmp_path_factory.getbasetemp() / "flipped.safetensors"
    arrays, meta = {"r": np.zeros(20, RECORD), "w": np.arange(30.0)}, {"note": "a"}
    save_state(path, arrays, meta)
    data = bytearray(path.read_bytes())
    changed = int(place * len(data))
    data[changed] ^= flip
    path.write_bytes(data)
    try:
        loaded, loaded_meta = load_state(path)
    except DamagedFile:
        return
    assert bytes(data[changed : changed + 1]).isspace()
    assert (loaded["r"].tobytes(), loaded["w"].tobytes(), loaded_meta) == (
        arrays["r"].tobytes(),
        arrays["w"].tobytes(),
        meta,
    )


def test_a_file_without_a_checksum_is_read(tmp_path):
    arrays = example(np.random.default_rng(3))
    save_state(tmp_path / "state", arrays, {"n": 1}, checksum=False)
    loaded, meta = load_state(tmp_path / "state")
    np.testing.assert_array_equal(loaded["records"], arrays["records"])
    assert meta == {"n": 1}


def test_equal_states_make_equal_files(tmp_path):
    for name in ("one", "two"):
        save_state(tmp_path / name, example(np.random.default_rng(4)), {"b": 1, "a": [2]})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_state_may_be_read_by_whom_the_umask_allows(tmp_path):
    save_state(tmp_path / "state", {"a": np.arange(4)}, {})
    (tmp_path / "other").touch()
    assert (tmp_path / "state").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_foreign_files_are_refused(tmp_path):
    save_file({"a": np.zeros(3)}, tmp_path / "theirs.safetensors")
    (tmp_path / "text").write_text("hello, this is not a state file")
    (tmp_path / "longer").write_bytes(b"")
    save_state(tmp_path / "longer", {"a": np.zeros(3)}, {})
    with (tmp_path / "longer").open("ab") as file:
        file.write(b"\0" * 8)
    for name in ("theirs.safetensors", "text", "longer"):
        with pytest.raises(DamagedFile, match=name):
            load_state(tmp_path / name)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "state"
    save_state(path, {"a": np.arange(4)}, {"n": 1})
    with pytest.raises(TypeError):
        save_state(path, {"a": np.arange(4)}, {"n": object()})
    with pytest.raises(FileNotFoundError):
        save_state(tmp_path / "absent" / "state", {"a": np.arange(4)}, {})
    assert load_state(path)[1] == {"n": 1}
    assert list(tmp_path.iterdir()) == [path]


MEMORY = """
import resource, sys
import numpy as np
from learners.storage import load_state, save_state
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
array = np.ones(100_000, np.dtype([("packed", "u1", (600,)), ("w", "f4", (100,))]))
before = peak()
save_state(sys.argv[1], {"buffer": array, "row": array["w"][:10].copy()}, {})
saved = peak()
loaded, _ = load_state(sys.argv[1])
print(array.nbytes, saved - before, peak() - saved, bool((loaded["buffer"][-1:] == array[-1:]).all()))
"""


def test_large_arrays_are_not_held_twice(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "big")], capture_output=True, text=True, check=True
    )
    size, saving, loading, same = result.stdout.split()
    assert same == "True"
    assert int(saving) < 0.3 * int(size)
    assert int(loading) < 1.3 * int(size)


FULL = """
import resource, signal, sys
import numpy as np
from learners.storage import save_state
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save_state(sys.argv[1], {"a": np.zeros(50_000)}, {"n": 2})
except OSError as error:
    print(type(error).__name__)
"""


def test_a_write_that_the_disk_refuses_leaves_the_old_file(tmp_path):
    path = tmp_path / "state"
    save_state(path, {"a": np.arange(4)}, {"n": 1})
    result = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "OSError"
    assert load_state(path)[1] == {"n": 1}
    assert list(tmp_path.iterdir()) == [path]
