"""Waits for another process to do something."""

import time
from collections.abc import Callable
from typing import Any


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Waits until a condition holds, and fails after some seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.05)
