"""Requests to the autoscaler while a run waits for machines, and the end of a wait."""

import json
import threading
from typing import Any

import pytest

from actors.remote import RayRuntime, ResourcesMissing
from tests.waiting import wait_for


class Still:
    """Holds resources."""


def requested() -> list[dict[str, Any]]:
    """The bundles that Ray's autoscaler would find requested."""
    from ray._private.ray_constants import AUTOSCALER_RESOURCE_REQUEST_CHANNEL
    from ray.experimental.internal_kv import _internal_kv_get

    found: list[dict[str, Any]] = json.loads(_internal_kv_get(AUTOSCALER_RESOURCE_REQUEST_CHANNEL) or "[]")
    return found


def test_a_request_replaces_the_one_before_and_is_withdrawn(ray_runtime: RayRuntime) -> None:
    joined = RayRuntime("auto", patience_s=0.1)
    joined.start(Still, cpus=0.5)
    for later in (lambda: joined.stop(joined.start(Still)), joined.shutdown):
        for _ in range(2):
            with pytest.raises(ResourcesMissing, match="1 GPUs, but Ray has 0"):
                joined.start(Still, gpus=1)
            assert requested() == [{"CPU": 0.5, "GPU": 0.0}, {"CPU": 1.0, "GPU": 1}]
        later()
        assert requested() == []


def test_a_wait_that_is_interrupted_is_left_in_order(ray_runtime: RayRuntime) -> None:
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    def watchdogs() -> int:
        return [thread.name for thread in threading.enumerate()].count("ray-watchdog")

    before = watchdogs()
    with pytest.raises(KeyboardInterrupt):
        RayRuntime("auto", workers=99, patience_s=60.0, say=interrupt)
    wait_for(lambda: watchdogs() <= before)
