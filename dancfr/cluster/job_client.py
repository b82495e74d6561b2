"""Talking to the job server of a Ray cluster: its address, its token, jobs and their logs.

Whoever reaches that server can run any program on the cluster (CVE-2023-48022), hence the token.
"""

import asyncio
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dancfr.errors import RunError, UsageError, warn

DEFAULT_ADDRESS = "http://127.0.0.1:8265"

STOP_SECONDS = 120
"""What a job gets between SIGTERM and SIGKILL, to write its checkpoint. Ray's default is 3."""

_ADDRESS_VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


@dataclass(frozen=True)
class Server:
    """A job server that answers.

    Attributes:
        address: Its URL.
        headers: What authenticates the caller.
        version: Its version of Ray.
    """

    address: str
    headers: dict[str, str]
    version: str


def find_token() -> tuple[str, str]:
    """The token of this user and where it was found, looked for as Ray does; two empty strings without one.

    Raises:
        UsageError: a file is named for it that cannot be read or is empty.
    """
    if token := os.environ.get("RAY_AUTH_TOKEN", "").strip():
        if not (token.isascii() and token.isprintable()):
            raise UsageError("RAY_AUTH_TOKEN holds no token: it is one line of ASCII")
        return token, "RAY_AUTH_TOKEN"
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    path = Path(named) if named else Path.home() / ".ray" / "auth_token"
    try:
        token = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        token = ""
    if token and not (token.isascii() and token.isprintable()):
        raise UsageError(f"{path} holds no token: it is one line of ASCII (`ray get-auth-token --generate` makes one)")
    if token:
        return token, str(path)
    if named:
        raise UsageError(f"RAY_AUTH_TOKEN_PATH names {named}, which holds no token: put the cluster's token there")
    return "", ""


def reach(address: str | None) -> Server:
    """The job server at `address`; None takes RAY_API_SERVER_ADDRESS, else this machine's.

    Raises:
        UsageError: the address is none, nothing answers, what answers is no Ray, or the token is missing or wrong.
    """
    address = _checked(address or os.environ.get("RAY_API_SERVER_ADDRESS") or DEFAULT_ADDRESS)
    status, version = _ask(address, {})
    if status == 200:
        warn(
            f"warning: {address} takes jobs from everybody who reaches it: start its Ray with RAY_AUTH_MODE=token "
            "(see docs/cluster.md)"
        )
        return Server(address, {}, version)
    token, source = find_token()
    if not token:
        raise UsageError(
            f"{address} asks for a token and there is none here: copy the cluster's to ~/.ray/auth_token, or set "
            "RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
        )
    headers = {"Authorization": f"Bearer {token}"}
    status, version = _ask(address, headers)
    if status != 200:
        raise UsageError(f"{address} refuses the token in {source}: it is another cluster's; fetch the one it has")
    return Server(address, headers, version)


def _checked(address: str) -> str:
    wrong = UsageError(f"{address!r} is no address of a job server: say http://HOST:PORT, e.g. {DEFAULT_ADDRESS}")
    try:
        parts = urlsplit(address)
        port = parts.port  # a property that raises
    except ValueError:
        raise wrong from None
    if parts.username is not None:
        raise UsageError("an address of a job server has no user or password in it: Ray takes a token")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise wrong
    if not all(0 < len(label) < 64 for label in parts.hostname.removesuffix(".").split(".")):
        raise wrong
    return address.rstrip("/")


def _ask(address: str, headers: dict[str, str]) -> tuple[int, str]:
    """Status of a request for the server's version, and that version."""
    import requests

    try:
        answer = requests.get(f"{address}/api/version", headers=headers, timeout=(5, 15), allow_redirects=False)
    except requests.exceptions.RequestException as error:
        cause = "no answer in time" if isinstance(error, requests.exceptions.Timeout) else "no connection"
        raise UsageError(
            f"nothing answers at {address} ({cause}): start the cluster, or open the way to its dashboard with "
            "`ray dashboard CLUSTER.yaml`, ssh -L or kubectl port-forward"
        ) from None
    version = ""
    if answer.status_code == 200:
        with suppress(ValueError, AttributeError):
            version = str(answer.json().get("ray_version") or "")
    if answer.status_code in (401, 403) or version:
        return answer.status_code, version
    raise UsageError(f"what answers at {address} is no job server of Ray: name the port of its dashboard")


