"""A submission that would fail on the cluster is refused before anything is sent.

The server at the address records the requests: the version is all that it is asked for.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.faults.commands import assert_refused, dancfr

Capture = pytest.CaptureFixture[str]
TOKEN = "of-the-cluster"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working tree of some files, in an environment without a token."""
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "tree"
    folder.mkdir()
    for number in range(20):
        (folder / f"module{number}.py").write_text(f"number = {number}\n" * 1000)
    return folder


@contextmanager
def cluster() -> Iterator[tuple[str, list[str]]]:
    """URL of a server that answers like a job server with a token, and the list of the requests it gets."""
    asked: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked.append(f"{self.command} {self.path}")
            known = self.headers.get("Authorization")
            self.send_response(200 if known == f"Bearer {TOKEN}" else 403 if known else 401)
            self.end_headers()
            self.wfile.write(b'{"version": "4", "ray_version": "2.60.0", "ray_commit": "x"}')

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def submit(capfd: Capture, tree: Path, address: str):
    words = ("submit", "geister-quick", "iterations=2", "--no-follow")
    return dancfr(capfd, *words, "--working-dir", str(tree), "--address", address)


def test_without_the_token_or_with_another_nothing_is_sent(
    tree: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cluster() as (address, asked):
        line = assert_refused(submit(capfd, tree, address))
        assert "requires a token, and none was found" in line
        monkeypatch.setenv("RAY_AUTH_TOKEN", "of-another")
        assert "rejects the token in RAY_AUTH_TOKEN" in assert_refused(submit(capfd, tree, address))
    assert set(asked) == {"GET /api/version"}


def test_a_connection_that_breaks_once_is_made_again(tree: Path, capfd: Capture) -> None:
    """As when `kubectl port-forward` drops its first connection."""
    with socket.create_server(("127.0.0.1", 0)) as dropping:
        address = f"http://127.0.0.1:{dropping.getsockname()[1]}"

        def serve() -> None:
            dropping.accept()[0].close()
            with dropping.accept()[0] as asked:
                asked.recv(4096)
                asked.sendall(b"HTTP/1.0 401 Unauthorized\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        line = assert_refused(submit(capfd, tree, address))
        thread.join()
    assert "requires a token, and none was found" in line
