"""A stand-in for the hub's content store, Xet: the uploads of `hf_xet`, and the way back to the bytes of a file.

A file is cut into chunks. A *xorb* holds chunks, compressed; a *shard* says for each file which chunks of which xorbs
are its content, in the order of its *terms*. The formats are those of the published specification
(https://huggingface.co/docs/xet), as far as small files need them. Everything stays in memory.
"""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import lz4.frame

HASH = 32
"""Bytes of a hash in a shard."""
ENTRY = 48
"""Bytes of the header of a shard and of each of its entries."""
VERIFIED, WITH_METADATA = 1 << 31, 1 << 30
"""Flags of a file in a shard: its terms have entries of verification, and its SHA-256 follows them."""


@dataclass(frozen=True)
class Term:
    """A part of a file: chunks of a xorb, the last one excluded, and their bytes when unpacked."""

    xorb: str
    first: int
    last: int
    size: int


@dataclass
class XetStore:
    """The store.

    Attributes:
        xorbs: Xorbs by hash, as they were sent.
        files: Terms of each file by its hash.
        hashes: Hashes of files by the SHA-256 of their content, by which a commit names them.
    """

    xorbs: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, list[Term]] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def add_shard(self, shard: bytes) -> None:
        """Notes the files of a shard, and checks that their content is complete."""
        at = ENTRY
        while (name := shard[at : at + HASH]) != b"\xff" * HASH:
            flags, count = struct.unpack_from("<II", shard, at + HASH)
            assert flags & WITH_METADATA, "the hub needs the SHA-256 of a file in a git repository"
            at += ENTRY
            terms = []
            for _ in range(count):
                _, size, first, last = struct.unpack_from("<IIII", shard, at + HASH)
                terms.append(Term(_hex(shard[at : at + HASH]), first, last, size))
                at += ENTRY
            at += count * ENTRY if flags & VERIFIED else 0
            sha256 = _hex(shard[at : at + HASH])
            at += ENTRY
            self.files[_hex(name)], self.hashes[sha256] = terms, _hex(name)
            assert hashlib.sha256(self.content(sha256)).hexdigest() == sha256

    def content(self, sha256: str) -> bytes:
        """The bytes of a file."""
        parts = []
        for term in self.files[self.hashes[sha256]]:
            chunks = [data for _, _, data in _chunks(self.xorbs[term.xorb])][term.first : term.last]
            assert sum(map(len, chunks)) == term.size
            parts += chunks
        return b"".join(parts)

    def reconstruction(self, name: str, place: str) -> dict[str, Any]:
        """The answer to the question how a file is made.

        Args:
            name: Its hash.
            place: Address under which xorbs can be fetched.
        """
        terms = self.files[name]
        fetched: dict[str, list[dict[str, Any]]] = {}
        for term in terms:
            places = [(begin, end) for begin, end, _ in _chunks(self.xorbs[term.xorb])][term.first : term.last]
            chunks, lies = {"start": term.first, "end": term.last}, {"start": places[0][0], "end": places[-1][1] - 1}
            fetched.setdefault(term.xorb, []).append({"range": chunks, "url": place + term.xorb, "url_range": lies})
        told = [
            {"hash": term.xorb, "unpacked_length": term.size, "range": {"start": term.first, "end": term.last}}
            for term in terms
        ]
        return {"offset_into_first_range": 0, "terms": told, "fetch_info": fetched}


def _chunks(xorb: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Begin, end and content of each chunk of a xorb. A footer, which begins with its name, may follow the last one."""
    at = 0
    while at < len(xorb) and not xorb.startswith(b"XETBLOB", at):
        packed, unpacked = (int.from_bytes(xorb[at + begin : at + begin + 3], "little") for begin in (1, 5))
        data, scheme = xorb[at + 8 : at + 8 + packed], xorb[at + 4]
        if scheme:
            data = lz4.frame.decompress(data)
        if scheme == 2:
            data = _ungrouped(data)
        assert len(data) == unpacked
        yield at, at + 8 + packed, data
        at += 8 + packed


def _ungrouped(data: bytes) -> bytes:
    """The bytes in their order: all first bytes of words of four come first, then all second ones, and so on."""
    found, at = bytearray(len(data)), 0
    for place in range(4):
        count = len(range(place, len(data), 4))
        found[place::4] = data[at : at + count]
        at += count
    return bytes(found)


def _hex(name: bytes) -> str:
    """A hash as text: four numbers of 64 bits, each of which lies with its lowest byte first."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", name))