@contextmanager
def connection(server: Server) -> Iterator[Any]:
    """Ray's client of that server, whatever the environment says; its failures as one line.

    Raises:
        RunError: the server refused something, or went away.
    """
    import logging

    import requests
    from ray.job_submission import JobSubmissionClient

    logging.getLogger("ray.dashboard").setLevel(logging.WARNING)
    for name in ("ray.dashboard.modules.job.sdk", "ray.dashboard.modules.dashboard_sdk"):
        logging.getLogger(name).setLevel(logging.WARNING)
    kept = {name: os.environ.pop(name) for name in _ADDRESS_VARIABLES if name in os.environ}  # they override it
    try:
        client = JobSubmissionClient(server.address, headers=dict(server.headers))
    except (ConnectionError, RuntimeError) as error:
        raise RunError(f"{server.address}: {_line(error)}") from error
    finally:
        os.environ.update(kept)
    try:
        yield client
    except (ConnectionError, RuntimeError, requests.exceptions.RequestException) as error:
        if isinstance(error, RuntimeError) and "does not exist" in str(error):
            raise UsageError(f"{server.address} has no such job: `dancfr jobs` lists them") from None
        if "No available agent" in str(error):
            raise RunError(
                f"{server.address}: no machine of this cluster takes jobs, since Ray's dashboard agent is not up: "
                "another Ray on the head may have its port (give this one --dashboard-agent-listen-port of its own); "
                "logs/dashboard_agent.log in Ray's folder there says why"
            ) from error
        raise RunError(f"{server.address}: {_line(error)}") from error


def list_jobs(server: Server) -> list[dict[str, Any]]:
    """All submitted jobs, oldest first: id, status, preset, run_dir, started (seconds since 1970), message."""
    with connection(server) as client:
        known = [job for job in client.list_jobs() if job.submission_id]
    rows = [
        {
            "job": job.submission_id,
            "status": _name(job.status),
            "preset": (job.metadata or {}).get("preset", ""),
            "run_dir": (job.metadata or {}).get("run_dir", ""),
            "started": (job.start_time or 0) / 1000,
            "entrypoint": job.entrypoint,
        }
        for job in known
    ]
    return sorted(rows, key=lambda row: row["started"])


def _check_job(job: str) -> None:
    """Raises UsageError for what cannot be the id of a job, and would be another path of the server."""
    if not re.fullmatch(r"[\w-]+", job):
        raise UsageError(f"{job!r} is no id of a job: `dancfr jobs` lists them")


def job_log(server: Server, job: str) -> str:
    """What the job has printed so far."""
    _check_job(job)
    with connection(server) as client:
        text: str = client.get_job_logs(job)
    return text


def stop_job(server: Server, job: str) -> str:
    """Asks the job to write a checkpoint and end, and waits until it has; its last status.

    Raises:
        UsageError: there is no such job.
        RunError: it has not ended within `STOP_SECONDS` and a little more.
    """
    _check_job(job)
    with connection(server) as client:
        client.stop_job(job)
        deadline = time.monotonic() + STOP_SECONDS + 15
        while (status := _name(client.get_job_status(job))) not in _ENDED:
            if time.monotonic() > deadline:
                raise RunError(f"{job} is still {status}: look at `dancfr jobs logs {job}`")
            time.sleep(0.3)
    return status


def follow(server: Server, job: str) -> str:
    """Prints the job's log to standard error until it ends; its last status.

    Raises:
        RunError: the job failed; the message is the last line that it printed.
    """
    with connection(server) as client:
        shown = 0
        while (status := _name(client.get_job_status(job))) not in _ENDED:
            with suppress(RuntimeError, OSError):  # a tunnel that was closed and opened again, say
                shown = asyncio.run(_tail(client, job, shown))
            time.sleep(0.3)
        asyncio.run(_tail(client, job, shown))
        message = client.get_job_info(job).message
    if status == "FAILED":
        lines = [line for line in (message or "").splitlines() if line.strip()]
        raise RunError(f"{job} failed: {lines[-1] if lines else 'it printed nothing'}")
    return status


async def _tail(client: Any, job: str, shown: int) -> int:
    """Prints the log from character `shown` on, as it grows; how much has been printed."""
    place = 0
    async for text in client.tail_job_logs(job):
        if place + len(text) > shown:
            new = text[max(shown - place, 0) :]
            with suppress(OSError, ValueError):
                os.write(2, new.encode())
        place += len(text)
    return max(shown, place)


def _name(status: Any) -> str:
    return str(getattr(status, "value", status))


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:300] or type(error).__name__
