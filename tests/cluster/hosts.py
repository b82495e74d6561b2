"""Hosts on this machine that are told apart by the network, the process table, /tmp, /dev/shm and the home folder.

Each is a set of Linux namespaces with an address of its own, in which a real sshd runs. Needs root.
"""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

TOOLS = ("ip", "unshare", "sshd", "ssh", "ssh-keygen", "rsync", "mount")

_BOOT = """\
set -e
mount --make-rprivate /
mkdir -p {own}/home {own}/tmp {own}/run
for kept in {kept}; do
    mkdir -p {own}/home/$kept
    mount --bind {home}/$kept {own}/home/$kept
done
cp -r {keys} {own}/home/.ssh
mount --rbind {own}/home {home}
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777,size=1g tmpfs /dev/shm
mkdir -p /run/sshd
ip link set lo up
hostname {name}
exec {sshd} -D -e -h {home}/.ssh/host -o PidFile=none -o UsePAM=no -o StrictModes=no -o PermitRootLogin=yes \\
    -o PasswordAuthentication=no -o AuthorizedKeysFile={home}/.ssh/id.pub
"""


def missing_tools() -> str:
    """Why hosts cannot be made here; empty if they can."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "network namespaces need Linux and root"
    if Path(sys.executable).is_relative_to("/tmp"):
        return "hosts have a /tmp of their own and would not see this virtual environment: put the checkout elsewhere"
    absent = [tool for tool in TOOLS if find(tool) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian: apt install iproute2 openssh-server openssh-client rsync)"
    probe = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True)
    return f"namespaces are refused: {probe.stderr.strip()}" if probe.returncode else ""


def find(tool: str) -> str | None:
    """Path of a tool, administrators' folders included."""
    return shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


class Hosts:
    """Hosts 10.213.N.2 and on, behind a bridge of this machine, 10.213.N.1, which routes nowhere else.

    Args:
        folder: For what the hosts keep; `folder/hK/home` is the home of root at host K.
        count: How many.

    Attributes:
        addresses: Of the hosts.
        key: Private key of root at all of them.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._tag = secrets.token_hex(2)
        subnet = secrets.randbelow(254) + 1
        self.addresses = [f"10.213.{subnet}.{index + 2}" for index in range(count)]
        self._folder = folder
        self._running: list[subprocess.Popen[bytes]] = []
        keys = folder / "keys"
        keys.mkdir()
        self.key = keys / "id"
        try:
            for name in ("id", "host"):
                run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name))
            run("ip", "link", "add", self._bridge, "type", "bridge")
            run("ip", "address", "add", f"10.213.{subnet}.1/24", "dev", self._bridge)
            run("ip", "link", "set", self._bridge, "up")
            for index, address in enumerate(self.addresses):
                self._start(index, address, f"10.213.{subnet}.1", keys)
        except BaseException:
            self.stop()
            raise

    @property
    def _bridge(self) -> str:
        return f"dcb{self._tag}"

    def _network(self, index: int) -> str:
        return f"dc{self._tag}{index}"

    def home(self, index: int) -> Path:
        """Home folder at that host, as seen from here."""
        return self._folder / f"h{index}" / "home"

    def log(self, index: int) -> str:
        """The log of its sshd."""
        return (self._folder / f"h{index}.log").read_text(errors="replace")

    def _start(self, index: int, address: str, gateway: str, keys: Path) -> None:
        network = self._network(index)
        outer, inner = f"dco{self._tag}{index}", f"dci{self._tag}{index}"
        run("ip", "netns", "add", network)
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
        run("ip", "link", "set", outer, "master", self._bridge, "up")
        run("ip", "link", "set", inner, "netns", network)
        inside = ("ip", "netns", "exec", network, "ip")
        run(*inside, "address", "add", f"{address}/24", "dev", inner)
        run(*inside, "link", "set", inner, "up")
        run(*inside, "route", "add", "default", "via", gateway)  # Ray asks the routes for the host's own address
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # as sshd sees it, whatever HOME says
        python = (Path(path).resolve() for path in (sys.base_prefix, sys.prefix))
        kept = {path.relative_to(home).parts[0] for path in python if home in path.parents}
        script = _BOOT.format(
            own=self._folder / f"h{index}", home=home, keys=keys, name=f"host{index}", sshd=find("sshd"),
            kept=" ".join(sorted(kept)),
        )  # fmt: skip
        command = ["ip", "netns", "exec", network, "unshare", "--pid", "--mount", "--uts", "--ipc", "--fork"]
        command += ["--kill-child", "--mount-proc", "bash", "-c", script]
        with (self._folder / f"h{index}.log").open("wb") as log:
            self._running.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))

    def ssh(self, index: int, command: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs a command at a host."""
        options = ["-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={os.devnull}", "-o", "LogLevel=ERROR"]
        return subprocess.run(
            ["ssh", "-i", str(self.key), *options, f"root@{self.addresses[index]}", command],
            capture_output=True, text=True, timeout=seconds,
        )  # fmt: skip

    def wait_until_up(self, seconds: float = 20) -> None:
        """Returns once all of them answer by ssh."""
        deadline = time.monotonic() + seconds
        for index in range(len(self.addresses)):
            while (done := self.ssh(index, "true")).returncode != 0:
                assert time.monotonic() < deadline, done.stderr + self.log(index)
                time.sleep(0.2)

    def stop(self) -> None:
        """Ends the hosts with all processes there. May be called twice."""
        for process in self._running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)
        for index in range(len(self.addresses)):
            subprocess.run(["ip", "netns", "del", self._network(index)], capture_output=True)
        subprocess.run(["ip", "link", "del", self._bridge], capture_output=True)


def run(*command: str) -> None:
    """Raises AssertionError with the command's output, unless it succeeds."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
