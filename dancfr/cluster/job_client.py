"""Jobs of a Ray cluster, through Ray's `JobSubmissionClient`; failures are reported in one line with a cure.

Anyone who can reach a job server without a token can run any program on its cluster (CVE-2023-48022).
"""

import asyncio
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from actors.addresses import RayUnavailable, without_proxy
from actors.cluster import variables
from actors.credentials import protect_token, token_file
from dancfr.cluster.entrypoint import read_entrypoint
from dancfr.errors import RunError, UsageError, warn

DEFAULT_ADDRESS = "http://127.0.0.1:8265"

STOP_SECONDS = 120
"""Seconds between SIGTERM and SIGKILL when a job is stopped, for its checkpoint. Ray's default is 3."""

ANSWER_SECONDS = 120
"""Longest time in which a job server has to answer a request; a request may send 100 MiB."""

_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class JobFailed(RunError):
    """A job has ended without success. Other errors leave open whether it still runs."""


@dataclass(frozen=True)
class Server:
    """A job server that has answered.

    Attributes:
        address: Its URL.
        headers: HTTP headers that authenticate the user; empty where the server requires no token.
    """

    address: str
    headers: dict[str, str]


def find_token() -> tuple[str, str]:
    """The user's token for Ray and where it was found; two empty strings without one.

    As Ray documents, the first of these counts: RAY_AUTH_TOKEN, the file that RAY_AUTH_TOKEN_PATH names,
    ~/.ray/auth_token. The token is read here, and passed on as a header, because Ray fixes at its import whether
    it uses one.

    Raises:
        UsageError: The token is not one line of ASCII, RAY_AUTH_TOKEN_PATH names a file without a token, or other users
            can read the file and that cannot be changed.
    """
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    token, source = os.environ.get("RAY_AUTH_TOKEN", "").strip(), "RAY_AUTH_TOKEN"
    if not token:
        try:
            protect_token(warn)
        except RayUnavailable as error:
            raise UsageError(str(error)) from error
        with suppress(OSError, RuntimeError, UnicodeDecodeError):
            path = token_file()
            source = str(path)
            token = path.read_text().strip()
    if token and not (token.isascii() and token.isprintable()):
        raise UsageError(f"{source} must hold one line of ASCII; `ray get-auth-token --generate` makes a token")
    if not token and named:
        raise UsageError(f"RAY_AUTH_TOKEN_PATH names {named}, which holds no token: write the cluster's token to it")
    return (token, source) if token else ("", "")


def reach(address: str | None, say: Callable[[str], None] = lambda _: None) -> Server:
    """Finds out whether a job server answers, and whether it accepts the user's token.

    Args:
        address: URL of the cluster's dashboard; None means RAY_API_SERVER_ADDRESS, else this machine's dashboard.
        say: Called with a line before the server is asked.

    Raises:
        UsageError: The address is not a URL, nothing or another program answers, or the token is missing or wrong.
    """
    named = None if address else os.environ.get("RAY_API_SERVER_ADDRESS")
    try:
        found = _checked(address or named or DEFAULT_ADDRESS)
        say(f"connecting to {found}")
        return _reached(found)
    except UsageError as error:
        raise UsageError(f"{error}; RAY_API_SERVER_ADDRESS names this address") if named else error from None


def _reached(address: str) -> Server:
    if _accepts(address, {}):
        warn(
            f"warning: {address} accepts jobs from anyone who can reach it; start its Ray with RAY_AUTH_MODE=token "
            "(see docs/how-to/cluster.md)"
        )
        return Server(address, {})
    token, source = find_token()
    if not token:
        raise UsageError(
            f"{address} requires a token, and none was found: copy the cluster's token to ~/.ray/auth_token, or set "
            "RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
        )
    headers = {"Authorization": f"Bearer {token}"}
    if not _accepts(address, headers):
        raise UsageError(f"{address} rejects the token in {source}: copy the token of this cluster there")
    return Server(address, headers)


