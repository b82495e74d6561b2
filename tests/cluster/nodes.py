"""A Ray cluster on this machine: a head and workers as separate processes, each at an address of its own."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import requests

from tests.dancfr.outcomes import Outcome

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dancfr", "actors", "learners", "envs")


class Nodes:
    """`ray start --head` at 127.0.0.2 and workers at 127.0.0.3 and on, each with one CPU; all of them ask for a token.

    Attributes:
        home: Home folder of the user who started the nodes, with the token in it.
        url: Of the dashboard, on 127.0.0.1 alone.
        address: Of the control service.
        token: What authenticates.
        started: Processes of `ray start`, the head's first.
    """

    def __init__(self, folder: Path, workers: int) -> None:
        self.home = folder / "home"
        self.token = secrets.token_hex(16)
        (self.home / ".ray").mkdir(mode=0o700, parents=True)
        (self.home / ".ray" / "auth_token").touch(mode=0o600)
        (self.home / ".ray" / "auth_token").write_text(self.token)
        self.port, dashboard, client = free_ports(3)
        self.url, self.address = f"http://127.0.0.1:{dashboard}", f"127.0.0.2:{self.port}"
        self.started: list[subprocess.Popen[bytes]] = []
        self._folder = folder
        try:
            # Sockets have short names, so Ray's folder cannot lie deep in pytest's.
            self._temporary = Path(f"/tmp/dancfr-test-{secrets.token_hex(4)}")
            self._start(
                "127.0.0.2", "--head", f"--port={self.port}", f"--ray-client-server-port={client}", "--num-cpus=0",
                "--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}", f"--temp-dir={self._temporary}",
            )  # fmt: skip
            for index in range(workers):
                self.add(f"127.0.0.{3 + index}")
        except BaseException:
            self.stop()
            raise

    def add(self, ip: str, *options: str, **environment: str) -> None:
        """One more worker."""
        self._start(ip, f"--address={self.address}", "--num-cpus=1", *options, **environment)

    def _start(self, ip: str, *options: str, **environment: str) -> None:
        """One node; returns once it has joined. Nodes that start together would take each other's sockets."""
        log = self._folder / f"node-{ip}.log"
        command = [
            sys.executable, "-m", "ray.scripts.scripts", "start", "--block", f"--node-ip-address={ip}", *options,
            "--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0",
            "--object-store-memory=150000000", "--disable-usage-stats", "--include-log-monitor=false",
        ]  # fmt: skip
        for _ in range(4):
            with log.open("wb") as file:
                process = subprocess.Popen(
                    command,
                    cwd=self._folder, env=self.environment(**environment), stdout=file, stderr=file,
                    start_new_session=True,
                )  # fmt: skip
            while process.poll() is None:
                if "Ray runtime started" in log.read_text():
                    self.started.append(process)
                    return
                time.sleep(0.1)
            end([each for each in psutil.process_iter(["cmdline"]) if self._is_of(each, ip)])
            if "timed out during startup" not in log.read_text():  # within 30 s, which a busy machine may not reach
                break
        raise AssertionError(log.read_text())

    def _is_of(self, process: psutil.Process, ip: str) -> bool:
        """Whether a process is one that a failed start of the node at `ip` has left."""
        words = " ".join(process.info["cmdline"] or [])
        return str(self._temporary) in words and (not self.started or ip in words)

    def environment(self, **more: str) -> dict[str, str]:
        """Of a person at the head node: their home, the interpreter of the tests, no variable of another Ray."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        ray = {"RAY_AUTH_MODE": "token", "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
        return {**kept, **ray, "HOME": str(self.home), "PATH": path, "OMP_NUM_THREADS": "1", **more}

    def dancfr(self, *words: str, seconds: float = 240, cwd: Path = ROOT, **environment: str) -> Outcome:
        """The program, as that person runs it."""
        done = subprocess.run(
            [sys.executable, "-m", "dancfr", *words],
            cwd=cwd, env=self.environment(**environment), capture_output=True, text=True, timeout=seconds,
        )  # fmt: skip
        return Outcome(done.returncode, done.stdout, done.stderr)

    def result(self, *words: str, seconds: float = 240) -> dict[str, Any]:
        """The JSON object that a command prints."""
        outcome = self.dancfr(*words, "--address", self.url, "--json", seconds=seconds)
        assert outcome.code == 0, outcome.err
        found: dict[str, Any] = json.loads(outcome.out)
        return found

    def ask(self, path: str, token: str | None = None) -> requests.Response:
        """The dashboard's answer; without `token` by one who has none."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return requests.get(self.url + path, headers=headers, timeout=10)

    def processes(self) -> list[psutil.Process]:
        """All of the nodes' processes."""
        found = []
        for started in self.started:
            with suppress(psutil.NoSuchProcess):
                parent = psutil.Process(started.pid)
                found += [parent, *parent.children(recursive=True)]
        return found

    def stop(self) -> None:
        """Ends all of it."""
        end(self.processes())
        for started in self.started:
            started.wait(20)
        shutil.rmtree(self._temporary, ignore_errors=True)


def end(processes: list[psutil.Process]) -> None:
    """Kills them, and waits until they are gone."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    psutil.wait_procs(processes, timeout=20)


def copy_tree(target: Path) -> Path:
    """The packages alone, as a checkout of its own."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, target / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".gitignore", target)
    return target


def free_ports(count: int) -> list[int]:
    """Free ports."""
    with_sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in with_sockets]
    for each in with_sockets:
        each.close()
    return ports


def wait_for(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    """The first true value of `condition`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.2)
    return value


def listening(processes: Iterable[psutil.Process]) -> set[tuple[str, int]]:
    """Addresses and ports that these processes listen on."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            for connection in process.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN:
                    found.add((connection.laddr.ip.removeprefix("::ffff:"), connection.laddr.port))
    return found
