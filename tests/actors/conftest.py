"""One Ray for all tests of this folder that want one: it takes seconds to start."""

import time
from collections.abc import Iterator

import psutil
import pytest

from actors.remote import RayRuntime


@pytest.fixture(scope="session")
def ray_session() -> Iterator[RayRuntime]:
    """A local Ray of two CPUs, of which nothing may be left in the end."""
    runtime = RayRuntime(workers=2)
    yield runtime
    started = psutil.Process().children(recursive=True)
    runtime.shutdown()
    deadline = time.monotonic() + 15
    while (left := [p for p in started if alive(p)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, f"processes left behind: {[' '.join(process.cmdline()) for process in left]}"


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(scope="module")
def ray_module(ray_session: RayRuntime, request: pytest.FixtureRequest) -> Iterator[RayRuntime]:
    """The same, with the classes of the test module sent along: actors cannot import the module itself."""
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(request.module)
    yield ray_session
    cloudpickle.unregister_pickle_by_value(request.module)


@pytest.fixture
def ray_runtime(ray_module: RayRuntime) -> Iterator[RayRuntime]:
    """The same, with the actors that a test has left stopped after it."""
    yield ray_module
    for handle, _, _ in list(ray_module._handles.values()):
        ray_module.stop(handle)
