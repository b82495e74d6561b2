"""Inline objects and actors give the same values and exceptions; and the failures that only Ray has."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import mypy.api
import numpy as np
import pytest

from actors import addresses, cluster
from actors.packages import ROOT
from actors.remote import (
    InlineRuntime,
    RayRuntime,
    RemoteError,
    ResourcesMissing,
    Runtime,
    WorkerDied,
    fetch,
)
from actors.threads import ThreadRuntime
from dancfr.methods.stopping import OutOfTime, Stop, catching
from tests.projects import make_project


class OddError(Exception):
    """Cannot be made again from its message."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{text} ({code})")


class Counter:
    """Adds up; the object that the tests start."""

    def __init__(self, start: int = 0, refuse: bool = False) -> None:
        if refuse:
            raise LookupError("nothing to count")
        self.total = start

    def add(self, amount: int, times: int = 1) -> int:
        self.total += amount * times
        return self.total

    def split(self, array: np.ndarray) -> tuple[int, np.ndarray]:
        return len(array), array[::-1].copy()

    def refuse(self, kind: str) -> None:
        if kind == "odd":
            raise OddError(3, "odd")
        raise {"value": ValueError, "key": KeyError}[kind](f"{kind} is wrong\nin two lines")

    def total_of(self, box: list) -> int:
        return sum(fetch(ref) for ref in box)

    def ask(self, other, amount: int) -> int:
        return fetch(other.call(Counter.add, amount))

    def pid(self) -> int:
        return os.getpid()

    def folder(self) -> str:
        return os.getcwd()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def end(self, how: str) -> None:
        if how == "exit":
            sys.exit(3)
        os.kill(os.getpid(), signal.SIGKILL)

    def surroundings(self) -> tuple[dict[str, str], list[str]]:
        names = [sys.modules[name].__file__ for name in ("actors", "envs", "learners") if __import__(name)]
        return {name: os.environ.get(name, "") for name in cluster.THREADS}, names


