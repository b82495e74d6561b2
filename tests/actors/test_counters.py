"""Counters of a run: how rows are counted, and that Ray serves them on this machine alone."""

import re
import time
import urllib.request
from collections.abc import Callable

import psutil
import pytest

from actors.counters import Counters, gauges, increments, totals
from actors.remote import InlineRuntime, RayRuntime

DREAM = {
    "kind": "train",
    "iteration": 7,
    "traversal/decisions_per_second": 1500.0,
    "samples/advantage": 400,
    "samples/transitions": 900,
    "samples/decisions": 1000,
    "time/advantage_s": 2.5,
    "learner/advantage_rows_per_second": 100.0,
    "learner/advantage_waited_s": 0.5,
    "learner/advantage_steps": 20,
    "loss/advantage": 0.25,
    "buffer/advantage_fill": 0.5,
    "workers/alive": 3,
    "workers/died": 1,
    "workers/replayed": 2,
    "queue/depth": 5,
}
DMC = {
    "kind": "train",
    "iteration": 2,
    "selfplay/decisions_per_second": 100.0,
    "time/selfplay_s": 3.0,
    "selfplay/age": 1,
    "samples/values": 280,
    "learner/rows": 640,
    "learner/steps": 10,
    "learner/rows_per_second": 1.0,
    "time/value_s": 1.0,
}


RATE, PLIES = "traversal/decisions_per_second", "samples/decisions"


def test_rows_of_each_method_say_what_was_done() -> None:
    assert totals(DREAM, PLIES) == {
        ("dancfr_samples", "advantage"): 400,
        ("dancfr_samples", "transitions"): 900,
        ("dancfr_plies", ""): 1000,
        ("dancfr_worker_events", "died"): 1,
        ("dancfr_worker_events", "replayed"): 2,
    }
    assert increments(DREAM, RATE, PLIES) == {
        ("dancfr_iterations", ""): 1,
        ("dancfr_learner_rows", "advantage"): 200,
        ("dancfr_learner_steps", "advantage"): 20,
    }
    shown = gauges(DREAM, RATE, None)
    assert (shown["dancfr_queue_depth", ""], shown["dancfr_plies_per_second", ""]) == (5, 1500)
    assert totals(DMC, None) == {("dancfr_samples", "values"): 280}
    assert increments(DMC, "selfplay/decisions_per_second", None) == {
        ("dancfr_iterations", ""): 1,
        ("dancfr_plies", ""): 300,
        ("dancfr_learner_rows", "value"): 640,
        ("dancfr_learner_steps", "value"): 10,
    }
    assert gauges(DMC, "selfplay/decisions_per_second", "selfplay/age")["dancfr_weights_age", ""] == 1
    assert totals({"iteration": 1, "samples/nodes": 12}, "samples/nodes") == {("dancfr_plies", ""): 12}


def test_without_ray_nothing_happens() -> None:
    counters = Counters(InlineRuntime(), "run", "dream")
    counters.feed(DREAM)
    assert counters._metrics is None


def test_ray_offers_the_counters_on_this_machine_alone(ray_session: RayRuntime) -> None:
    import ray

    counters = Counters(ray_session, "quick one", "dream", RATE, PLIES)
    counters.feed(DREAM)
    later = {"iteration": 8, "samples/advantage": 500, "samples/decisions": 1250, "workers/died": 3, "queue/depth": 2}
    counters.feed(DREAM | later)
    counters.feed(DREAM | {"workers/died": 1})  # done again, by a new pool
    counters.feed(DREAM | later)
    port = ray.nodes()[0]["MetricsExportPort"]
    expected = {
        ("samples_total", "advantage"): 500,
        ("samples_total", "transitions"): 900,
        ("plies_total", ""): 1250,
        ("iterations_total", ""): 4,
        ("learner_steps_total", "advantage"): 80,
        ("learner_rows_total", "advantage"): 800,
        ("worker_events_total", "died"): 6,
        ("worker_events_total", "replayed"): 2,
        ("iteration", ""): 8,
        ("plies_per_second", ""): 1500,
        ("workers", ""): 3,
        ("queue_depth", ""): 2,
        ("buffer_fill", "advantage"): 0.5,
        ("loss", "advantage"): 0.25,
    }
    told = wait_for(lambda: exported(port, "quick one"), expected)
    assert told == expected
    listening = {c.laddr.ip for c in psutil.net_connections("inet") if c.status == "LISTEN" and c.laddr.port == port}
    assert listening == {"127.0.0.1"}


def exported(port: int, run: str) -> dict[tuple[str, str], float]:
    """The metrics of a run that Prometheus would read, by name and kind."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
    found = {}
    for name, tags, value in re.findall(r"^ray_dancfr_(\w+)\{(.*)\} (\S+)$", text, re.MULTILINE):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', tags))
        if labels.get("run") == run:
            assert labels["method"] == "dream"
            found[name, labels.get("kind", "")] = float(value)
    return found


def wait_for(
    read: Callable[[], dict[tuple[str, str], float]], expected: dict[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """The metrics, as soon as they are as expected; Ray hands them over every ten seconds."""
    deadline = time.monotonic() + 45
    while (found := read()) != expected and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def test_a_ray_that_fails_costs_the_counters_only(ray_session: RayRuntime, caplog: pytest.LogCaptureFixture) -> None:
    counters = Counters(ray_session, "run", "dream")
    counters.feed({"iteration": "seven"})
    assert "no counters in Ray's dashboard" in caplog.text
    counters.feed(DREAM)
    assert counters._metrics is None
