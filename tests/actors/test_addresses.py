"""Which Ray is used, and that waiting for one ends."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent import futures

import pytest

from actors.addresses import Choice, check_server, choose, is_nearby, without_proxy
from dancfr.errors import DancfrError
from dancfr.methods.options import TrainOptions, check_place, joins_cluster
from tests.proxies import proxied

JOIN = """
import sys
import ray
from actors import cluster
from dancfr.methods.stopping import OutOfTime, catching
cluster.JOIN_LIMIT_S = float(sys.argv[2])
with catching("stopping") as stop:
    try:
        with stop.limited(0.5):
            print("joining", flush=True)
            cluster.join(sys.argv[1])
    except OutOfTime:
        print("out of time")
    except cluster.RayUnavailable as error:
        print(error)
"""


@pytest.fixture
def mute() -> Iterator[str]:
    """Address of a gRPC server that has none of the services of Ray."""
    grpc = pytest.importorskip("grpc")
    server = grpc.server(futures.ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


@pytest.mark.parametrize(
    ("address", "variable", "chosen", "by_variable"),
    [
        (None, None, None, False),
        (None, "", None, False),
        (None, "local", None, True),
        (None, "10.0.0.1:6379", "10.0.0.1:6379", True),
        ("auto", "10.0.0.1:6379", "10.0.0.1:6379", True),
        ("auto", "local", None, True),
        ("auto", None, "auto", False),
        (None, "auto", "auto", True),
        ("local", "10.0.0.1:6379", None, False),
        ("10.0.0.2:6379", "10.0.0.1:6379", "10.0.0.2:6379", False),
    ],
)
def test_ray_is_chosen_as_its_documentation_says(
    address: str | None,
    variable: str | None,
    chosen: str | None,
    by_variable: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if variable is not None:
        monkeypatch.setenv("RAY_ADDRESS", variable)
    assert choose(address) == Choice(chosen, by_variable)
    assert joins_cluster(TrainOptions(address=address)) == (chosen is not None)
    assert bool(choose(address).cure) == by_variable


@pytest.mark.parametrize("address", [None, "auto"])
@pytest.mark.parametrize(
    ("variable", "says", "code"),
    [
        ("127.0.0.1:9", "nothing answers at 127.0.0.1:9", 1),
        ("http://127.0.0.1:8265", "the address of Ray must be local, auto or host:port", 2),
        ("ray://127.0.0.1:10001", "Ray Client cannot carry a training run", 2),
    ],
)
def test_dead_address_of_the_variable_is_reported_with_its_name(
    address: str | None, variable: str, says: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", variable)
    begin = time.monotonic()
    with pytest.raises(DancfrError, match=says) as caught:
        check_place(TrainOptions(address=address))
    assert time.monotonic() - begin < 5
    assert "RAY_ADDRESS names it: unset it, or set RAY_ADDRESS=local" in str(caught.value)
    assert caught.value.exit_code == code
    check_place(TrainOptions(inline=True))


def test_dashboard_of_another_ray_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(DancfrError, match=r"--dashboard requires a Ray .*RAY_ADDRESS names it"):
        check_place(TrainOptions(dashboard=True))


def test_wait_for_a_ray_that_does_not_answer_has_a_limit(mute: str) -> None:
    done = subprocess.run([sys.executable, "-c", JOIN, mute, "2"], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"joining\nno Ray could be joined at {mute}: it did not answer within 2 s\n"
    assert done.returncode == 0, done.stderr


def test_sigterm_during_the_wait_stops_the_run(mute: str) -> None:
    """Ray's own handler would exit."""
    waiting = subprocess.Popen(
        [sys.executable, "-c", JOIN, mute, "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "joining\n"
        time.sleep(2)  # Ray sets its handler within milliseconds
        waiting.send_signal(signal.SIGTERM)
        out, err = waiting.communicate(timeout=20)
    finally:
        waiting.kill()
    assert out == "out of time\n"
    assert "SIGTERM: stopping" in err
    assert waiting.returncode == 0


def test_control_service_is_not_asked_through_a_proxy(mute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxied(monkeypatch) as asked:
        check_server(mute)
    assert asked == []


@pytest.mark.parametrize(
    ("host", "nearby"),
    [
        ("127.0.0.1", True), ("::1", True), ("localhost", True), ("10.1.2.3", True), ("192.168.0.9", True),
        ("100.64.0.1", True), ("fe80::1", True), ("1.1.1.1", False), ("nowhere.invalid", False), ("a" * 70, False),
    ],
)  # fmt: skip
def test_hosts_nearby_need_no_proxy(host: str, nearby: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "example.org")
    monkeypatch.delenv("no_proxy", raising=False)
    assert is_nearby(host) == nearby
    given = f"example.org,{host}"
    assert without_proxy(host) == ({"no_proxy": given, "NO_PROXY": given} if nearby else {})
