"""A proxy for HTTP, and how a program is told to use it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@contextmanager
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names a proxy in the environment, as a company's machines do; gives the requests that it is asked to pass on."""
    asked: list[str] = []

    class Refuses(BaseHTTPRequestHandler):
        def refuse(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.send_response(502)
            self.end_headers()

        do_GET = do_POST = do_PUT = do_DELETE = do_CONNECT = refuse

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ws_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_port}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()
