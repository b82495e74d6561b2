"""The log of a job is followed over broken connections. The server breaks them; with a real cluster: tests/cluster."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web

from dancfr.cluster import submit as sending
from dancfr.cluster.job_client import JobFailed, Server, follow
from dancfr.cluster.submit import SubmitRequest, submit
from dancfr.errors import RunError

Capture = pytest.CaptureFixture[str]
LOG = ("first line\n", "second line\n")


class Jobs:
    """A job server whose connections to the log of its job end as `ends` says, one after the other.

    Args:
        ends: ``breaks`` after the first line, ``refused`` with status 503, ``drops`` without an answer, ``whole``.
    """

    def __init__(self, *ends: str) -> None:
        self._ends = list(ends)
        self._status = "RUNNING"

    async def version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": "4", "ray_version": "2.60.0", "ray_commit": "x"})

    async def job(self, request: web.Request) -> web.Response:
        about = {"type": "SUBMISSION", "submission_id": "job", "entrypoint": "true", "status": self._status}
        return web.json_response({**about, "driver_exit_code": 0})

    async def log(self, request: web.Request) -> web.StreamResponse:
        end = self._ends.pop(0)
        if len(self._ends) < 2:
            self._status = "SUCCEEDED"
        if end == "refused":
            return web.Response(status=503)
        assert request.transport is not None
        if end == "drops":
            request.transport.abort()
            return web.Response()
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str(LOG[0])
        if end == "breaks":
            await asyncio.sleep(0.1)
            request.transport.close()
        else:
            await socket.send_str(LOG[1])
            await socket.close()
        return socket


@contextmanager
def serving(jobs: Jobs) -> Iterator[Server]:
    """Serves the job in a thread."""
    loop = asyncio.new_event_loop()
    app = web.Application()
    app.add_routes([web.get("/api/version", jobs.version), web.get("/api/jobs/job", jobs.job)])
    app.add_routes([web.get("/api/jobs/job/logs/tail", jobs.log)])
    runner = web.AppRunner(app)

    async def start() -> Any:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner.addresses[0][1]

    port = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{port}", {})
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_each_line_is_shown_once_over_connections_that_break(capfd: Capture) -> None:
    with serving(Jobs("breaks", "refused", "drops", "breaks", "whole", "whole")) as server:
        assert follow(server, "job") == "SUCCEEDED"
    assert capfd.readouterr().err == "".join(LOG)


@pytest.mark.parametrize("end", ["refused", "drops"])
def test_a_connection_that_is_not_made_again_is_one_line(end: str) -> None:
    with serving(Jobs("whole", end)) as server, pytest.raises(RunError, match=f"^{server.address}: [^\n]+$"):
        follow(server, "job")


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (JobFailed("job failed: no space"), "; continue with: dancfr submit leduc-dream --run-dir /runs/a --resume"),
        (RunError("http://head:8265: Connection refused"), "; `dancfr jobs` shows whether job still runs, and "),
    ],
)
def test_only_a_job_that_has_failed_is_said_to_need_a_continuation(
    error: RunError, cure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(server: Server, job: str) -> str:
        raise error

    monkeypatch.setattr(sending, "reach", lambda *_: Server("http://head:8265", {}))
    monkeypatch.setattr(sending, "_checkout", lambda: None)
    monkeypatch.setattr(sending, "_send", lambda *_: "job")
    monkeypatch.setattr(sending, "follow", fail)
    with pytest.raises(type(error)) as caught:
        submit(SubmitRequest("leduc-dream", run_dir="/runs/a"))
    assert str(caught.value).startswith(f"{error}{cure}")