def _checked(address: str) -> str:
    """The address without a slash at its end; raises UsageError unless it is an HTTP URL."""
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0  # `port` may raise
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(f"{address!r} is not the URL of a job server: use http://HOST:PORT, e.g. {DEFAULT_ADDRESS}")
    if parts.username is not None:
        raise UsageError("the URL of a job server cannot contain a user or a password: Ray uses a token")
    return address.rstrip("/")


def _accepts(address: str, headers: dict[str, str]) -> bool:
    """Whether the job server at `address` answers a request with these headers; False if it wants another token.

    `JobSubmissionClient` has no time limit and does not tell another program from Ray, so this asks first.
    """
    import requests

    try:
        with variables(without_proxy(urlsplit(address).hostname or "")):
            answer = _answer(f"{address}/api/version", headers)
    except (requests.exceptions.RequestException, UnicodeError) as error:  # the latter for some host names
        cause = "no answer in time" if isinstance(error, requests.exceptions.Timeout) else f"no connection{_why(error)}"
        if isinstance(error, requests.exceptions.ProxyError):
            cause = "the proxy that the environment names fails; to do without it, name the host in no_proxy"
        raise UsageError(
            f"nothing answers at {address} ({cause}): start the cluster, or forward the port of its dashboard with "
            "`ray dashboard CLUSTER.yaml`, ssh -L or kubectl port-forward"
        ) from None
    if answer.status_code in (401, 403):
        return False
    if answer.status_code == 200:
        with suppress(ValueError, TypeError, LookupError):
            if answer.json()["ray_version"]:
                return True
    raise UsageError(f"the program at {address} is not a job server of Ray: use the port of the cluster's dashboard")


def _answer(url: str, headers: dict[str, str]) -> Any:
    """The answer to a GET request, which is sent again if the connection breaks: a forwarded port may drop the first
    one."""
    import requests

    send = partial(requests.get, url, headers=headers, timeout=(5, 15), allow_redirects=False)
    try:
        return send()
    except (requests.exceptions.Timeout, requests.exceptions.ProxyError):
        raise
    except requests.exceptions.ConnectionError:
        time.sleep(0.2)
        return send()


