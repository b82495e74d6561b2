"""The common set-up of all tests: one thread a process, no outside service, repeatable random examples.

The environment is set while pytest starts, before any test module imports NumPy, torch, Ray or W&B; processes
that tests start inherit it.
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

os.environ["OMP_NUM_THREADS"] = "1"

# W&B: neither a developer's settings nor their key may decide what a test does or send it over the network.
for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_PROJECT", "WANDB_ENTITY", "WANDB_RUN_ID", "WANDB_DIR"):
    os.environ.pop(name, None)
os.environ["NETRC"] = os.devnull
os.environ["WANDB_SILENT"] = "true"

# Hugging Face hub: no cache and no token of a developer, and an address at which nothing listens.
for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_HUB_CACHE", "HF_TOKEN_PATH", "HUGGING_FACE_HUB_TOKEN"):
    os.environ.pop(name, None)
os.environ["HF_HOME"] = os.path.join(tempfile.gettempdir(), "dancfr-tests-without-a-hub")
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

# Ray: a local instance for each test that wants one, never one that happens to run on this machine.
os.environ.pop("RAY_ADDRESS", None)
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on the loopback interface, whichever test imports Ray first
os.environ["RAY_DISABLE_IMPORT_WARNING"] = "1"

# Figures are drawn into files, windows into memory.
os.environ["MPLBACKEND"] = "Agg"
os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"

# No deadline: the first example of a test may compile a kernel. In CI the examples are the same in every run.
settings.register_profile("default-dancfr", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default-dancfr"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "default-dancfr")


GROUPS = {
    "processes": (
        "actors/test_addresses",
        "actors/test_data_parallel",
        "actors/test_pool",
        "actors/test_remote",
        "actors/test_sharding",
        "cluster/",
        "dancfr/agents/test_league_processes",
        "dancfr/papers/test_reproduce",
        "dancfr/methods/",
        "dancfr/serve/browser/test_commands",
        "dancfr/serve/browser/test_proxy",
        "dancfr/serve/test_floods",
        "dancfr/serve/test_processes",
        "dancfr/runs/test_checkpoints",
        "dancfr/seeds/",
        "dancfr/cli/test_cli",
        "dancfr/tuning/test_processes",
        "dancfr/watch/test_status",
        "faults/",
        "packaging/",
    ),
    "guandan": (
        "dancfr/agents/",
        "dancfr/evaluation/",
        "dancfr/papers/",
        "dancfr/report/",
        "dancfr/serve/",
        "envs/test_guandan",
        "learners/candidate_policy/",
        "learners/dmc/",
        "learners/listed/",
    ),
}
"""Test files by the beginnings of their names: those that start Ray, servers or many processes; those that need the
kernels of GuanDan, which take a minute to compile."""


SLOW = (
    "actors/test_addresses.py::test_sigterm",
    "actors/test_addresses.py::test_wait",
    "actors/test_counters.py::test_ray_",
    "actors/test_data_parallel",
    "actors/test_machine.py::test_ray_",
    "actors/dream/test_dream_on_kuhn",
    "actors/dream/test_external_sampling.py::test_uniform_play_on_leduc",
    "actors/test_value_functions.py::test_workers_of_ray",
    "cluster/",
    "dancfr/agents/test_hub.py::test_commands_in_processes",
    "dancfr/agents/test_hub_answers.py::test_a_request_that_is_tried_again",
    "dancfr/agents/test_hub_answers.py::test_large_files",
    "dancfr/agents/test_league_processes",
    "dancfr/agents/test_sharing.py::test_packed_agents_play_and_are_exported",
    "dancfr/cli/test_standard_streams.py::test_training",
    "dancfr/methods/test_belief_tables.py::test_full_method",
    "dancfr/methods/test_cheat_cfr.py::TestDream",
    "dancfr/methods/test_every_method.py::test_one_process",
    "dancfr/methods/test_every_method.py::test_ray_",
    "dancfr/methods/test_exploit",
    "dancfr/methods/test_scale",
    "dancfr/papers/",
    "dancfr/report/test_report.py::test_a_really_trained_run",
    "dancfr/report/test_report.py::test_runs_of_several_methods",
    "dancfr/serve/browser/test_cheat_page",
    "dancfr/serve/browser/test_geister_page",
    "dancfr/serve/browser/test_guandan_page",
    "dancfr/serve/browser/test_own_page",
    "dancfr/serve/browser/test_page",
    "dancfr/serve/browser/test_proxy",
    "dancfr/serve/browser/test_replay_page",
    "dancfr/serve/test_processes",
    "dancfr/test_bench",
    "dancfr/test_documents.py::test_commands_that_need_no_training",
    "dancfr/test_documents.py::test_python_of_a_document",
    "dancfr/test_documents.py::test_a_game_of_ones_own_is_trained",
    "dancfr/test_documents.py::test_options_of_ones_own",
    "dancfr/test_gpu_command",
    "dancfr/tuning/test_processes",
    "dancfr/watch/test_status.py::test_a_training_is_watched",
    "dancfr/watch/test_tracking.py::test_a_killed_training",
    "dancfr/watch/test_tracking.py::test_copy",
    "dancfr/watch/test_wandb_online",
    "envs/test_openspiel_general.py::test_mixtures",
    "envs/test_openspiel_general.py::test_nash_conv_of_leduc",
    "envs/test_openspiel_general.py::test_policy_gradients",
    "envs/test_without_jit",
    "faults/",
    "learners/cheat_cfr/test_cheat_solver.py::test_infosets_are_those_of_the_enumeration",
    "learners/value_functions/test_solver",
    "packaging/",
)
"""Tests that `make test` leaves to `make test-rest`, by the beginnings of their names: whole experiments, one run on
Ray and inline, clusters, kills, benchmarks, builds. What they test has smaller tests elsewhere."""

QUICK = (
    "dancfr/papers/test_benchmark_page",
    "dancfr/papers/test_crosstable",
    "dancfr/papers/test_guandan_beliefs_page",
    "dancfr/papers/test_records",
    "packaging/test_prose",
    "packaging/test_repository",
    "packaging/test_types",
)
"""Tests of `SLOW` folders that `make test` runs all the same: they read files, and are over in seconds."""


@cache
def has_gpu() -> bool:
    """Whether torch sees one."""
    import torch

    return torch.cuda.is_available()


NO_STAND_IN = "there is a GPU: once its stand-in is known to torch, memory cannot be pinned for the GPU"


@pytest.fixture(params=["apart", pytest.param("gpu", marks=pytest.mark.cuda)])
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The device ``cuda``: a GPU, or, with the same code on a machine without one, the device of `tests.apart`."""
    if request.param == "gpu":
        yield "cuda"
        return
    if has_gpu():
        pytest.skip(NO_STAND_IN)
    apart = pytest.importorskip("tests.apart", exc_type=ImportError)  # torch may be too old for it
    monkeypatch.setenv("DANCFR_CUDA_DEVICE", apart.NAME)
    with apart.device_apart(monkeypatch):
        yield "cuda"