@pytest.fixture(params=["inline", "threads", "ray"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    if request.param == "ray":
        return request.getfixturevalue("ray_runtime")
    return InlineRuntime() if request.param == "inline" else ThreadRuntime(2)


def test_calls_run_in_order_and_refs_are_passed_on(runtime: Runtime) -> None:
    counter = runtime.start(Counter, runtime.put(5), name="counter")
    assert runtime.get(counter.ready()) is None
    first, second = counter.call(Counter.add, 2), counter.call(Counter.add, runtime.put(3), times=runtime.put(10))
    third = counter.call(Counter.add, first)  # the value, 7, not the ref
    assert runtime.get([third, second, first]) == [44, 37, 7]


class Doubler(Counter):
    """Adds twice as much."""

    def add(self, amount: int, times: int = 2) -> int:
        return super().add(amount, times)


def test_method_of_a_base_class_calls_that_of_the_object(runtime: Runtime) -> None:
    assert runtime.get(runtime.start(Doubler, cpus=0).call(Counter.add, 3)) == 6


CALLS = """
from actors.runtime import Handle, InlineRuntime, Saved

class Server:
    def fit(self, player: int, seed: str) -> tuple[float, str]: return 0.5, seed
    def save(self, path: str) -> int: return 1
    def load(self, path: str) -> int: return 1

class Other:
    def fit(self, player: int) -> None: ...

handle = InlineRuntime().start(Server)
saved: Handle[Saved] = handle
handle.call(Server.fit, 0, "seed")
saved.call(Saved.save, "path")
handle.call_pair(Server.fit, player=0, seed="seed")
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("handle.call(Server.fit, 0)", "Missing positional argument"),
        ('handle.call(Server.fit, "0", "seed")', 'has incompatible type "str"; expected "int"'),
        ("handle.call(Server.fitted, 0)", 'has no attribute "fitted"'),
        ("handle.call(Other.fit, 0)", "has incompatible type"),
        ('handle.call_pair(Server.save, "path")', "has incompatible type"),
    ],
)
def test_type_checker_finds_wrong_calls(tmp_path: Path, call: str, expected: str) -> None:
    file = tmp_path / "calls.py"
    file.write_text(f"{CALLS}{call}\n")
    options = ["--config-file=", "--follow-imports=silent", f"--cache-dir={tmp_path.parent / 'mypy'}"]
    output, _, code = mypy.api.run([*options, str(file)])
    assert code == 1, output
    (line,) = [each for each in output.splitlines() if ": error: " in each]
    assert line.startswith(f"{file}:{CALLS.count(chr(10)) + 1}: "), "the calls above are right"
    assert expected in line


def test_several_values_have_refs_of_their_own(runtime: Runtime) -> None:
    counter = runtime.start(Counter)
    count, array = counter.call_pair(Counter.split, np.arange(100_000))
    assert len(runtime.wait([count, array], 2)) == 2
    assert runtime.get(count) == 100_000
    assert fetch(array)[0] == 99_999
    refs = counter.send("split", (np.arange(3),), {}, returns=3)
    with pytest.raises(ValueError, match="2"):
        runtime.get(refs[2])


def test_refs_inside_of_arguments_stay_refs_and_handles_may_be_passed(runtime: Runtime) -> None:
    asker, counter = runtime.start(Counter, cpus=0), runtime.start(Counter, cpus=0)
    assert runtime.get(asker.call(Counter.total_of, [runtime.put(4), counter.call(Counter.add, 6)])) == 10
    assert runtime.get(asker.call(Counter.ask, counter, 1)) == 7


@pytest.mark.parametrize("kind", ["value", "key"])
def test_an_exception_arrives_with_its_type_and_message(runtime: Runtime, kind: str) -> None:
    counter = runtime.start(Counter)
    expected = {"value": ValueError, "key": KeyError}[kind]
    failed = counter.call(Counter.refuse, kind)
    assert runtime.wait([failed], timeout=20) == [failed]
    for ref in (failed, counter.call(Counter.add, failed), counter.call(Counter.total_of, [failed])):
        with pytest.raises(expected) as caught:
            runtime.get(ref)
        assert type(caught.value) is expected
        assert caught.value.args == (f"{kind} is wrong\nin two lines",)
    for part in counter.send("refuse", (kind,), {}, returns=2):
        with pytest.raises(expected):
            fetch(part)
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        runtime.get(counter.send("missing", (), {}))
    assert runtime.get(counter.call(Counter.add, 1)) == 1, "it continues after all that"


def test_every_call_raises_the_exception_of_the_constructor(runtime: Runtime) -> None:
    counter = runtime.start(Counter, refuse=True)
    for ref in (counter.ready(), counter.call(Counter.add, 1)):
        with pytest.raises(LookupError, match="nothing to count"):
            runtime.get(ref)


def test_a_stopped_object_answers_no_more(runtime: Runtime) -> None:
    counter = runtime.start(Counter)
    runtime.get(counter.ready())
    runtime.stop(counter)
    runtime.stop(counter)
    with pytest.raises(WorkerDied, match="stopped"):
        runtime.get(counter.call(Counter.add, 1))


def test_inline_needs_no_ray() -> None:
    code = (
        "import sys; import actors.remote, actors.pool, actors.buffer\n"
        "runtime = actors.remote.InlineRuntime()\n"
        "assert runtime.get(runtime.start(list, (1, 2)).call(list.pop)) == 2\n"
        "assert 'ray' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=ROOT)


def test_actors_work_in_the_folder_of_their_caller(
    ray_runtime: RayRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray was started elsewhere, as in a notebook that changes its folder; a relative path means the same in both."""
    monkeypatch.chdir(tmp_path)
    assert fetch(ray_runtime.start(Counter).call(Counter.folder)) == str(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert fetch(ray_runtime.start(Counter).call(Counter.add, 1)) == 1


def test_an_exception_of_an_actor_has_the_traceback_of_the_actor(ray_runtime: RayRuntime) -> None:
    counter = ray_runtime.start(Counter)
    with pytest.raises(ValueError, match="value is wrong") as caught:
        ray_runtime.get(counter.call(Counter.refuse, "value"))
    assert "in refuse" in str(caught.value.__cause__)
    with pytest.raises(RemoteError, match=r"OddError: odd \(3\)"):
        ray_runtime.get(counter.call(Counter.refuse, "odd"))


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_death_is_reported_at_once_with_the_name_of_the_actor(ray_runtime, how) -> None:
    counter = ray_runtime.start(Counter, name="the counter")
    ray_runtime.get(counter.ready())
    begin = time.monotonic()
    with pytest.raises(WorkerDied, match=r"the counter died: .+") as caught:
        ray_runtime.get(counter.call(Counter.end, how))
    with pytest.raises(WorkerDied, match=r"the counter died: .+"):
        ray_runtime.get(counter.call(Counter.add, 1))
    assert time.monotonic() - begin < 5
    assert "\n" not in str(caught.value)


def test_waiting_has_an_end(ray_runtime: RayRuntime) -> None:
    counter = ray_runtime.start(Counter)
    slow = counter.call(Counter.sleep, 30)
    assert ray_runtime.wait([slow], timeout=0.05) == []
    with pytest.raises(TimeoutError, match=r"0\.1 s"):
        ray_runtime.get(slow, timeout=0.1)


def test_resources_that_do_not_exist_are_an_error_at_once(ray_runtime: RayRuntime) -> None:
    begin = time.monotonic()
    with pytest.raises(ResourcesMissing, match=r"big asks for 3 CPUs, but Ray has 2 .*fewer workers") as caught:
        ray_runtime.start(Counter, cpus=3, name="big")
    assert "\n" not in str(caught.value)
    with pytest.raises(ResourcesMissing, match="1 GPUs, but Ray has 0"):
        ray_runtime.start(Counter, gpus=1)
    one = ray_runtime.start(Counter, cpus=1.5)
    with pytest.raises(ResourcesMissing, match=r"1\.5 of them in use"):
        ray_runtime.start(Counter, cpus=1)
    coordinators = [ray_runtime.start(Counter, cpus=0) for _ in range(2)]
    ray_runtime.stop(one)
    ray_runtime.start(Counter, cpus=1)
    with pytest.raises(ResourcesMissing, match=r"999 workers .*this machine has"):
        RayRuntime(workers=999)
    with pytest.raises(ResourcesMissing, match="-1 workers"):
        RayRuntime(workers=-1)
    assert time.monotonic() - begin < 5
    assert ray_runtime.get([handle.call(Counter.add, 2) for handle in coordinators]) == [2, 2]


def test_resources_that_may_still_come_are_waited_for(ray_runtime: RayRuntime) -> None:
    holder = ray_runtime.start(Counter, cpus=2)
    ray_runtime.patience_s = 20.0
    try:
        threading.Timer(1.0, ray_runtime.stop, [holder]).start()
        begin = time.monotonic()
        waited = ray_runtime.start(Counter, cpus=1)
        assert 0.9 < time.monotonic() - begin < 15
        ray_runtime.get(waited.ready())
        ray_runtime.patience_s = 1.0
        begin = time.monotonic()
        with pytest.raises(ResourcesMissing, match="asks for 99 CPUs"):
            ray_runtime.start(Counter, cpus=99)
        assert 1 <= time.monotonic() - begin < 10
    finally:
        ray_runtime.patience_s = 0.0


def test_actors_compute_on_one_core_with_this_code(ray_runtime: RayRuntime) -> None:
    threads, files = ray_runtime.get(ray_runtime.start(Counter).call(Counter.surroundings))
    assert set(threads.values()) == {"1"}
    assert all(file.startswith(str(ROOT)) for file in files)


def test_signals_and_environment_of_the_caller_are_left_alone(ray_session: RayRuntime) -> None:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    # The latter where a shell runs the tests in the background.
    assert signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_IGN)
    assert "RAY_worker_niceness" not in os.environ
    assert threading.current_thread() is threading.main_thread()


def test_an_address_that_cannot_serve_is_refused_at_once_with_the_reason() -> None:
    begin = time.monotonic()
    with pytest.raises(addresses.WrongAddress, match="ray job submit"):
        addresses.choose("ray://192.0.2.1:10001").check()
    with pytest.raises(addresses.WrongAddress, match="auto or host:port"):
        addresses.choose("somewhere").check()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(cluster.RayUnavailable, match=rf"nothing answers at {address}"):
        addresses.check_server(address)
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", None])
def test_another_program_at_the_port_is_not_taken_for_a_ray(answer: bytes | None) -> None:
    """Ray itself would wait for minutes, whether that program answers, hangs up or (None) sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve() -> None:
            held.append(server.accept()[0])
            if answer is not None:
                held[0].recv(100)
                held[0].sendall(answer)
                held[0].close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(cluster.RayUnavailable, match=f"{address} is not Ray's control service"):
            addresses.check_server(address)
        assert time.monotonic() - begin < 10
        thread.join(5)
        for connection in held:
            connection.close()


def test_the_control_service_of_a_ray_is_recognised(ray_session: RayRuntime) -> None:
    import ray

    addresses.check_server(ray.get_runtime_context().gcs_address)


def test_a_missing_ray_is_reported_in_one_line() -> None:
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "from actors import cluster, remote\n"
        "try: remote.RayRuntime()\n"
        "except cluster.RayUnavailable as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, cwd=ROOT, capture_output=True, text=True
    )
    assert "--inline" in done.stdout
    assert done.stdout.count("\n") == 1


def test_ray_of_the_caller_whose_workers_would_import_another_project_is_refused(
    ray_session: RayRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_project(tmp_path))
    with pytest.raises(
        cluster.RayUnavailable, match=f"would import {tmp_path / 'actors'} in place of dancfr's package"
    ):
        RayRuntime(workers=1)


def test_ray_is_used_by_its_public_names_only() -> None:
    """Names that begin with an underscore, and modules that a minor version of Ray may move."""
    private = re.compile(r"\bray(\.\w+)*\._|\b(from|import) ray(\.\w+)*\._|\bimport_module\(\"ray\.|\._actor_id\b")
    packages = ("dancfr", "actors", "learners", "envs")
    sources = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    assert len(sources) > 100
    assert not [str(path) for path in sources if private.search(path.read_text())]


def test_a_wait_is_left_when_the_notice_of_a_signal_is_over(ray_runtime: RayRuntime) -> None:
    """Ray's compiled code turns the exception of the signal's handler into a SystemError."""
    ref = ray_runtime.start(Counter).call(Counter.sleep, 60.0)

    def wait(stop: Stop) -> None:
        with stop.limited(0.2):
            os.kill(os.getpid(), signal.SIGTERM)
            ray_runtime.wait([ref], 1, 3.0)

    with catching() as stop, pytest.raises(OutOfTime):
        wait(stop)
