"""Programs that misbehave as fast as they can, from threads of this process."""

import itertools
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

THREADS, HELD = 3, 400

_names = itertools.count()


class Flood(NamedTuple):
    """The behaviour of each connection.

    Attributes:
        first: Sent first; NUMBER stands for another number each time.
        again: Sent again and again after that; without it the connection is left open, and the next one begins.
        closes: The connection is closed immediately.
    """

    first: bytes = b""
    again: bytes = b""
    closes: bool = False


def frame(opcode: int, data: bytes, last: bool = True) -> bytes:
    """A frame of a WebSocket, by a client."""
    length = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(data))
    return bytes([0x80 * last | opcode]) + length + bytes(4) + data


def upgrade(path: str) -> bytes:
    """The request that opens a WebSocket."""
    return (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def web_floods(path: str) -> dict[str, Flood]:
    """Floods of a server of WebSockets at a path."""
    return {
        "silent": Flood(),
        "closed": Flood(closes=True),
        "half a request": Flood(b"GET / HTTP/1.1\r\nHost: x\r\nX-More: "),
        "answers unread": Flood(again=200 * b"GET /main.js HTTP/1.1\r\nHost: x\r\n\r\n"),
        "no HTTP": Flood(again=1000 * b"\x00\xff\r\n"),
        "messages unread": Flood(upgrade(path)),
        "pings": Flood(upgrade(path), 500 * frame(9, 100 * b"x")),
        "no text": Flood(upgrade(path), 500 * frame(2, b"\xff\x00")),
        "an endless message": Flood(upgrade(path) + frame(1, b"x", False), 50 * frame(0, 1000 * b"x", False)),
        "empty parts": Flood(upgrade(path) + frame(1, b"", False), 2000 * frame(0, b"", False)),
    }


LINE_FLOODS = {
    "silent": Flood(),
    "closed": Flood(closes=True),
    "lines": Flood(again=1000 * b"junk\r\n"),
    "a line without end": Flood(again=65_536 * b"x"),
    "a browser": Flood(b"GET / HTTP/1.1\r\n\r\n"),
}


@contextmanager
def flooded(flood: Flood, port: int) -> Iterator[Callable[[], int]]:
    """Floods a port while the block runs, and yields a function that returns the number of connections so far."""
    stop, count = threading.Event(), itertools.count()
    threads = [threading.Thread(target=_attack, args=(flood, port, stop, count)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        yield lambda: count.__reduce__()[1][0]
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _attack(flood: Flood, port: int, stop: threading.Event, count: "itertools.count[int]") -> None:
    held: list[socket.socket] = []
    while not stop.is_set():
        with suppress(OSError):
            attacker = socket.create_connection(("127.0.0.1", port), timeout=0.5)
            held.append(attacker)
            next(count)
            attacker.sendall(flood.first.replace(b"NUMBER", str(next(_names)).encode()))
            while flood.again and not stop.is_set():
                attacker.sendall(flood.again)
        if held and (flood.closes or len(held) > HELD):
            held.pop(0).close()
        time.sleep(0.001)
    for attacker in held:
        attacker.close()
