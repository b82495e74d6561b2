"""Arrays on disk: the safetensors layout, self-checking, structured arrays included, never a pickle.

A file is `u64 header length | JSON header | array bytes`, which is what safetensors specifies, so any
safetensors reader opens it. Entries of the header's string metadata are ours: `meta` (the caller's JSON),
`records` (field layout of structured arrays, which are stored as rows of bytes) and `crc32` (over header and
data). The layout is written here and not by the safetensors package because buffers hold gigabytes: arrays go
from memory to the file and back without a second copy of them ever existing.
"""

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

FORMAT = "dancfr-state-1"

_CODES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
}
_DTYPES = {code: np.dtype(name).newbyteorder("<") for name, code in _CODES.items()}
_SCALAR = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248])")
_BLOCK = 4 << 20
_MAX_HEADER = 100_000_000  # the limit of the safetensors specification
_NO_SUM = "00000000"


class DamagedFile(ValueError):
    """A file that is truncated, garbled or not one of ours. The message is one line that names the file."""


class ForeignState(ValueError):
    """A saved state is whole, but of another net, buffer or setting than the one that shall take it over."""


def save_state(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Writes arrays and JSON metadata to `path`: written aside, synced to the disk and renamed.

    Whoever reads `path` meanwhile, or after a crash, finds the whole old file or the whole new one.
    Contiguous little-endian arrays are written from where they lie; others are copied once.

    Args:
        path: File to write; its folder must exist.
        arrays: Name to array of any shape. Booleans, integers, floats, and structured arrays of those.
        meta: Anything JSON can say.

    Raises:
        TypeError: an array of objects, strings or times, or metadata that JSON cannot say.
        OSError: the file could not be written; an earlier file of that name is untouched.
    """
    path = Path(path)
    records: dict[str, Any] = {}
    plain: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        if name == "__metadata__":
            raise TypeError("the name __metadata__ is taken by the file format")
        if array.dtype.fields is not None:
            records[name] = {"dtype": describe_dtype(array.dtype), "shape": list(array.shape)}
            array = _bytes_of(array).reshape(-1, array.dtype.itemsize)
        elif array.dtype.name not in _CODES:
            raise TypeError(f"array {name!r} of dtype {array.dtype} cannot be stored")
        plain[name] = np.ascontiguousarray(array, _DTYPES[_CODES[array.dtype.name]]).reshape(array.shape)
    plain = dict(sorted(plain.items(), key=lambda item: -item[1].itemsize))  # keeps every array aligned
    notes = {"format": FORMAT, "meta": json.dumps(dict(meta)), "records": json.dumps(records)}

    with replacing(path) as file:
        _write(file, plain, notes)


def load_state(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Reads what `save_state` wrote and checks every byte of it.

    Returns:
        The arrays, owned and writable, and the metadata.

    Raises:
        DamagedFile: truncated, garbled, or not written by `save_state`.
        FileNotFoundError: no such file.
    """
    path = Path(path)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            header, raw = _read_header(file, size)
            notes = header.pop("__metadata__")
            if notes["format"] != FORMAT:
                raise ValueError(f"written in the format {notes['format']!r}, this version reads {FORMAT!r}")
            plain = _read_arrays(file, header, size - 8 - len(raw))
            checksum = zlib.crc32(_without_sum(raw, notes["crc32"]))
            for array in plain.values():
                checksum = _update(checksum, array)
            if notes["crc32"] != f"{checksum:08x}":
                raise ValueError("its checksum does not match its content")
            records, meta = json.loads(notes["records"]), json.loads(notes["meta"])
            for name, record in records.items():
                plain[name] = plain[name].view(parse_dtype(record["dtype"])).reshape(record["shape"])
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, OverflowError, RecursionError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error).split("\n")[0]
            raise DamagedFile(f"{path} is damaged: {reason or type(error).__name__}") from None
    return {name: plain[name] for name in sorted(plain)}, meta


