"""State files: arrays and JSON metadata in one safetensors file with a checksum.

Any reader of safetensors opens them. The string `state` of its metadata holds the rest: the checksum, and
JSON with the caller's metadata and the fields of structured arrays, which are stored as rows of bytes. It is a single
string because safetensors writes several strings in random order, and equal states should give equal files. Nothing is
ever unpickled.
"""

import errno
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

FORMAT, _FIRST_FORMAT = "dancfr-state-2", "dancfr-state-1"

_UNCHECKED = "unchecked"
_INCOMPLETE = re.compile(r"\..+\.\d+\.partial")
_SCALAR = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248])")

Arrays = dict[str, NDArray[Any]]


class DamagedFile(ValueError):
    """A file is truncated, garbled or not a state file. The message is one line that names the file."""


class ForeignState(ValueError):
    """A saved state is intact but belongs to another network, buffer or setting than the one that loads it."""


def save_state(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any], checksum: bool = True
) -> None:
    """Writes arrays and metadata to `path` in one atomic step.

    A reader, even after a crash, finds the complete old file or the complete new one. Contiguous arrays are written
    from where they lie in memory; others are copied once.

    Args:
        path: File to write; its folder must exist.
        arrays: Arrays of any shape by name: booleans, integers, floats, and structured arrays of those.
        meta: Anything that JSON can represent.
        checksum: Whether to store a checksum in the file. False for files with a checksum in a manifest, because
            reading gigabytes twice takes seconds.

    Raises:
        TypeError: an array contains objects, strings or times, or JSON cannot represent the metadata.
        OSError: the file could not be written; an earlier file of that name is unchanged.
    """
    records: dict[str, Any] = {}
    plain: Arrays = {}
    for name, array in arrays.items():
        if name == "__metadata__":
            raise TypeError("the name __metadata__ is reserved by safetensors")
        described = describe_dtype(array.dtype)
        if array.dtype.fields is not None:
            records[name] = {"dtype": described, "shape": list(array.shape)}
            array = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize)
        plain[name] = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    notes = json.dumps({"format": FORMAT, "meta": dict(meta), "records": records})
    sum_of_file = _checksum(notes, plain) if checksum else _UNCHECKED
    with replacing(path) as file:
        try:
            save_file(plain, file.name, {"state": f"{sum_of_file} {notes}"})
        except SafetensorError as error:
            raise _os_error(error) from None
        os.chmod(file.name, stat.S_IMODE(os.fstat(file.fileno()).st_mode))  # safetensors lets only the owner read it


def load_state(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Reads a file that `save_state` has written, and verifies its checksum if it has one.

    Returns:
        The arrays, writable, by name, and the metadata.

    Raises:
        DamagedFile: the file is truncated, garbled, or was not written by `save_state`.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    try:
        with safe_open(path, "numpy", backend="pread") as file:
            metadata = file.metadata() or {}
            arrays: Arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
        if metadata.get("format") == _FIRST_FORMAT:
            raise DamagedFile(f"{path} was written by dancfr 0.1, whose files this version no longer reads")
        recorded, _, text = metadata["state"].partition(" ")
        found = _checksum(text, arrays) if recorded != _UNCHECKED else _UNCHECKED
        notes = json.loads(text)
        if notes["format"] != FORMAT:
            raise ValueError(f"its format is {notes['format']!r}, this version of dancfr reads {FORMAT!r}")
        if found != recorded:
            raise ValueError("its checksum does not match its content")
        for name, record in notes["records"].items():
            arrays[name] = arrays[name].view(parse_dtype(record["dtype"])).reshape(record["shape"])
        return arrays, notes["meta"]
    except DamagedFile:
        raise
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error).split("\n")[0]
        raise DamagedFile(f"{path} is damaged: {reason or type(error).__name__}") from None


def arrays_under(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """The arrays whose names begin with `prefix` and a dot, by the rest of their names."""
    start = f"{prefix}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def halved(arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays with those of float32 in half precision, for files that ship with a program.

    Raises:
        ValueError: a value exceeds the range of half precision, which ends at 65,504.
    """
    found: Arrays = {}
    for name, array in arrays.items():
        single = array.dtype == np.float32
        with np.errstate(over="ignore"):
            found[name] = array.astype(np.float16) if single else array
        if single and not np.isfinite(found[name]).all():
            raise ValueError(f"{name} contains values that half precision cannot represent")
    return found


def widened(arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays with those of half precision as float32, in which all nets play."""
    return {name: array.astype(np.float32) if array.dtype == np.float16 else array for name, array in arrays.items()}


def describe_dtype(dtype: np.dtype[Any]) -> Any:
    """A dtype as JSON: a string such as ``"<f4"``, or names, formats, offsets and size of a record.

    Raises:
        TypeError: the dtype contains anything but booleans, integers and floats.
    """
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return {"base": describe_dtype(base), "shape": list(shape)}
    if dtype.fields is not None:
        fields = {name: dtype.fields[name] for name in dtype.names or ()}
        return {
            "names": list(fields),
            "formats": [describe_dtype(field[0]) for field in fields.values()],
            "offsets": [int(field[1]) for field in fields.values()],
            "itemsize": dtype.itemsize,
        }
    if not _SCALAR.fullmatch(dtype.str):
        raise TypeError(f"cannot store dtype {dtype}: only booleans, integers and floats")
    return dtype.str


def parse_dtype(description: Any) -> np.dtype[Any]:
    """The dtype that `describe_dtype` described.

    Raises:
        ValueError: `description` does not describe a dtype, or `describe_dtype` would refuse the dtype.
    """
    if isinstance(description, str):
        if not _SCALAR.fullmatch(description):
            raise ValueError(f"dtype {description[:40]!r} is not allowed")
        return np.dtype(description)
    if not isinstance(description, dict):
        raise ValueError("a dtype must be a string or a record")
    if "base" in description:
        return np.dtype((parse_dtype(description["base"]), tuple(int(n) for n in description["shape"])))
    return np.dtype(
        {
            "names": [str(name) for name in description["names"]],
            "formats": [parse_dtype(part) for part in description["formats"]],
            "offsets": [int(offset) for offset in description["offsets"]],
            "itemsize": int(description["itemsize"]),
        }
    )


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a file for writing, which replaces `path` when the block ends without an error.

    Raises:
        OSError: the file could not be written; an earlier file of that name is unchanged.
    """
    path = Path(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with aside.open("wb") as file:
            yield file
        sync(aside)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    sync(path.parent)


def is_incomplete(name: str) -> bool:
    """Whether a file of this name is one that `replacing` was writing, perhaps in a process that was killed."""
    return _INCOMPLETE.fullmatch(name) is not None


def sync(path: str | os.PathLike[str]) -> None:
    """Makes a file's content, or the names in a folder, outlast a power cut, if the file system can."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(descriptor)


def _checksum(notes: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """CRC-32 of everything that `load_state` returns, as hexadecimal digits."""
    checksum = zlib.crc32(notes.encode())
    for name in sorted(arrays):
        checksum = zlib.crc32(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode(), checksum)
        checksum = zlib.crc32(arrays[name].data, checksum)
    return f"{checksum:08x}"


def _os_error(error: SafetensorError) -> OSError:
    """Returns the OSError that safetensors reports as text."""
    number = re.search(r"os error (\d+)", str(error))
    return OSError(int(number[1]), os.strerror(int(number[1]))) if number else OSError(str(error))
