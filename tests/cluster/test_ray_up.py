"""`ray up cluster-local.yaml` on hosts that are reached over ssh, and a training there as a submitted job.

Runs with `make test-hosts`, or where DANCFR_TEST_HOSTS=1 says so. The hosts are network namespaces of this
machine, so what they have installed is what this machine has: `make setup` on a new machine is not part of it.
"""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.hosts import Hosts, missing_tools
from tests.cluster.nodes import ROOT, copy_tree, free_ports, wait_for
from tests.cluster.test_three_nodes import TINY, check_record

pytestmark = [
    pytest.mark.cluster_hosts,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(os.environ.get("DANCFR_TEST_HOSTS") != "1", reason="by `make test-hosts` only"),
]


class Launched:
    """A cluster that `ray up` has started from the repository's file, with the addresses of `hosts` in it."""

    def __init__(self, folder: Path, hosts: Hosts) -> None:
        self.hosts = hosts
        self.home = folder / "home"
        (self.home / ".ray").mkdir(mode=0o700, parents=True)
        self.checkout = copy_tree(folder / "checkout")
        self.file = self.checkout / "cluster.yaml"
        self.file.write_text(yaml.safe_dump(self._config()))
        self.run("get-auth-token", "--generate")
        self.run("up", "--yes", "--no-config-cache", str(self.file), seconds=600)

    def _config(self) -> dict[str, Any]:
        """The repository's, but for addresses, key and name; and the environment is linked instead of installed."""
        config: dict[str, Any] = yaml.safe_load((ROOT / "cluster-local.yaml").read_text())
        head, *workers = self.hosts.addresses
        config["cluster_name"] = f"dancfr-{head.replace('.', '-')}"
        config["provider"].update(head_ip=head, worker_ips=workers)
        config["auth"] = {"ssh_user": "root", "ssh_private_key": str(self.hosts.key)}
        assert config["setup_commands"][-1] == "make -C ~/dancfr setup"
        config["setup_commands"][-1] = f"ln -sfn {shlex.quote(sys.prefix)} ~/dancfr/.venv"
        return config

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        return {**kept, "HOME": str(self.home), "PATH": path, "RAY_TMPDIR": str(self.home / "ray")}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "ray.scripts.scripts", *words]

    def run(self, *words: str, seconds: float = 120) -> str:
        """A command of Ray as the person at the laptop gives it."""
        done = subprocess.run(
            self.command(*words), cwd=self.checkout, env=self.environment(), capture_output=True, text=True,
            timeout=seconds, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
        return done.stdout

    def dancfr(self, *words: str, seconds: float = 400) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "dancfr", *words, "--json"], cwd=self.checkout, env=self.environment(),
            capture_output=True, text=True, timeout=seconds,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    if reason := missing_tools():
        pytest.skip(reason)
    hosts = Hosts(tmp_path_factory.mktemp("hosts"), 3)
    try:
        hosts.wait_until_up()
        begin = time.monotonic()
        cluster = Launched(tmp_path_factory.mktemp("laptop"), hosts)
        print(f"ray up: {time.monotonic() - begin:.0f} s")
        yield cluster
        cluster.run("down", "--yes", str(cluster.file))
    finally:
        hosts.stop()


@pytest.fixture(scope="module")
def url(launched: Launched) -> Iterator[str]:
    """Of the dashboard, through the tunnel that `ray dashboard` opens."""
    (port,) = free_ports(1)
    tunnel = subprocess.Popen(
        launched.command("dashboard", "--port", str(port), str(launched.file)),
        cwd=launched.checkout, env=launched.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: answers(("127.0.0.1", port)), 60, "the tunnel")
    yield f"http://127.0.0.1:{port}"
    tunnel.terminate()
    tunnel.wait(20)


def answers(address: tuple[str, int]) -> bool:
    """Whether a program listens at this address."""
    try:
        with socket.create_connection(address, timeout=3):
            return True
    except OSError:
        return False


def test_every_host_joins_with_the_token(launched: Launched) -> None:
    status = f"RAY_AUTH_MODE=token ~/dancfr/.venv/bin/ray status --address {launched.hosts.addresses[0]}:6379"

    def joined() -> int:
        shown = launched.hosts.ssh(0, status).stdout.splitlines()
        return sum(int(line.split()[0]) for line in shown if line.endswith("local.cluster.node"))

    wait_for(lambda: joined() == 3, 400, "three nodes")
    token = (launched.home / ".ray" / "auth_token").read_text()
    for index in range(3):
        shown = launched.hosts.ssh(index, "cat ~/.ray/auth_token; stat -c %a ~/.ray/auth_token").stdout
        assert shown == f"{token}600\n"
    refused = launched.hosts.ssh(0, status.replace("RAY_AUTH_MODE=token", "RAY_AUTH_MODE=token RAY_AUTH_TOKEN=another"))
    assert refused.returncode != 0


def test_the_dashboard_is_not_open_to_the_network(launched: Launched) -> None:
    head = launched.hosts.addresses[0]
    assert answers((head, 6379)), "the other nodes join there"
    assert not answers((head, 8265))


def test_a_submitted_training_leaves_its_run_on_the_head(launched: Launched, url: str) -> None:
    result = launched.dancfr(
        "submit", "geister-quick", *TINY, "iterations=2", "--run-dir", "first", "--workers", "4", "--wandb", "off",
        "--address", url,
    )  # fmt: skip
    assert result["status"] == "SUCCEEDED"
    check_record(launched.hosts.home(0) / "dancfr-runs" / "first", 2)
    launched.run("rsync-down", str(launched.file), "~/dancfr-runs/", f"{launched.checkout}/runs/")
    check_record(launched.checkout / "runs" / "first", 2)


def test_a_job_is_stopped_with_a_checkpoint(launched: Launched, url: str) -> None:
    folder = launched.hosts.home(0) / "dancfr-runs" / "second"
    job = launched.dancfr(
        "submit", "geister-quick", *TINY, "iterations=500", "--run-dir", "second", "--workers", "2", "--wandb", "off",
        "--address", url, "--no-follow",
    )["job"]  # fmt: skip
    wait_for(lambda: len(list(folder.glob("strategies/*.safetensors"))) > 1, 240, "two iterations")
    assert launched.dancfr("jobs", "stop", job, "--address", url)["status"] == "STOPPED"
    newest = max((int(path.name) for path in (folder / "checkpoints").iterdir()), default=0)
    assert newest > 0, "written by actors on the head's own disk"
    check_record(folder, newest)