@pytest.fixture
def any_algorithms() -> Iterator[None]:
    """Lets torch use any algorithms again, as before the test, which asks for deterministic ones."""
    import torch

    before = torch.are_deterministic_algorithms_enabled()
    yield
    torch.use_deterministic_algorithms(before)


@pytest.fixture
def waits(request: pytest.FixtureRequest, gpu: str) -> Iterator[Callable[[], int]]:
    """How often the program has waited for the device of `gpu` so far."""
    if request.node.callspec.params["gpu"] == "apart":
        from tests import apart

        yield lambda: len(apart.waits())
        return
    import torch

    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            yield lambda: sum("synchroniz" in str(each.message) for each in told)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of slow files, and leaves out those of a GPU where there is none, whose stand-in it registers."""
    stand_in = any("gpu" in getattr(item, "fixturenames", ()) or item.path.name == "test_apart.py" for item in items)
    if stand_in and not has_gpu():
        with suppress(ImportError):  # torch is too old for it
            from tests.apart import register

            register()
    for item in items:
        if item.get_closest_marker("cuda") is not None and not has_gpu():
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
        if item.path.name == "test_apart.py" and has_gpu():
            item.add_marker(pytest.mark.skip(reason=NO_STAND_IN))
        below = item.nodeid.partition("/")[2]
        if below.startswith(SLOW) and not below.startswith(QUICK):
            item.add_marker(pytest.mark.slow)


def group_of(name: str) -> str:
    """The group of a test file, whose name begins with the folder of tests; most files are groups of their own."""
    below = name.partition("/")[2]
    return next((group for group, beginnings in GROUPS.items() if below.startswith(beginnings)), name)


@pytest.hookimpl(optionalhook=True)  # without xdist it is never called
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where several processes run the tests, one of them runs a whole group, so that no two tests that start processes
    meet, nothing is compiled twice at the same time, and what a file's fixtures make is made once; other files are
    groups of their own. xdist's own marks do not help: it writes them into names of tests, which pytest 9.2 does not
    read, and every test goes to whoever is free (pytest-dev/pytest-xdist#1386)."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class WholeGroups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid.partition("::")[0])

    return WholeGroups(config, log)