def _why(error: BaseException) -> str:
    """The cause that the operating system gave for a failed request, e.g. ": Connection refused", if there is one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return f": {cause.strerror}"
        cause = cause.__cause__ or cause.__context__
    return ""


@contextmanager
def connection(server: Server) -> Iterator[Any]:
    """A `JobSubmissionClient` of that server, whose failures become errors of one line.

    Raises:
        UsageError: A job does not exist.
        RunError: The server refused a request, or the connection was lost.
    """
    import logging

    import aiohttp
    import requests
    from ray.exceptions import RayError
    from ray.job_submission import JobSubmissionClient

    logging.getLogger("ray").setLevel(logging.WARNING)
    for name in ("ray.dashboard.modules.job.sdk", "ray.dashboard.modules.dashboard_sdk"):
        logging.getLogger(name).setLevel(logging.WARNING)  # Ray sets these to INFO

    class Client(JobSubmissionClient):
        def _do_request(self, *args: Any, **options: Any) -> Any:  # Ray's has no time limit
            return super()._do_request(*args, **{"timeout": (5, ANSWER_SECONDS), **options})

    # The variable of Ray overrides the client's argument.
    environment = {"RAY_API_SERVER_ADDRESS": server.address} | without_proxy(urlsplit(server.address).hostname or "")
    try:
        with variables(environment):
            yield Client(server.address, headers=dict(server.headers))
    except (ConnectionError, RuntimeError, RayError, requests.RequestException, aiohttp.ClientError) as error:
        if isinstance(error, RuntimeError) and "does not exist" in str(error):
            raise UsageError(f"{server.address} has no such job: `dancfr jobs` lists its jobs") from None
        if "No available agent" in str(error):
            raise RunError(
                f"{server.address}: no machine of this cluster accepts jobs, because Ray's dashboard agent is not "
                "running: its port may belong to another Ray on the head (choose another one with "
                "--dashboard-agent-listen-port); logs/dashboard_agent.log in Ray's folder on the head says why"
            ) from error
        raise RunError(f"{server.address}: {_line(error)}") from error


def list_jobs(server: Server) -> list[dict[str, Any]]:
    """All submitted jobs, oldest first: ``job``, ``status``, ``command``, ``preset``, ``run_dir`` (of a search: its
    folder), ``started`` (seconds since 1970) and ``entrypoint``."""
    with connection(server) as client:
        known = [job for job in client.list_jobs() if job.submission_id]
    rows = []
    for job in known:
        about, found = job.metadata or {}, read_entrypoint(job.entrypoint)
        rows.append(
            {
                "job": job.submission_id,
                "status": _name(job.status),
                "command": found.command,
                "preset": about.get("preset", found.preset),
                "run_dir": about.get("run_dir", found.folder),
                "started": (job.start_time or 0) / 1000,
                "entrypoint": job.entrypoint,
            }
        )
    return sorted(rows, key=lambda row: row["started"])


def _check_job(job: str) -> None:
    """Raises UsageError for a string that cannot be a job id, and would be another path of the server."""
    if not re.fullmatch(r"[\w-]+", job):
        raise UsageError(f"{job!r} is not the id of a job: `dancfr jobs` lists the jobs")


def job_log(server: Server, job: str) -> str:
    """The output of a job so far."""
    _check_job(job)
    with connection(server) as client:
        text: str = client.get_job_logs(job)
    return text


def stop_job(server: Server, job: str) -> str:
    """Asks a job to write a checkpoint and end, waits for its end, and returns its last status.

    Raises:
        UsageError: There is no such job.
        RunError: The job has not ended within `STOP_SECONDS` and a little more.
    """
    _check_job(job)
    with connection(server) as client:
        client.stop_job(job)
        deadline = time.monotonic() + STOP_SECONDS + 15
        while (status := _name(client.get_job_status(job))) not in _ENDED:
            if time.monotonic() > deadline:
                raise RunError(f"{job} is still {status}: see `dancfr jobs logs {job}`")
            time.sleep(0.3)
    return status


def follow(server: Server, job: str) -> str:
    """Copies the output of a job to standard error until the job ends, and returns its last status.

    Raises:
        JobFailed: The job failed. The message says how its command ended and has the last line of its output, which is
            the cause only if the command could still write one.
        RunError: The server refused a request, or the connection was lost.
    """
    import aiohttp

    with connection(server) as client:
        copied = _Copied()
        if _name(client.get_job_status(job)) == "PENDING":
            warn(f"waiting for {job} to start")
        while (status := _name(client.get_job_status(job))) not in _ENDED:
            with suppress(RuntimeError, OSError, aiohttp.ClientError):  # the connection was lost, and may be back
                asyncio.run(_tail(client, job, copied))
            time.sleep(0.3)
        asyncio.run(_tail(client, job, copied))
        found = client.get_job_info(job)
    if status == "FAILED":
        lines = [line for line in (found.message or "").splitlines() if line.strip()]
        last = lines[-1].strip() if lines else "it printed nothing"
        raise JobFailed(f"{job} failed: {_end(found.driver_exit_code, last)}")
    return status


def _end(code: int | None, last: str) -> str:
    """Returns how the command of a failed job ended, from its exit code and the last line of its log."""
    number = -code if code is not None and code < 0 else (code or 0) - 128  # of a signal; shells add 128
    names = {each.value: each.name for each in signal.Signals}
    if number not in names:
        return last
    memory = ", as by a system that is out of memory" if number == signal.SIGKILL else ""
    return f"its command was killed by {names[number]}{memory}; the last line of its log is: {last}"


@dataclass
class _Copied:
    """The number of characters of a job's output that were copied, which is known even if a connection breaks."""

    characters: int = 0


async def _tail(client: Any, job: str, copied: _Copied) -> None:
    """Copies the output of a job from the first character not yet `copied` on, as it grows."""
    position = 0
    async for text in client.tail_job_logs(job):
        new = text[max(copied.characters - position, 0) :]
        position += len(text)
        if new:
            with suppress(OSError, ValueError):
                os.write(2, new.encode())
            copied.characters = position


def _name(status: Any) -> str:
    return str(getattr(status, "value", status))


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:300] or type(error).__name__