def describe_dtype(dtype: np.dtype[Any]) -> Any:
    """A dtype as plain JSON: a string such as ``"<f4"``, or names, formats, offsets and size of a record.

    Raises:
        TypeError: the dtype holds objects, strings or times.
    """
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return {"base": describe_dtype(base), "shape": list(shape)}
    if dtype.fields is not None:
        names = list(dtype.names or ())
        return {
            "names": names,
            "formats": [describe_dtype(dtype.fields[name][0]) for name in names],
            "offsets": [int(dtype.fields[name][1]) for name in names],
            "itemsize": dtype.itemsize,
        }
    if not _SCALAR.fullmatch(dtype.str):
        raise TypeError(f"dtype {dtype} cannot be stored: only booleans, integers and floats can")
    return dtype.str


def parse_dtype(description: Any) -> np.dtype[Any]:
    """The dtype that `describe_dtype` described; nothing in the description is ever evaluated.

    Raises:
        ValueError: not such a description, or one of a dtype other than booleans, integers and floats.
    """
    if isinstance(description, str):
        if not _SCALAR.fullmatch(description):
            raise ValueError(f"dtype {description[:40]!r} is not allowed")
        return np.dtype(description)
    if not isinstance(description, dict):
        raise ValueError("a dtype is a string or a record")
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
    """A file to write `path` anew: written aside, synced to the disk and renamed when the block ends well.

    Raises:
        OSError: it could not be written; an earlier file of that name is untouched.
    """
    path = Path(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Makes renames within `folder` last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """All bytes of an array in order, `uint8[nbytes]`; a view where the array is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _blocks(array: NDArray[Any]) -> Iterator[memoryview]:
    data = _bytes_of(array).data
    for start in range(0, len(data), _BLOCK):
        yield data[start : start + _BLOCK]


def _update(checksum: int, array: NDArray[Any]) -> int:
    for block in _blocks(array):
        checksum = zlib.crc32(block, checksum)
    return checksum


def _header(plain: Mapping[str, NDArray[Any]], notes: Mapping[str, str], checksum: str) -> bytes:
    entries: dict[str, Any] = {"__metadata__": {**notes, "crc32": checksum}}
    start = 0
    for name, array in plain.items():
        end = start + array.nbytes
        entries[name] = {
            "dtype": _CODES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
        start = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


def _without_sum(raw: bytes, checksum: str) -> bytes:
    """The header as it was before its checksum was known."""
    return raw.replace(f'"crc32":"{checksum}"'.encode(), f'"crc32":"{_NO_SUM}"'.encode(), 1)


def _write(file: BinaryIO, plain: Mapping[str, NDArray[Any]], notes: Mapping[str, str]) -> None:
    """One pass over the data; the checksum is put into the header at the end."""
    raw = _header(plain, notes, _NO_SUM)
    file.write(len(raw).to_bytes(8, "little") + raw)
    checksum = zlib.crc32(raw)
    for array in plain.values():
        for block in _blocks(array):
            checksum = zlib.crc32(block, checksum)
            file.write(block)
    file.seek(8)
    file.write(_header(plain, notes, f"{checksum:08x}"))


def _read_header(file: BufferedReader, size: int) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _MAX_HEADER):
        raise ValueError("it is cut short or not a state file")
    raw = file.read(length)
    header = json.loads(raw)
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__"), dict):
        raise ValueError("it is not a state file")
    return header, raw


def _read_arrays(file: BufferedReader, header: dict[str, Any], room: int) -> dict[str, NDArray[Any]]:
    """Arrays in file order, each read straight into its own memory. `room` is the number of data bytes."""
    arrays: dict[str, NDArray[Any]] = {}
    position = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape = _DTYPES[entry["dtype"]], tuple(int(n) for n in entry["shape"])
        count = 1
        for n in shape:
            if n < 0:
                raise ValueError("it describes an array of negative size")
            count *= n
        start, end = entry["data_offsets"]
        if start != position or end - start != count * dtype.itemsize or end > room:
            raise ValueError("it is cut short or its header is garbled")
        array = np.empty(shape, dtype)
        if array.nbytes and file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
            raise EOFError("it is cut short")
        arrays[name] = array
        position = end
    if position != room:
        raise ValueError("it holds more bytes than its header describes")
    return arrays
