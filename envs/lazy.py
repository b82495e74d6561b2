"""Functions that are imported when they are called: records are read by every command, and stay quick to import."""

import importlib
from collections.abc import Callable
from typing import Any


def lazily(path: str) -> Callable[..., Any]:
    """Returns a function that imports another function or class when it is called, and calls it.

    Args:
        path: Module and name, such as ``envs.geister.display:GeisterDisplay``.
    """
    module, _, name = path.partition(":")

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return call
