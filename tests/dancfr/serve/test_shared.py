"""The common parts of all servers: the seats of agents, addresses, connections."""

import socket
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from dancfr.errors import UsageError
from dancfr.serve.commands import split_agents
from dancfr.serve.network import is_loopback


def test_seats_of_agents() -> None:
    assert split_agents("", 4) == [None] * 4
    assert split_agents("a,b", 4) == [None, None, "a", "b"]
    assert split_agents("-, a,-,b", 4) == [None, "a", None, "b"]
    assert split_agents("a,,b,", 4) == ["a", None, "b", None]
    assert split_agents("rush,-", 2) == ["rush", None]
    with pytest.raises(UsageError, match="5 seats"):
        split_agents("a,b,c,d,e", 4)
    with pytest.raises(UsageError, match="--agents"):
        split_agents("a,b,c,d", 4)


def test_addresses_of_this_machine_only() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.1", "example.org", "")))


EXHAUSTED = """
import asyncio, resource
from dancfr.serve.commands import run_until_signal

async def main(stop):
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    asyncio.get_running_loop().call_later(3, asyncio.get_running_loop().call_exception_handler, {"message": "other"})
    await stop.wait()

run_until_signal(main)
"""


def test_more_connections_than_files_cost_one_line() -> None:
    command = [sys.executable, "-c", EXHAUSTED]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server,
        ExitStack() as held,
    ):
        assert server.stdout is not None
        assert server.stderr is not None
        held.callback(server.kill)
        port = int(server.stdout.readline())
        for _ in range(60):
            held.enter_context(socket.create_connection(("127.0.0.1", port), 5))
        first = server.stderr.readline()
        begin = time.monotonic()
        other = server.stderr.readline()
        assert time.monotonic() - begin > 1, "asyncio tries again after a second"
        server.terminate()
        assert server.wait(10) == 0
        assert server.stderr.read() == ""
    assert "too many open files" in first
    assert other == "other\n", "other errors are said as before"
